"""Folders of a project that are links to others in it, such as `.claude/agents` to `content/agents`.

Clients follow them. A link leads to one place inside the project, which is then read as every other folder is: without
following any link, so that nothing outside of it is reached.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from llmdo.base.source import Source
from llmdo.base.values import dataclass, field
from llmdo.syntax.globs import is_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Read, Tree

MAX_LINK = 1_000  # characters: nobody writes a longer path into a link


@dataclass(slots=True)
class LinkedTree:
    """A tree in which links between its folders are followed, if a glob says where they are."""

    tree: Tree
    link_at: Callable[[str], str | None]
    """The text of a link, by its path; None for what is none."""
    _targets: dict[str, str | None] = field(default_factory=dict)
    """By folder, the one that it is a link to; None if it is not one inside the project."""

    @property
    def only(self) -> str | None:
        """The one file that counts; None for all."""
        return self.tree.only

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, sorted, and problems with those that cannot be read."""
        patterns = tuple(patterns)
        paths, problems = self.tree.find(patterns)
        if self.only is not None:
            return paths, problems
        named_paths = set(paths)
        at_the_top = [each.removeprefix("**/") for each in patterns]
        followed = {*self._links(at_the_top)}
        links = {folder for folder, _ in followed}
        problems = tuple(problem for problem in problems if problem.at.path not in links)
        for folder, target in followed:
            within = [target + each[len(folder) :] for each in at_the_top if each.startswith(f"{folder}/")]
            others, more = self.tree.find(within)
            named_paths |= {folder + path[len(target) :] for path in others}
            problems = (*problems, *more)
        return tuple(sorted(named_paths)), tuple(dict.fromkeys(problems))

    def read(self, path: str) -> Read | None:
        """The file at `path`, empty if there is a problem; None if there is no such file."""
        if (real := self.real(path)) == path:
            return self.tree.read(path)
        read = self.tree.read(real)
        return (Source(path, read[0].text), read[1]) if read else None

    def real(self, path: str) -> str:
        """The path of a file without a link in it, as far as links are followed."""
        for folder in _folders(path):
            if target := self._target(folder):
                return target + path[len(folder) :]
        return path

    def _links(self, patterns: Iterable[str]) -> Iterator[tuple[str, str]]:
        for pattern in patterns:
            for folder in _folders(pattern):
                if is_pattern(folder):
                    break
                if target := self._target(folder):
                    yield folder, target
                    break

    def _target(self, folder: str) -> str | None:
        """The folder of the project that a link leads to, as it is written; none above it and none that has it."""
        if folder not in self._targets:
            text = self.link_at(folder)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(folder), text)) if text else ""
            is_inside = bool(path) and not path.startswith(("/", "../")) and path not in (".", "..")
            is_apart = not f"{folder}/".startswith(f"{path}/")
            self._targets[folder] = (
                path if text and len(text) <= MAX_LINK and is_inside and is_apart else None
            )
        return self._targets[folder]


def _folders(path: str) -> Iterator[str]:
    """The folders above a path, the uppermost first."""
    at = path.find("/")
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)
