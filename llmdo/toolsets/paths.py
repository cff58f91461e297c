"""The paths that llmdo works with, the error for all others, and the path map from names to paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PATH = 4096  # bytes: PATH_MAX of Linux
MAX_DEPTH = 64  # parts: deeper is a mistake or an attack, and a listing stops here too
MAX_SHOWN = 200  # characters of a refused path that an error repeats

WORKSPACE = "."
"""The normal form of the workspace itself."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class PathRefused(LlmdoError):  # noqa: N818  # it says what happened to a path, as a decision does
    """A path that is not read, listed or written, and why; shown as the caller gave it, never with the root."""

    def __init__(self, path: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"`{_shown(path)}` {reason}", hint=hint)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}: {self.hint}"


def normalise(path: str) -> str:
    """`path` without empty and `.` parts and without a slash at its end; `.` for the workspace itself.

    Raises:
        PathRefused: It is empty, absolute, too long or too deep, or has `..`, `~` or a control character.
    """
    if not path:
        raise PathRefused(path, "is empty", hint="give a path inside the workspace, or `.` for all of it")
    if _CONTROL.search(path):
        raise PathRefused(path, "has a control character", hint="give a path without one")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/") or (names and names[0].startswith("~")):
        raise PathRefused(
            path, "is not inside the workspace", hint="give a path relative to it, such as `input/a.txt`"
        )
    if ".." in names:
        raise PathRefused(path, "has a `..`", hint="give the path as seen from the workspace, without `..`")
    if len(names) > MAX_DEPTH:
        raise PathRefused(path, f"has more than {MAX_DEPTH} parts", hint="give a shorter path")
    if _size(path) > MAX_PATH:
        raise PathRefused(path, f"is longer than {MAX_PATH} bytes", hint="give a shorter path")
    return "/".join(names) or WORKSPACE


def file_parts(path: str) -> tuple[str, ...]:
    """The parts of the path of a file.

    Raises:
        PathRefused: As `normalise`, or it is the workspace itself.
    """
    normal = normalise(path)
    if normal == WORKSPACE:
        raise PathRefused(path, "is the workspace itself", hint="give the path of a file in it")
    return tuple(normal.split("/"))


def folder_parts(path: str) -> tuple[str, ...]:
    """The parts of the path of a folder: none for the workspace itself.

    Raises:
        PathRefused: As `normalise`.
    """
    normal = normalise(path)
    return () if normal == WORKSPACE else tuple(normal.split("/"))


def _size(path: str) -> int:
    try:
        return len(path.encode())
    except UnicodeEncodeError as error:
        raise PathRefused(path, "is not valid Unicode", hint="give another path") from error


def _shown(path: str) -> str:
    cut = path if len(path) <= MAX_SHOWN else path[:MAX_SHOWN] + "..."
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)


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
