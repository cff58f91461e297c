"""The files of a foreign project, read within the limits that hold for our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import finding
from llmdo.base.source import Location
from llmdo.base.values import dataclass
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

    Read = tuple[Source, tuple[Diagnostic, ...]]


MAX_FILES = 10_000  # of one project: more is a glob that swallowed something else


class Tree(Protocol):
    """Where a reader gets its files from."""

    @property
    def only(self) -> str | None:
        """The one file that counts; None for all."""

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, sorted, and what they name besides and cannot be read."""

    def read(self, path: str) -> Read | None:
        """The file at `path`, empty beside its problem; None where there is none."""


def few(
    paths: tuple[str, ...], problems: tuple[Diagnostic, ...]
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """As many of the paths as anybody has; where there are more, that is a problem."""
    if len(paths) <= MAX_FILES:
        return paths, problems
    message = f"there are more files than the {MAX_FILES:,} that are read"
    return paths[:MAX_FILES], (*problems, finding("LDO105", Location(paths[MAX_FILES]), message))


@dataclass(frozen=True, slots=True)
class DiskTree:
    """A folder on disk, or one file of it."""

    root: Path
    only: str | None = None
    """The one file that counts; None for all."""

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name: no link is followed, and what git ignores is left out."""
        if self.only is not None:
            return (self.only,), ()
        ignored, problems = discovery.git_ignored(self.root)
        by_pattern = discovery.find(self.root, patterns, ignored)
        refused = {path: why for matches in by_pattern.values() for path, why in matches.refused}
        return (
            tuple(sorted({path for matches in by_pattern.values() for path in matches.paths})),
            (*problems, *(unread(path, refused[path]) for path in sorted(refused))),
        )

    def read(self, path: str) -> Read | None:
        """The file at `path`."""
        refused = discovery.exists(self.root, path)
        if refused and refused.code == "LDO106":
            return None
        return discovery.read_source(self.root, path)


def unread(path: str, refused: discovery.RefusedPath) -> Diagnostic:
    """The problem with a file that cannot be read."""
    return finding(refused.code, Location(path), f"`{path}` {refused.reason}")
