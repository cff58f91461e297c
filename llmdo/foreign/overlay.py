"""Files laid over a project, as if they were in it: those of a plugin before it is installed. Nothing is written."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.base.values import dataclass, field, replace
from llmdo.foreign.links import LinkedTree
from llmdo.foreign.tree import DiskTree
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.known import KnownFormat
    from llmdo.foreign.tree import Read, Tree


def _everything(_path: str) -> bool:
    return True


@dataclass(slots=True)
class Overlay:
    """A tree with the files of another one in a folder of it."""

    base: Tree
    added: Tree
    folder: str = ""
    """The folder for the added files; empty for its root, where an added file takes the place of another."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Files that neither has, by path: they take the place of others."""
    is_added: Callable[[str], bool] = _everything
    """Whether a file of the added tree, by its path there, counts."""
    replaced: set[str] = field(default_factory=set)
    """Collects the files that take the place of others."""

    @property
    def only(self) -> str | None:
        """The one file that counts: all do."""
        return None

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, sorted, and problems with those that cannot be read."""
        patterns = tuple(patterns)
        paths, problems = self.base.find(patterns)
        below = dict.fromkeys(rest for pattern in patterns for rest in _below(pattern, self.folder))
        others, more = self.added.find(below) if below else ((), ())
        named = {path for path in self.texts if any(map(_naming(path), patterns))}
        named |= {self._at(path) for path in others if self.is_added(path)}
        moved = (self._moved(problem) for problem in more if self.is_added(problem.at.path))
        return tuple(sorted({*paths, *named})), (*problems, *moved)

    def read(self, path: str) -> Read | None:
        """The file at `path`, empty if there is a problem; None if there is no such file."""
        if path in self.texts:
            return Source(path, self.texts[path]), ()
        own = path if not self.folder else path.removeprefix(f"{self.folder}/")
        is_below = not self.folder or own != path
        read = self.added.read(own) if is_below and self.is_added(own) else None
        below = self.base.read(path)
        if read is None:
            return below
        if below is not None:
            self.replaced.add(path)
        return Source(path, read[0].text), tuple(map(self._moved, read[1]))

    def _at(self, path: str) -> str:
        return f"{self.folder}/{path}" if self.folder else path

    def _moved(self, problem: Diagnostic) -> Diagnostic:
        return replace(problem, at=replace(problem.at, path=self._at(problem.at.path)))


def with_texts(base: Tree, texts: Mapping[str, str]) -> Overlay:
    """A tree with other texts of some of its files."""
    return Overlay(base, base, texts=texts, is_added=_nothing)


def _nothing(_path: str) -> bool:
    return False


def _naming(path: str) -> Callable[[str], bool]:
    return lambda pattern: pattern == path or Glob(pattern).names(path)


def _below(pattern: str, folder: str) -> Iterator[str]:
    """The globs for the files of `folder`, as paths in it, that a glob names; hidden names need a part with a dot."""
    if not folder:
        yield pattern
        return
    name, _, deeper = folder.partition("/")
    first, _, rest = pattern.partition("/")
    if first == "**":
        if not name.startswith("."):
            yield from _below(pattern, deeper)
        if rest:
            yield from _below(rest, folder)
    elif rest and Glob(first).names(name):
        yield from _below(rest, deeper)


@dataclass(slots=True, kw_only=True)
class PluginFolder:
    """A plugin, or a set of agents, that is not installed yet."""

    path: Path
    entry: str | None = None
    """Its name in the marketplace at `path`; None if the folder is the plugin itself."""
    replaced: set[str] = field(default_factory=set)
    """Collects the files of the project that it would replace."""

    @property
    def name(self) -> str:
        """The plugin as people name it."""
        return f"{self.path}:{self.entry}" if self.entry else str(self.path)

    def over(self, base: Tree, wanted: Sequence[KnownFormat]) -> Overlay:
        """The files of a project and those of the plugin, where the first of the formats that knows it keeps plugins.

        A folder that is a plugin to none of them is laid over the root of the project.

        Raises:
            LlmdoError: Nothing of these formats is in it, or the marketplace has no such plugin.
        """
        disk = DiskTree(
            self.path, takes_ignored=True
        )  # what a clone has is there, whatever its git would ignore
        added = LinkedTree(disk, disk.link_at)
        for form in wanted:
            if form.has_plugins:
                installed = import_module(f"{form.package}.installation").installed
                overlay: Overlay | None = installed(base, added, self.path.absolute().name, self.entry)
                if overlay is not None:
                    return overlay
        if self.entry:
            raise LlmdoError(f"`{self.path}` is no marketplace of {_listed(wanted)}")
        if not any(added.find(form.files)[0] for form in wanted):
            raise LlmdoError(f"nothing of {_listed(wanted)} is in `{self.path}`")
        return Overlay(base, added, replaced=self.replaced)


def _listed(forms: Iterable[KnownFormat]) -> str:
    return " or ".join(form.name for form in forms)
