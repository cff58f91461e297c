"""The path map: from the names that a prompt or a model uses to files of the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from llmdo.toolsets.refusal import WORKSPACE, normalise

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PathMap:
    """Aliases and their targets, all in normal form."""

    exact: tuple[tuple[str, str], ...] = ()
    """Alias to path."""
    folders: tuple[tuple[str, str], ...] = ()
    """Alias to folder, the longest alias first."""

    @classmethod
    def of(cls, aliases: Mapping[str, str]) -> Self:
        """The map of `aliases`; one that ends in `/` means a folder and everything in it.

        Raises:
            PathRefused: An alias or its target is no path inside the workspace.
        """
        exact: dict[str, str] = {}
        folders: dict[str, str] = {}
        for alias, target in aliases.items():
            kind = folders if alias.endswith("/") else exact
            kind[normalise(alias)] = normalise(target)
        return cls(
            tuple(sorted(exact.items())),
            tuple(sorted(folders.items(), key=lambda pair: (-len(pair[0]), pair[0]))),
        )

    def with_overrides(self, aliases: Mapping[str, str]) -> Self:
        """This map, with other targets for `aliases`.

        Raises:
            PathRefused: As `of`.
        """
        folders = {f"{alias}/": target for alias, target in self.folders}
        return self.of(
            {**dict(self.exact), **folders, **{_spelling(alias): target for alias, target in aliases.items()}}
        )

    def resolve(self, path: str) -> str:
        """The real path of `path`: by its own alias, else by its longest folder alias, else itself.

        The result is in normal form; it is never resolved a second time.

        Raises:
            PathRefused: It is no path inside the workspace.
        """
        normal = normalise(path)
        for alias, target in self.exact:
            if normal == alias:
                return target
        for alias, target in self.folders:
            if normal == alias:
                return target
            if normal.startswith(alias + "/"):
                return normalise(below(target, normal[len(alias) + 1 :]))
        return normal


def below(folder: str, path: str) -> str:
    """`path` below `folder`, both in normal form."""
    return path if folder == WORKSPACE else f"{folder}/{path}"


def _spelling(alias: str) -> str:
    return normalise(alias) + ("/" if alias.endswith("/") else "")
