"""A run as one file: carried to another machine, and back among the runs of a workspace."""

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
    """A run that came from a file."""

    run: str
    binding: Binding | None
    """What it is bound to; None where a secret was taken out of that, so that it cannot go on."""
    sources: Sources | None
    """None where it brings none, and needs some to go on elsewhere than where they are."""
    versions: Mapping[str, str]
    """What it ran with, by name."""


def export(
    journal: JournalStore,
    target: Path,
    sources: Sources | None,
    without_secrets: Callable[[bytes], bytes],
    history: tuple[JournalEntry, Mapping[str, bytes]] | None = None,
) -> None:
    """Writes the run of `journal` to `target`, where no file may be, with `sources` where it has none of its own yet.

    `history` are the messages that it starts from, where they are in the journals of other runs.

    `without_secrets` gives back what it is given, but for the secrets in it.

    Raises:
        JournalError: It cannot be read or written.
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
    """The run in `source`, which is among `runs` from now on.

    Raises:
        JournalError: It is no journal, is damaged, is not what llmdo writes, or the run is there already.
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
    """What is in a journal that anybody may have written.

    Raises:
        JournalError: Part of the run cannot be shown, or it brings other sources than it names.
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
