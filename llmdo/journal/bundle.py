"""A run as one file: exported, and imported among the runs of a workspace."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.binding import Binding, binding_of
from llmdo.journal.entries import JournalError
from llmdo.journal.naming import PART
from llmdo.journal.questions import imported, waiting
from llmdo.journal.sources import sources_of
from llmdo.journal.summary import summary, unfinished
from llmdo.journal.tree import full_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.sources import Sources
    from llmdo.journal.stored import JournalStore, RunIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A run imported from a file."""

    run: str
    binding: Binding | None
    """None if an export took a secret out of it: the run cannot be resumed."""
    sources: Sources | None
    """None if it brings none, but needs some elsewhere."""
    versions: Mapping[str, str]


def export(
    journal: JournalStore,
    target: Path,
    sources: Sources | None,
    without_secrets: Callable[[bytes], bytes],
    history: tuple[JournalEntry, Mapping[str, bytes]] | None = None,
) -> None:
    """Writes the run of `journal` to the new file `target`, with `sources` unless it has some.

    `history` are its first messages, if other journals have them. `without_secrets` returns its argument without
    secrets.

    Raises:
        JournalError: Cannot be read or written.
    """
    if not target.name.endswith(SUFFIX):
        raise JournalError(f"`{target}` does not end in `{SUFFIX}`", hint="`replay` knows a run by that")
    first = next(journal.entries("run"), None)
    added, contents = ([history[0]], dict(history[1])) if history else ([], {})
    if sources is not None and first is not None and next(journal.entries("sources"), None) is None:
        added.append(sources.entry(first.path))
        contents.update(sources.contents)
    journal.copy_to(target, added, contents, without_secrets=without_secrets)


def take_in(runs: RunIndex, source: Path) -> Taken:
    """Imports the run in `source` among `runs`.

    Raises:
        JournalError: It is no journal, damaged, not from llmdo, or there already.
    """
    with read_journal(source) as journal:
        if runs.has(_name(journal)):
            raise JournalError(
                f"run `{_name(journal)}` is here already", hint="`llmdo runs show` tells what it did"
            )
        temporary = runs.prepare() / f"{_name(journal)}{PART}"
        with suppress(FileNotFoundError):
            temporary.unlink()
        journal.copy_to(temporary, [imported(journal)])
    try:
        with read_journal(temporary, whole=True) as copy:
            taken = _examined(copy)
        runs.adopt(taken.run, temporary)
    finally:
        for path in temporary.parent.glob(f"{temporary.name}*"):
            path.unlink(missing_ok=True)
    return taken


def _name(journal: JournalStore) -> str:
    first = next(journal.entries("session"), None)
    if first is None:
        raise JournalError(f"{journal.title} holds no run")
    return str(first.data.get("run") or journal.run)


def _examined(journal: JournalStore) -> Taken:
    """The run in a journal that anybody may have written.

    Raises:
        JournalError: Part of it cannot be shown, or it brings other sources than it names.
    """
    try:
        run = _name(journal)
        summary(journal, is_running=False)
        waiting(journal)
        unfinished(journal)
        full_tree(journal)
        sessions = list(journal.entries("session"))
        versions = {str(name): str(version) for name, version in sessions[-1].data.items() if name != "run"}
        first = next(journal.entries("run"), None)
        if first is None or first.is_redacted:
            return Taken(run=run, binding=None, sources=None, versions=versions)
        binding = binding_of(journal)
        sources = sources_of(journal, binding)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise JournalError(
            f"{journal.title} is not what llmdo writes: {type(error).__name__}: {error}"
        ) from error
    return Taken(run=run, binding=binding, sources=sources, versions=versions)
