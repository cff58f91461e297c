"""The import of the workspace's own modules: from source alone, and only those that were read before.

The usual finders would execute unread code: compiled files in `__pycache__`, extension modules, packages added since.
Here a module is a file listed by the analysis of the workspace, with the content that it had then.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, all_suffixes
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.syntax import discovery
from llmdo.workspace.root import interpreter_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import CodeType, FrameType, ModuleType

    from llmdo.toolsets.confinement import Root

_IMPORT_SYSTEM = frozenset(
    {
        __name__,
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "_frozen_importlib",
        "_frozen_importlib_external",
    }
)
"""The modules on the stack between an importing line and the finder."""

_IMPORTING = threading.RLock()
"""Names belong to the process, so only one workspace at a time imports by them."""


class WorkspaceFinder(MetaPathFinder):
    """Finds the modules of one workspace for its own code; installed modules come first.

    While open it is in `sys.meta_path`; afterwards neither it nor its modules are left there or in `sys.modules`.
    """

    def __init__(self, root: Path, files: Root, code: Mapping[str, str]) -> None:
        """`code` maps each importable file to the digest of its text; `files` is the opened `root`."""
        self._root = root.absolute()
        self._real = os.path.realpath(root)
        self._files = files
        self._code = code
        self._imported: dict[str, ModuleType] = {}
        self._of_files: dict[str, ModuleType] = {}
        """Each file to the one module made of it, by whichever name."""
        self._thread: int | None = None
        self._inside: dict[str, str | None] = {}
        self._tops: set[str] = set()
        self._unrelated: set[str] = set()
        """Names in `sys.modules` that no file of this workspace can have."""
        self._installed = tuple(prefix for prefix in interpreter_folders() if _lies_in(prefix, self._real))

    def open(self) -> None:
        """Puts this finder first for imports by the workspace's code."""
        sys.meta_path.insert(0, self)

    def close(self) -> None:
        """Removes every name given to a module of the workspace."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, module in self._imported.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]

    def source(self, path: str) -> str:
        """The text of a listed file.

        Raises:
            LlmdoError: It is not listed, cannot be read, or changed since the workspace was read.
            SyntaxError: It is no text.
        """
        content = self._files.read(path, discovery.MAX_FILE)
        if path not in self._code:
            raise _unlisted(path)
        source, problems = discovery.decode(path, content)
        if problems:
            raise SyntaxError(problems[0].message)
        if digest.of_text(source.text) != self._code[path]:
            raise LlmdoError(
                f"`{path}` is not what it was when the workspace was read", hint="read it, and start again"
            )
        return source.text

    def loader(self, name: str, path: str) -> SourceLoader:
        """The loader of the file at `path` as the module `name`."""
        return SourceLoader(name, str(self._root / path), self, path)

    @contextmanager
    def importing(self) -> Iterator[None]:
        """A context in which imports of this thread are those of the workspace.

        Within it, names of another workspace, or by which the process itself imported a file of this one, mean
        modules of this workspace.
        """
        with _IMPORTING:
            before, self._thread = self._thread, threading.get_ident()
            aside = self._set_aside()
            for name, module in self._imported.items():
                sys.modules.setdefault(name, module)
            try:
                yield
            finally:
                self._thread = before
                sys.modules.update(aside)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the module `name` for the code of this workspace; None for all other code.

        Raises:
            LlmdoError: It is a file of the workspace that is not listed.
        """
        if not self._is_asked(name):
            return None
        spec = self._elsewhere(name, path, target)
        searched = [str(self._root), *sys.path] if path is None else path
        folders = [relative for relative in map(self._relative, searched) if relative is not None]
        if spec is not None and not _is_namespace(spec):
            return self._reviewed(name, folders, spec) or spec
        own = self._own(name, folders)
        if own is None or spec is None or not isinstance(own.loader, FolderLoader):
            return own or spec
        locations = [*(spec.submodule_search_locations or ()), *(own.submodule_search_locations or ())]
        return _folder(name, self, locations)

    def remember(self, name: str, module: ModuleType) -> None:
        """Notes that the module was imported by this name."""
        self._imported[name] = module

    def recall(self, name: str) -> ModuleType | None:
        """The module imported by this name before, if any."""
        return self._imported.get(name)

    def made_of(self, path: str) -> ModuleType | None:
        """The module of the file at `path`, once begun: its classes are the same for all who import it."""
        return self._of_files.get(path)

    @contextmanager
    def making(self, path: str, module: ModuleType) -> Iterator[None]:
        """A context in which the file at `path` is run as `module`; a failure removes it."""
        self._of_files[path] = module
        try:
            yield
        except BaseException:
            del self._of_files[path]
            raise

    def _is_asked(self, name: str) -> bool:
        """Whether code of this workspace imports: on this thread's stack, or the package of `name`."""
        if self._thread == threading.get_ident():
            return True
        above = sys.modules.get(name.rpartition(".")[0])
        if above is not None and self._imported.get(above.__name__) is above:
            return True
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # nothing else says who imports
        while frame is not None:
            loader = frame.f_globals.get("__loader__")
            if isinstance(loader, SourceLoader):
                return loader.finder is self
            frame = frame.f_back
        return False

    def _set_aside(self) -> dict[str, ModuleType]:
        """Removes names in `sys.modules` that hide modules of this workspace; returns those to be put back."""
        searched = [
            relative for relative in map(self._relative, [str(self._root), *sys.path]) if relative is not None
        ]
        tops = {_top(path, folder) for path in self._code for folder in searched}
        aside = {}
        for name in self._names_below(tops):
            module = sys.modules.get(name)
            if self._imported.get(name) is module:
                continue
            loader = getattr(module, "__loader__", None)
            if isinstance(loader, SourceLoader | FolderLoader):
                del sys.modules[name]
            elif (file := getattr(module, "__file__", None)) and self._relative(file) is not None:
                aside[name] = sys.modules.pop(name)
        return aside

    def _names_below(self, tops: set[str]) -> list[str]:
        """The names in `sys.modules` that begin with one of these; the thousands of others are examined once."""
        if self._tops != tops:
            self._tops, self._unrelated = tops, set()
        unknown = sys.modules.keys() - self._unrelated
        names = [name for name in unknown if name.partition(".")[0] in tops]
        self._unrelated |= unknown.difference(names)
        return names

    def _elsewhere(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """The spec of the installed or built-in module."""
        outside = [
            folder for folder in (sys.path if path is None else path) if self._relative(folder) is None
        ]
        if path is not None and not outside:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if find is None or isinstance(finder, WorkspaceFinder):
                continue
            spec: ModuleSpec | None
            is_usual = path is not None or finder is PathFinder
            spec = find(name, outside if is_usual else None, target)
            if spec is None:
                continue
            if finder is PathFinder or not spec.has_location or not spec.origin:
                return spec
            inside = self._relative(spec.origin)
            return spec if inside is None else self._listed(name, inside)
        return None

    def _own(self, name: str, folders: Iterable[str]) -> ModuleSpec | None:
        """The spec of the module in one of these folders of the workspace, in Python's search order."""
        locations = []
        for folder in dict.fromkeys(folders):
            stem = "/".join(filter(None, (folder, name.rpartition(".")[2])))
            for path in (f"{stem}/__init__.py", f"{stem}.py"):
                if path in self._code:
                    return self._listed(name, path)
            if present := self._present(stem):
                raise _unlisted(present, name)
            if (self._root / stem).is_dir():
                locations.append(str(self._root / stem))
        return _folder(name, self, locations) if locations else None

    def _reviewed(self, name: str, folders: Iterable[str], spec: ModuleSpec) -> ModuleSpec | None:
        """The listed file that workspace code means by `name`, if `spec` is in an environment of the workspace.

        Modules installed there come after it: whoever writes into the workspace must not replace reviewed files.
        """
        if not spec.origin or not any(
            _lies_in(os.path.realpath(spec.origin), env) for env in self._installed
        ):
            return None
        stems = ["/".join(filter(None, (folder, name.rpartition(".")[2]))) for folder in folders]
        paths = (f"{stem}{ending}" for stem in stems for ending in ("/__init__.py", ".py"))
        path = next((path for path in paths if path in self._code), None)
        return self._listed(name, path) if path and self._is_own_import() else None

    def _is_own_import(self) -> bool:
        """Whether the current import is by a file of this workspace, or by llmdo for it."""
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001  # nothing else says who imports
        while frame is not None and frame.f_globals.get("__name__") in _IMPORT_SYSTEM:
            frame = frame.f_back
        if frame is None:
            return False
        loader = frame.f_globals.get("__loader__")
        is_ours = frame.f_globals.get("__name__") == "llmdo.toolsets.python"
        return is_ours or (isinstance(loader, SourceLoader) and loader.finder is self)

    def _listed(self, name: str, path: str) -> ModuleSpec | None:
        if path not in self._code:
            raise _unlisted(path, name)
        loader = self.loader(name, path)
        folders = [str(Path(loader.path).parent)] if path.endswith("/__init__.py") else None
        spec = spec_from_file_location(name, loader.path, loader=loader, submodule_search_locations=folders)
        if spec is not None:
            spec.cached = None
        return spec

    def _present(self, stem: str) -> str | None:
        """The file of the workspace that Python would import instead."""
        names = [f"{stem}{part}{suffix}" for part in ("/__init__", "") for suffix in all_suffixes()]
        return next((name for name in names if os.path.lexists(self._root / name)), None)

    def _relative(self, path: str) -> str | None:
        """A file or folder as a path in the workspace; None if it is outside, or installed."""
        if path not in self._inside:
            self._inside[path] = self._path(path)
        return self._inside[path]

    def _path(self, path: str) -> str | None:
        real = os.path.realpath(path)
        if real == self._real:
            return ""
        if not _lies_in(real, self._real) or any(
            real == folder or _lies_in(real, folder) for folder in self._installed
        ):
            return None
        return os.path.relpath(real, self._real).replace(os.sep, "/")


class SourceLoader(SourceFileLoader):
    """Loads one file of a workspace from its reviewed text, compiled here and now."""

    def __init__(self, name: str, file: str, finder: WorkspaceFinder, place: str) -> None:
        super().__init__(name, file)
        self.finder = finder
        self._place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module already made of the file, under another name or before its name was removed."""
        return self.finder.recall(spec.name) or self.finder.made_of(self._place)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the file, once."""
        if self.finder.made_of(self._place) is not module:
            with self.finder.making(self._place, module):
                super().exec_module(module)
        self.finder.remember(self.name, module)

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """The compiled file; no compiled file on disk is read or written."""
        return compile(self.finder.source(self._place), self.path, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:  # noqa: ARG002
        """The text of the file."""
        return self.finder.source(self._place)


class FolderLoader(Loader):
    """Loads a package without code: a folder with modules in it."""

    def __init__(self, finder: WorkspaceFinder) -> None:
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module already imported by this name, if any."""
        return self._finder.recall(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""
        self._finder.remember(module.__name__, module)


def _folder(name: str, finder: WorkspaceFinder, locations: list[str]) -> ModuleSpec:
    spec = ModuleSpec(name, FolderLoader(finder), is_package=True)
    spec.submodule_search_locations = locations
    return spec


def _lies_in(path: str, folder: str) -> bool:
    return path != folder and path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


def _is_namespace(spec: ModuleSpec) -> bool:
    return spec.loader is None and spec.submodule_search_locations is not None


def _top(path: str, folder: str) -> str:
    """The first name by which a file is imported from `folder`; empty if it lies elsewhere."""
    if folder and not path.startswith(f"{folder}/"):
        return ""
    return path[len(folder) :].lstrip("/").split("/")[0].removesuffix(".py")


def _unlisted(path: str, name: str | None = None) -> LlmdoError:
    imported = f"`{path}` is imported" + (f" as `{name}`" if name else "")
    if not path.endswith(".py"):
        return LlmdoError(
            f"{imported}, and of a workspace only Python source is",
            hint="remove it, and install compiled code as a package",
        )
    return LlmdoError(
        f"{imported}, and the text of no module says so",
        hint=f'name it in llmdo.toml, for the toolset that imports it: `[toolsets.X] sources = ["{path}"]`',
    )
