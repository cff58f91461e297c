"""The Python files of the workspace that a run loads, kept when it starts, and exported with its scripts.

The rest is in its binding: workers, prompts, rules, servers. The digests of its lock fix the files and their content,
on export, on import, and before one of them is loaded.
"""

from __future__ import annotations

import stat
import unicodedata
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.base.values import dataclass
from llmdo.graph.models import python_reference, recording_file, script_file
from llmdo.journal.content import digest_of
from llmdo.journal.entries import DamagedError, JournalEntry, JournalError, pack
from llmdo.journal.kept_sources import KeptSources, named_by
from llmdo.syntax import discovery
from llmdo.syntax.module import Outline, outline
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.paths import normalise
from llmdo.workspace.modules import Module, imports_of, source_digests
from llmdo.workspace.references import module_files, package_files, python_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.graph.worker import Worker
    from llmdo.journal.binding import Binding
    from llmdo.journal.stored import JournalStore

MAX_FILES = 2_000
MAX_BYTES = 32 * 1024 * 1024  # of all files together


@dataclass(frozen=True, slots=True)
class Sources:
    """The Python files that one run loads, and the scripts of its models; nothing else."""

    texts: Mapping[str, str]
    """Path to text, sorted."""

    @property
    def contents(self) -> dict[str, bytes]:
        """The files' contents by their digests."""
        return {digest_of(content): content for content in map(str.encode, self.texts.values())}

    def entry(self, path: str) -> JournalEntry:
        """Their entry, without contents; `path` is the entry that the run started."""
        files = {name: digest_of(text.encode()) for name, text in self.texts.items()}
        return JournalEntry(path=path, kind="sources", step=1, body=pack({"files": files}))


@dataclass(frozen=True, slots=True)
class _Needed:
    """A file that a run loads."""

    places: tuple[str, ...]
    """The possible paths: a module of a package has two."""
    digest: str
    """Of the file and of all workspace files that it imports."""


def prompts_as_text(binding: Binding) -> dict[str, str]:
    """The prompts that are text in a file; the others are made by code, among the sources."""
    return {
        name: prompt
        for name, prompt in binding.prompts.items()
        if name in binding.graph.workers and not _is_made(binding, binding.graph.workers[name])
    }


def sources_in(modules: Mapping[str, Module], binding: Binding) -> Sources:
    """Those of `modules` that the run loads.

    Raises:
        JournalError: Some are missing or changed; all of them are named.
    """
    if played := _played(binding):
        raise JournalError(f"`{played[0]}` plays a recording, which an export does not bring")
    if unlocked := _unlocked(binding):
        raise JournalError(
            f"`{unlocked[0]}` was named on the command line alone, so nothing says what was in its file"
        )
    digests = source_digests(modules)
    needed = {need.places: need for need in _needed(binding)}.values()
    paths = {need: next((path for path in need.places if path in modules), need.places[0]) for need in needed}
    if changed := sorted({path for need, path in paths.items() if digests.get(path) != need.digest}):
        raise JournalError(
            f"the sources are not those that the run began with: {', '.join(f'`{path}`' for path in changed)}"
        )
    imports = imports_of(modules)
    reached = dict.fromkeys(paths.values())
    waiting = list(reached)
    while waiting:
        new = [path for path in imports[waiting.pop()] if path not in reached]
        reached.update(dict.fromkeys(new))
        waiting.extend(new)
    return Sources({path: modules[path].source.text for path in sorted(reached)})


def sources_of(journal: JournalStore, binding: Binding) -> Sources | None:
    """The sources that the run brings, or that were kept when it began, checked against its lock.

    None if there are none and it needs some.

    Raises:
        JournalError: They differ from the lock or the kept ones, or hold an impossible path.
    """
    _require_prompts(binding)
    entry = next(journal.entries("sources"), None)
    if entry is None:
        return _kept(journal, binding)
    files = entry.data.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise DamagedError(f"{journal.title} is damaged: what it says of its sources cannot be read")
    _require_paths(files)
    read = dict(_read(journal, files))
    sources = sources_in(_modules(read, binding), binding)
    if beside := sorted(read.keys() - sources.texts.keys()):
        raise JournalError(f"{journal.title} brings `{beside[0]}`, which is not part of what its run loads")
    return sources


def _kept(journal: JournalStore, binding: Binding) -> Sources | None:
    if not any(True for _ in (*_played(binding), *_unlocked(binding), *_needed(binding))):
        return Sources({})
    named = named_by(journal)
    if named is None or _played(binding) or _unlocked(binding) or any(map(script_file, _models(binding))):
        return None  # and what is kept is Python alone
    texts = KeptSources.of(journal).files(named)
    if texts is None:
        return None
    return sources_in(_modules({path: Source(path, text) for path, text in texts.items()}, binding), binding)


def _modules(read: Mapping[str, Source], binding: Binding) -> dict[str, Module]:
    beyond = {
        path: toolset.sources
        for toolset in binding.graph.toolsets.values()
        if toolset.sources and toolset.python
        for path in module_files(toolset.python)
    }
    return {
        path: Module(source, outline(source) if path.endswith(".py") else Outline(), beyond.get(path, ()))
        for path, source in read.items()
    }


def unpack(sources: Sources, folder: Path) -> None:
    """Writes the files below `folder`, made for its owner alone; other files in it stay.

    Raises:
        JournalError: One cannot be written, or a link is in the way.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _require_folder(folder)
        with Root.open(folder) as root:
            for path, text in sources.texts.items():
                root.write_atomic(path, text.encode())
    except OSError as error:
        raise JournalError(f"cannot write `{folder}`: {error.strerror}") from error
    except JournalError:
        raise
    except LlmdoError as error:
        raise JournalError(f"cannot write `{folder}`: {error.message}", hint=error.hint) from error


def _require_folder(folder: Path) -> None:
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise JournalError(f"`{folder}` is a link, which llmdo does not follow")


def _needed(binding: Binding) -> Iterator[_Needed]:
    graph = binding.graph
    for text, source in graph.python_models.items():
        if script := script_file(text):
            yield _Needed((script,), source)
        else:
            yield _file(python_reference(text) or text, source)
    for path, source in {**graph.schema_sources, **graph.modules}.items():
        yield _Needed((path,), source)
    for toolset in graph.toolsets.values():
        if toolset.python and toolset.source:
            yield _file(toolset.python, toolset.source)
    for entry in graph.entries.values():
        if entry.function and entry.source:
            yield _file(entry.function.name, entry.source)
    for worker in graph.workers.values():
        reference = worker.python or worker.agent
        if reference and _is_made(binding, worker):
            yield _file(reference, worker.prompt)


def _played(binding: Binding) -> list[str]:
    """The models of the run that play a recording."""
    return sorted(filter(recording_file, _models(binding)))


def _models(binding: Binding) -> set[str]:
    """The models of the run's chains."""
    chains = (binding.graph.models.get(model, (model,)) for model in binding.models.values())
    return {model for chain in chains for model in chain}


def _unlocked(binding: Binding) -> list[str]:
    """The models of a file that the workspace does not name, so that the lock holds no digest of them."""
    of_files = {model for model in binding.models.values() if python_reference(model) or script_file(model)}
    return sorted(of_files - binding.graph.python_models.keys())


def _file(reference: str, source: str) -> _Needed:
    path = python_file(reference)
    return _Needed((path,) if path else package_files(reference), source)


def _is_made(binding: Binding, worker: Worker) -> bool:
    """Whether only running Python tells the prompt of `worker`: its digest is then that of the code."""
    if worker.agent:
        return True
    return bool(worker.python) and digest.of_text(binding.prompts.get(worker.name, "")) != worker.prompt


def _require_prompts(binding: Binding) -> None:
    for name, worker in binding.graph.workers.items():
        prompt = binding.prompts.get(name)
        if not _is_made(binding, worker) and (prompt is None or digest.of_text(prompt) != worker.prompt):
            raise JournalError(f"the prompt of `{name}` in the journal is not the one that its lock names")


def _require_paths(paths: Iterable[str]) -> None:
    """Refuses paths that no workspace can have: a bundle comes from anybody."""
    folded: dict[str, str] = {}
    for number, path in enumerate(sorted(paths), 1):
        if number > MAX_FILES:
            raise JournalError(f"the run brings more than {MAX_FILES:,} sources")
        other = folded.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if other != path:
            raise JournalError(f"the run brings `{other}` and {path!a}, which are equal but for case")
        if not _is_path(path):
            raise JournalError(
                f"the run brings {path!a}, which is not the path of a module or script of a workspace"
            )


def _is_path(path: str) -> bool:
    try:
        return path.endswith((".py", ".yaml")) and discovery.unfit(path) is None and normalise(path) == path
    except LlmdoError:
        return False


def _read(journal: JournalStore, files: Mapping[str, str]) -> Iterator[tuple[str, Source]]:
    left = MAX_BYTES
    for path, named in files.items():
        content = journal.content(named)
        left -= len(content)
        if left < 0 or len(content) > discovery.MAX_FILE:
            raise JournalError(f"the run brings sources that are too large: `{path}`")
        source, problems = discovery.decode(path, content)
        if problems:
            raise JournalError(problems[0].message)
        yield path, source
