"""Disk to `Workspace`: finds the root, reads and parses every file that the manifest names, judges them all.

The only reader of the check path. Nothing of the workspace is executed and nothing outside it is opened.
"""

from __future__ import annotations

from itertools import chain as chained
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llmdo.base import parts
from llmdo.base.diagnostic import finding, nearest
from llmdo.base.source import Location, Source
from llmdo.base.values import dataclass, field, replace
from llmdo.formats.schema import judge
from llmdo.syntax import discovery, frontmatter
from llmdo.syntax.document import Document, Place
from llmdo.syntax.globs import is_pattern
from llmdo.syntax.imports import import_candidates
from llmdo.workspace import older
from llmdo.workspace.adopted import read_adopted
from llmdo.workspace.evals import GOVERNING, judging_files
from llmdo.workspace.extensions import read_extensions
from llmdo.workspace.manifest_file import read_manifest
from llmdo.workspace.model_files import read_model_files
from llmdo.workspace.policies import read_policies
from llmdo.workspace.references import (
    class_paths,
    globs_of,
    manifest_references,
    models_of,
    named_models,
    package_files,
    python_file,
    references_of,
    with_sources,
    wrong_targets,
)
from llmdo.workspace.root import LOCK, MANIFEST, MAX_LOCK, environments_in
from llmdo.workspace.source_files import SourceFiles
from llmdo.workspace.worker_file import WorkerFile, adopted, from_python
from llmdo.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.syntax.module import Outline
    from llmdo.workspace.modules import Module
    from llmdo.workspace.references import ClassPath
    from llmdo.workspace.script import ModelScript
    from llmdo.workspace.source_files import Memory
    from llmdo.workspace.workspace import Lack, ServerPrograms

COMPILED = (".pyc", ".so", ".pyd")


def load(
    root: Path,
    manifest_source: Source | None = None,
    seen: Seen | None = None,
    memory: Memory | None = None,
    copy_of: Path | None = None,
) -> Workspace:
    """The workspace at `root`, as far as its files can be read; their faults are in `problems`.

    A `manifest_source` replaces the manifest of `root`, without a lock. `seen` collects the examined files; unchanged
    files in `memory` are not read again. `root` may be a `copy_of` another workspace.
    """
    files = SourceFiles(root, seen, memory)
    stated = read_manifest(files, manifest_source)
    document, manifest = stated.document, stated.manifest
    reader = _WorkspaceReader(root, document, manifest_source is None, list(stated.problems), seen, files)
    reader.lacks.update(stated.lacks)
    if manifest is None:
        reader.note_unread(document.source.path, "names")
        return reader.workspace(None, (), (), {}, {})
    table = parts.table(manifest, "workspace")
    ignored, unheeded = discovery.git_ignored(root, seen)
    reader.problems.extend(unheeded)
    paths = reader.matches(("workspace", "workers"), parts.texts(table.get("workers")), ignored)
    globs = parts.texts(table.get("toolset-modules"))
    modules = reader.matches(("workspace", "toolset-modules"), globs, ignored)
    taken = None if reader.has_lock else _names_in(root, modules)
    workers = tuple(worker for path in paths if (worker := reader.worker(path, taken)))
    if reader.is_vouching:
        manifest = {**manifest, "toolsets": {**older.VOUCHED, **parts.table(manifest, "toolsets")}}
    workers = (*stated.workers, *workers, *adopted(document, parts.tables(manifest, "workers")))
    workers, named, outlines = reader.code(manifest, workers, modules, ignored)
    recordings, scripts = reader.model_files(manifest, workers)
    executed = reader.executed(manifest, copy_of)
    loaded = executed["extensions"]
    policies, asks_packages = read_policies(root, document, files.source, reader.problems, loaded)
    reader.report_compiled(outlines)
    reader.problems.extend(wrong_targets(root, document, manifest, seen))
    reader.problems.extend(discovery.case_collisions([*paths, *outlines]))
    listed = tuple(path for path in modules if path in outlines)
    read = reader.workspace(manifest, workers, listed, outlines, recordings)
    executed |= {"scripts": scripts, "class_paths": named}
    return replace(read, policies=policies, asks_packages=asks_packages, **executed)


def _names_in(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """The names of the toolsets that the Python files at `paths` show."""
    return frozenset(
        name for outlined in read_modules(root, paths).values() for name in outlined.outline.toolsets
    )


def read_modules(root: Path, paths: Iterable[str], files: SourceFiles | None = None) -> Mapping[str, Module]:
    """Those Python files, and the workspace's own files that they import; unreadable files are empty.

    `files` notes the examined files, and remembers unchanged ones; without it each is read again.
    """
    nothing = Document(Source(MANIFEST, ""), {}, dict)
    files = files or SourceFiles(root)
    reader = _WorkspaceReader(root, nothing, has_lock=False, problems=[], seen=files.seen, files=files)
    return reader.modules(paths, ())


def read_lock(root: Path, seen: Seen | None = None) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    """`llmdo.lock` as it is now, or None with the problems that keep it from being read, if it exists."""
    if refused := discovery.exists(root, LOCK, seen):
        is_missing = refused.code == "LDO106"
        problem = finding(refused.code, Location(LOCK), f"`{LOCK}` {refused.reason}")
        return None, () if is_missing else (problem,)
    source, problems = discovery.read_source(root, LOCK, limit=MAX_LOCK, seen=seen)
    return None if problems else source, problems


@dataclass(slots=True)
class _WorkspaceReader:
    """One reading of a workspace: collects its problems, and every file is read once."""

    root: Path
    document: Document
    has_lock: bool
    problems: list[Diagnostic]
    seen: Seen | None
    files: SourceFiles
    folders: dict[str, bool] = field(default_factory=dict)
    """Whether each folder that an import could mean exists."""
    unread: set[str] = field(default_factory=set)
    lacks: set[Lack] = field(default_factory=set)
    is_vouching: bool = False
    """Whether a header, read without a workspace, names commands that only read."""
    imported: dict[str, bool] = field(default_factory=dict)
    """Whether each file that an import could mean exists."""

    def workspace(
        self,
        manifest: Mapping[str, Json] | None,
        workers: tuple[WorkerFile, ...],
        toolset_modules: tuple[str, ...],
        modules: Mapping[str, Module],
        recordings: Mapping[str, str],
    ) -> Workspace:
        lock, problems = read_lock(self.root, self.seen) if self.has_lock else (None, ())
        self.problems.extend(problems)
        return Workspace(
            root=self.root,
            document=self.document,
            manifest=manifest,
            workers=workers,
            toolset_modules=toolset_modules,
            modules=modules,
            recordings=recordings,
            has_lock=self.has_lock,
            lock=lock,
            problems=tuple(self.problems),
            unread=frozenset({*self.unread, LOCK} if problems else self.unread),
            lacks=frozenset(self.lacks),
        )

    def note_unread(self, path: str, *lacks: Lack) -> None:
        """Notes a file that cannot be used, and what is unknown without it."""
        self.unread.add(path)
        self.lacks.update(lacks)

    def matches(
        self, route: tuple[str, ...], patterns: Iterable[str], ignored: Callable[[str], bool]
    ) -> list[str]:
        """The files that the globs at `route` of the manifest name, sorted; a useless glob is a finding."""
        patterns = tuple(patterns)
        globs = [pattern for pattern in patterns if discovery.is_useful(pattern)]
        named = discovery.find(self.root, globs[: discovery.MAX_GLOBS], ignored, self.seen)
        paths: set[str] = set()
        for number, pattern in enumerate(patterns):
            at = self.document.value(*route, number)
            if discovery.leaves(pattern):
                self.problems.append(finding("LDO107", at, f"`{pattern}` leaves the workspace"))
                self.lacks.add("names")
            elif pattern.split("/").count("**") > discovery.MAX_DEEP:
                self.problems.append(
                    finding("LDO103", at, f"`{pattern}` has more than {discovery.MAX_DEEP} `**`")
                )
                self.lacks.add("names")
            elif not is_pattern(pattern):
                if refused := discovery.exists(self.root, pattern, self.seen) or discovery.unfit(pattern):
                    self.problems.append(finding(refused.code, at, f"`{pattern}` {refused.reason}"))
                    self.note_unread(pattern, "names")
                else:
                    paths.add(pattern)
            elif pattern not in named:
                self.problems.append(
                    finding("LDO103", at, f"more than {discovery.MAX_GLOBS} globs are in this list")
                )
                self.lacks.add("names")
                break
            else:
                paths.update(named[pattern].paths)
                for path, refused in named[pattern].refused:
                    self.problems.append(finding(refused.code, at, f"`{path}` {refused.reason}"))
                    self.note_unread(path, "names")
                if not named[pattern].paths and not named[pattern].refused:
                    hint = self._near_folder(pattern)
                    self.problems.append(finding("LDO111", at, f"`{pattern}` matches no file", hint=hint))
        return sorted(paths)

    def _near_folder(self, pattern: str) -> str | None:
        """The hint about a glob in a folder that is not there, while one with a like name is."""
        folder, slash, rest = pattern.partition("/")
        if not slash or is_pattern(folder) or (self.root / folder).is_dir():
            return None
        match = nearest(folder, [each.name for each in self.root.iterdir() if each.is_dir()])
        return f"did you mean `{match}/{rest}`?" if match else f"there is no folder `{folder}`"

    def worker(self, path: str, taken: Collection[str] | None) -> WorkerFile | None:
        """The worker file at `path`; None if its header cannot be used.

        Without a workspace, it may be one of llm-do: `taken` are the names that their Python files define; None in a
        workspace.
        """
        state = self.files.state(path, is_walked=True) if taken is None else None
        if known := self.files.known_worker(path, state):
            return known
        source, problems = self.files.source(path)
        text = None if problems else frontmatter.parse(source)
        problems = text.document.problems if text else problems
        self.problems.extend(problems)
        if text is None or problems:
            self.note_unread(path, "names")
            return None
        document = text.document if taken is None else older.translated(text.document, taken)
        if document is not text.document:
            self.is_vouching |= older.is_vouched_for(text.document)
        judged = judge(document, "worker")
        self.problems.extend(judged.problems)
        header = judged.data
        if not header:
            self.note_unread(path, "names")
            return None
        file = WorkerFile(document=judged.document, header=header)
        if judged.problems:
            self.lacks.add("contents")
        else:
            self.files.keep_worker(path, state, file)
        return file

    def code(
        self,
        manifest: Mapping[str, Json],
        workers: tuple[WorkerFile, ...],
        listed: list[str],
        ignored: Callable[[str], bool],
    ) -> tuple[tuple[WorkerFile, ...], tuple[ClassPath, ...], Mapping[str, Module]]:
        """`workers` with those in Python, their references to toolsets by the path of a class, and all modules."""
        named = tuple(class_paths(workers))
        sources = self.sources(manifest, ignored)
        first = [*listed, *self.packages(manifest), *chained(*sources.values())]
        references = [*manifest_references(self.document, manifest), *references_of(workers)]
        modules = self.modules(first, [*references, *self.modules_of_paths(named)])
        in_python = tuple(self.python_workers(listed, modules))
        also_named = tuple(class_paths(in_python))
        references = [*references_of(in_python), *self.modules_of_paths(also_named)]
        modules = self.modules((), references, modules)
        named = (*named, *also_named)
        modules, problems = with_sources(sources, self.document, manifest, (listed, named), modules)
        self.problems.extend(problems)
        return (*workers, *in_python), named, modules

    def python_workers(self, paths: Iterable[str], modules: Mapping[str, Module]) -> Iterator[WorkerFile]:
        """The workers that the modules at `paths` show, as far as their headers can be used."""
        for path in paths:
            for name, outlined in modules[path].outline.workers.items():
                worker, problems = from_python(f"{path}:{name}", outlined)
                self.problems.extend(problems)
                if problems:
                    self.lacks.add("contents" if worker else "names")
                if worker is not None:
                    yield worker

    def modules(
        self,
        paths: Iterable[str],
        references: Iterable[tuple[str, Place]],
        before: Mapping[str, Module] = MappingProxyType({}),
    ) -> Mapping[str, Module]:
        """Those Python files, the referenced ones, and the workspace's own files that they import; `before` as well."""
        modules = dict(before)
        waiting = list(dict.fromkeys(paths))
        naming = frozenset(waiting)
        known = {*waiting, *before}
        for path, place in references:
            if path in known:
                continue
            if refused := discovery.exists(self.root, path, self.seen):
                self.problems.append(finding(refused.code, place.location, f"`{path}` {refused.reason}"))
                self.note_unread(path)
            else:
                waiting.append(path)
                known.add(path)
        while waiting:
            path = waiting.pop()
            modules[path], problems = self.files.module(path)
            if problems:
                self.problems.extend(problems)
                self.note_unread(path, *(("names",) if path in naming else ()))
            for imported in self._imported(path, modules[path].outline):
                if imported not in known:
                    waiting.append(imported)
                    known.add(imported)
        return {path: modules[path] for path in sorted(modules)}

    def _imported(self, path: str, outline: Outline) -> Iterator[str]:
        for candidate in import_candidates(path, outline):
            if candidate not in self.imported:
                self.imported[candidate] = (
                    self._has_folder(candidate.rpartition("/")[0])
                    and discovery.exists(self.root, candidate, self.seen) is None
                )
            if self.imported[candidate]:
                yield candidate

    def _has_folder(self, folder: str) -> bool:
        """Whether that folder of the workspace exists; most imports begin with one that does not."""
        if folder not in self.folders:
            above = folder.rpartition("/")[0]
            self.folders[folder] = not folder or (
                self._has_folder(above) and discovery.exists(self.root, folder, self.seen) is None
            )
        return self.folders[folder]

    def report_compiled(self, modules: Iterable[str]) -> None:
        """Reports each compiled module in a folder that an import of `modules` could search."""
        folders = {path.rpartition("/")[0] for path in modules}
        if folders:
            folders.update(folder for folder, exists in self.folders.items() if exists)
        for folder in sorted(folders):
            for name in discovery.names(self.root, folder, self.seen):
                if name.endswith(COMPILED):
                    path = f"{folder}/{name}" if folder else name
                    message = f"`{path}` is a compiled module, which llmdo does not import"
                    hint = "remove it, and install compiled code as a package"
                    self.problems.append(finding("LDO112", Location(path), message, hint=hint))

    def executed(self, manifest: Mapping[str, Json], copy_of: Path | None) -> dict[str, Any]:
        """The fields of a workspace about executed code other than its modules, and about agents of other tools."""
        programs: Mapping[str, ServerPrograms] = {}
        if any("mcp" in table for table in parts.tables(manifest, "toolsets").values()):
            from llmdo.workspace.programs import programs_in  # few workspaces start a server

            programs, problems = programs_in(self.document, manifest, self.files)
            self.problems.extend(problems)
        extensions = read_extensions(self.root, self.document, self.problems, copy_of)
        adoption = read_adopted(
            self.root,
            self.document,
            self.problems,
            self.lacks,
            extensions,
            self.seen,
            texts=self.files.unsaved,
        )
        return {
            "extensions": extensions,
            "adoption": adoption,
            "programs": programs,
            "judges": read_modules(self.root, judging_files(self.files), self.files),
            "places": GOVERNING | environments_in(self.root) | globs_of(manifest),
        }

    def packages(self, manifest: Mapping[str, Json]) -> Iterator[str]:
        """The workspace's own files among the toolsets given as `package.module:NAME`."""
        for table in parts.tables(manifest, "toolsets").values():
            reference = parts.text(table.get("python"))
            if reference and not python_file(reference):
                for path in package_files(reference):
                    if discovery.exists(self.root, path, self.seen) is None:
                        yield path

    def modules_of_paths(self, named: Iterable[ClassPath]) -> Iterator[tuple[str, Place]]:
        """The Python files of those classes, and the places that name them; a dotted path may name none."""
        for _, reference, place in named:
            if path := python_file(reference):
                yield path, place
                continue
            for path in package_files(reference):
                refused = discovery.exists(self.root, path, self.seen)
                if refused is None or refused.code != "LDO106":
                    yield path, place
                if refused is not None and refused.code != "LDO106":
                    break

    def sources(self, manifest: Mapping[str, Json], ignored: Callable[[str], bool]) -> dict[str, list[str]]:
        """The files that `[toolsets.NAME] sources` names, by the names of the toolsets."""
        return {
            name: self.matches(("toolsets", name, "sources"), parts.texts(table["sources"]), ignored)
            for name, table in parts.tables(manifest, "toolsets").items()
            if "sources" in table
        }

    def model_files(
        self, manifest: Mapping[str, Json], workers: Iterable[WorkerFile]
    ) -> tuple[dict[str, str], tuple[ModelScript, ...]]:
        """The digests of the recordings and scripts in the place of models, and the scripts."""
        models = (*named_models(self.document, manifest), *models_of(workers))
        return read_model_files(models, self.files, self.problems, self.unread)
