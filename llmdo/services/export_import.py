"""`runs export` and `runs import`: a run with its sources, moved to another machine."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.base.values import dataclass
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.binding import Binding, binding_of, differences
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.entries import JournalError
from llmdo.journal.naming import PART
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import imported, waiting
from llmdo.journal.sources import sources_in, sources_of, unpack
from llmdo.journal.summary import summary, unfinished
from llmdo.journal.tree import full_tree
from llmdo.syntax.module import Outline, outline
from llmdo.version import __version__
from llmdo.workspace import reading as workspace
from llmdo.workspace.modules import Module
from llmdo.workspace.project import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.sources import Sources
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.telemetry.redaction import Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A run imported from a file."""

    run: str
    binding: Binding | None
    """None if an export took a secret out of it: the run cannot be resumed."""
    sources: Sources | None
    """None if it brings none, but needs some elsewhere."""
    versions: Mapping[str, str]


def write_bundle(
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


def read_bundle(runs: RunIndex, source: Path) -> Taken:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """An imported run, and the consequences of going on with it here."""

    run: str
    notes: tuple[str, ...]


def export(root: Path, run: str, file: Path, *, with_sources: bool = True) -> int:
    """Writes the run to `file`, which must not exist, and returns the number of its source files in it.

    `with_sources` includes the code that it needs to go on elsewhere.

    Raises:
        LlmdoError: There is no such run, the file exists, or its sources cannot be included.
    """
    from llmdo.runtime.recording.encoding import Encoding  # which takes a second
    from llmdo.runtime.telemetry.redaction import Redaction

    runs, redaction = runs_of(root), Redaction.of(os.environ)
    encoding = Encoding(redaction)
    with runs.read(runs.find(run)) as journal:
        journal.know(redaction.known)
        sources = _sources(root, journal, redaction) if with_sources else None
        history = _history(journal, encoding)
        write_bundle(journal, file, sources, encoding.without_secrets, history)
    return len(sources.texts) if sources else 0


def _history(journal: JournalStore, encoding: Encoding) -> tuple[JournalEntry, Mapping[str, bytes]] | None:
    """The messages that the run starts from, if only the journals of earlier runs have them.

    Raises:
        JournalError: Those journals are gone, or the messages hold a secret.
    """
    from llmdo.runtime.recording.entries import history_entry
    from llmdo.runtime.recording.history import history_of

    before = goes_on_from(journal)
    if before is None or next(journal.entries("history"), None):
        return None
    messages = history_of(journal, encoding.redaction.known)
    entry, contents = history_entry(next(journal.entries("run")).path, messages, encoding)
    parts = (entry.body, *contents.values())
    if any(encoding.without_secrets(part) != part for part in parts):
        raise JournalError(
            f"run `{journal.run}` goes on from run `{before.run}`, and what was said before holds a secret",
            hint="export the run that the conversation began with, or one before the secret was said",
        )
    return entry, contents


def take_in(root: Path, file: Path) -> ImportedRun:
    """Adds a run from a file to those of the workspace.

    Raises:
        LlmdoError: It is no exported run, or there is such a run already.
    """
    runs = runs_of(root)
    taken = read_bundle(runs, file)
    if taken.binding is None:
        note = "a secret was taken out of its input or of a prompt: it is replayed, and cannot go on"
        return ImportedRun(run=taken.run, notes=(note,))
    changed = differences(taken.binding, read(root).graph)
    notes = [f"differs from the workspace: {difference}" for difference in changed.values()]
    if changed and taken.sources is not None:
        code = ""
        if taken.sources.texts:
            folder = runs.sources(taken.run)
            unpack(taken.sources, folder)
            code = f": {counted_sources(len(taken.sources.texts))} in {folder}"
        notes.append(
            f"`llmdo resume {taken.run} --sources run` goes on with what it brings, once you have read it{code}"
        )
    elif changed:
        notes.append("it brings no sources: it goes on where they are what it began with")
    warnings = (*_versions(taken.versions), *_missing(taken.sources))
    return ImportedRun(run=taken.run, notes=(*notes, *(f"warning: {warning}" for warning in warnings)))


def counted_sources(number: int) -> str:
    """The number of source files, in words."""
    return f"{number} source file{'s' if number != 1 else ''}"


def _sources(root: Path, journal: JournalStore, redaction: Redaction) -> Sources | None:
    """The code that the run loads; None if it brought its own, or cannot go on anyway.

    Raises:
        JournalError: It was not kept and has changed or gone, or seems to hold a secret.
    """
    first = next(journal.entries("run"), None)
    if first is None or first.is_redacted or next(journal.entries("sources"), None):
        return None
    without = "`--no-sources` writes the run alone: it is replayed anywhere, and goes on where the sources are the same"
    try:
        binding = binding_of(journal)
        sources = sources_of(journal, binding)
        if sources is None:
            read = workspace.load(root)
            scripts = {script.path: Module(script.document.source, Outline()) for script in read.scripts}
            sources = sources_in({**read.modules, **scripts}, binding)
    except JournalError as error:
        hint = error.hint or "export it in a checkout of that revision"
        raise JournalError(error.message, hint=f"{hint}; {without}") from error
    if leaking := [path for path, text in sources.texts.items() if redaction.text(text) != text]:
        raise JournalError(
            f"what looks like a secret is in {', '.join(f'`{path}`' for path in leaking)}, which the run needs",
            hint=f"code gets a secret from the environment; {without}",
        )
    return sources


def _versions(then: Mapping[str, str]) -> Iterator[str]:
    """The programs whose versions differ here from those of the run."""
    versions = {
        "llmdo": __version__,
        "python": platform.python_version(),
        "pydantic-ai": version("pydantic-ai-slim"),
    }
    for name, before in then.items():
        if name in versions and versions[name] != before:
            yield f"it ran with {name} {before}, and here is {versions[name]}"


def _missing(sources: Sources | None) -> Iterator[str]:
    """The packages that the sources import and that are missing here; their versions are not recorded."""
    own = {path.removesuffix(".py").split("/")[0] for path in sources.texts} if sources else set()
    for path, text in sources.texts.items() if sources else ():
        if not path.endswith(".py"):
            continue
        imports = outline(Source(path, text)).imports
        tops = {module.partition(".")[0] for module in imports if not module.startswith(".")}
        for name in sorted(tops - own - {*sys.stdlib_module_names}):
            if not _is_installed(name):
                yield f"`{path}` imports `{name}`, which is not installed here"


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError, LlmdoError):
        return False
