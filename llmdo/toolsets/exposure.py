"""The part of the workspace that an isolated command can write: never the files that govern this or a later run."""

from __future__ import annotations

import os
import secrets
import stat
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.authority import scope_contains
from llmdo.policy.protection import is_code, is_protected, is_secret
from llmdo.syntax.globs import is_pattern
from llmdo.toolsets.paths import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.toolsets.confinement import Root

REMOVED = ".llmdo/removed"
MAX_SCANNED = 50_000  # entries of what can be written: more takes longer than most commands
MAX_SEARCHED = 500_000  # entries of what is read: some seconds
MAX_HIDDEN = 2_000  # paths: each is words of a command, of which systems take some thousand


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the workspace, as an isolated command sees it."""

    path: str
    """Relative to the workspace, with `/`."""
    mode: Literal["read", "write", "empty"]

    def words(self, root: Path) -> tuple[str, ...]:
        """The option that mounts it."""
        real = str(root / self.path)
        if self.mode == "empty":
            return ("--tmpfs", real) if (root / self.path).is_dir() else ("--ro-bind", os.devnull, real)
        return ("--bind" if self.mode == "write" else "--ro-bind", real, real)


@dataclass(frozen=True, slots=True)
class WriteGuard:
    """The files that a command may not write, whatever else it may."""

    governing: frozenset[str]
    """Paths and globs of the files that govern the run, which it never may."""
    code: tuple[str, ...] = ()
    """Scopes in which it may write executable files."""

    def holds(self, path: str) -> bool:
        """Whether `path` is kept from it by its name."""
        return is_protected(path, self.governing) or (is_code(path) and not self.may_be_code(path))

    def may_be_code(self, path: str) -> bool:
        """Whether it may write an executable file at `path`."""
        return any(scope_contains(scope, path) for scope in self.code)


@dataclass(frozen=True, slots=True)
class Exposure:
    """The part of the workspace that one command can write."""

    mounts: tuple[Mount, ...] = ()
    """Outermost first, the order of mounting."""
    writable: tuple[str, ...] = ()
    guard: WriteGuard = WriteGuard(frozenset())
    guarded: frozenset[str] = frozenset()
    """The paths that existed and were kept from the command before it began."""
    files: Root | None = None
    """Knows the files that the run itself writes meanwhile."""


def expose(files: Root, root: Path, scopes: Iterable[str], guard: WriteGuard) -> Exposure:
    """The exposure for a command with these scopes of `fs.write`.

    A missing path opens the folder that it would be made in. The workspace itself is never opened, only its entries,
    so that no file of a protected name can be made next to `llmdo.toml`.

    Raises:
        LlmdoError: It holds too many files to watch over.
    """
    open_paths = sorted({path for scope in scopes for path in _existing(files, scope)})
    writable = [
        path
        for path in open_paths
        if not guard.holds(path) and not any(_lies_in(path, other) for other in open_paths)
    ]
    guarded = frozenset(_guarded(root, writable, guard, most=MAX_SCANNED))
    read_only = _few(guarded) | _governed_folders(root, guard.governing)
    mounts = {path: Mount(path, "write") for path in writable}
    for path in read_only:
        above = next((folder for folder in writable if _lies_in(path, folder)), None)
        if above is not None:
            # A folder on the way could be renamed and another one put in its place; a mount point cannot.
            mounts.update(
                {step: Mount(step, "write") for step in _between(above, path) if step not in read_only}
            )
    mounts.update({path: Mount(path, "read") for path in read_only if (root / path).exists()})
    ordered = sorted(mounts.values(), key=lambda mount: mount.path.split("/"))
    return Exposure(tuple(ordered), tuple(writable), guard, guarded, files)


def _few(paths: frozenset[str]) -> frozenset[str]:
    """As many paths as a command can name: beyond that, the fullest folders replace the paths in them."""
    few = set(paths)
    while len(few) > MAX_HIDDEN:
        fullest = Counter(path.rpartition("/")[0] for path in few if "/" in path).most_common(1)
        if not fullest:
            raise LlmdoError(
                f"more than {MAX_HIDDEN:,} folders there hold code", hint="allow `fs.write` for fewer of them"
            )
        folder = fullest[0][0]
        few = {path for path in few if not path.startswith(f"{folder}/")} | {folder}
    return frozenset(few)


def set_aside_intruders(root: Path, exposure: Exposure) -> tuple[str, ...]:
    """Moves the guarded paths that appeared since `exposure` was made to `.llmdo/removed/`, and returns them.

    Files that the run itself wrote meanwhile, after a question, stay. All are examined, whatever their number and the
    modes of their folders; immovable files lose all permissions.
    """
    for folder in exposure.writable:
        _make_readable(root / folder)
    intruders = set(_guarded(root, exposure.writable, exposure.guard, most=None)) - exposure.guarded
    left = sorted(path for path in intruders if not (exposure.files and exposure.files.has_written(path)))
    for path in left:
        aside = root / REMOVED / secrets.token_hex(4)
        try:
            aside.mkdir(parents=True)
            (root / path).rename(aside / path.rpartition("/")[2])
        except OSError:
            with suppress(OSError):
                (root / path).chmod(0)
    return tuple(left)


def _make_readable(folder: Path) -> None:
    """Restores the owner's access to the folders in `folder`, so that a command hides nothing in them."""
    waiting = [folder]
    while waiting:
        above = waiting.pop()
        try:
            mode = above.lstat().st_mode
            if not stat.S_ISDIR(mode):
                continue
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                above.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
            with os.scandir(above) as entries:
                waiting += [above / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # another user's, which no command of this one made


def secrets_in(root: Path, scopes: Iterable[str], *, most: int = MAX_SEARCHED) -> Iterator[str]:
    """The outermost paths in these folders whose names usually mean secrets; links are left out.

    Raises:
        LlmdoError: There are more than `most` files and folders to search.
    """
    seen = 0
    for scope in scopes:
        for above, below, names in os.walk(root / scope.removesuffix("**")):
            seen += len(below) + len(names)
            if seen > most:
                raise LlmdoError(
                    f"there are more than {most:,} files to keep secrets from",
                    hint="name a smaller folder",
                )
            paths = {
                name: os.path.relpath(f"{above}/{name}", root).replace(os.sep, "/")
                for name in (*below, *names)
            }
            secret = {name for name, path in paths.items() if is_secret(path)}
            yield from (paths[name] for name in sorted(secret) if not os.path.islink(f"{above}/{name}"))  # noqa: PTH114
            below[:] = [name for name in below if name not in secret]


def hide(root: Path, scopes: Iterable[str], shown: Iterable[str]) -> Exposure:
    """The workspace without the secrets in these folders, except those in the scopes `shown`.

    Raises:
        LlmdoError: As `secrets_in`, or there are too many.
    """
    shown = tuple(shown)
    hidden = [
        path for path in secrets_in(root, scopes) if not any(scope_contains(scope, path) for scope in shown)
    ]
    if len(hidden) > MAX_HIDDEN:
        raise LlmdoError(
            f"more than {MAX_HIDDEN:,} files there have names of secrets", hint="name a smaller folder"
        )
    return Exposure(tuple(Mount(path, "empty") for path in dict.fromkeys(hidden)))


def _existing(files: Root, scope: str) -> Iterator[str]:
    """The existing paths of a scope: itself, its nearest existing folder, or the entries of the workspace."""
    path = scope.removesuffix("/**").removesuffix("**") or WORKSPACE
    while path != WORKSPACE and files.kind(path) == "missing":
        path = path.rpartition("/")[0] or WORKSPACE
    if path != WORKSPACE:
        if files.kind(path) != "other":
            yield path
        return
    with closing(files.folder.folder(())) as top:
        yield from (name for name, kind in top.entries() if kind in ("file", "folder"))


def _lies_in(path: str, other: str) -> bool:
    return path != other and scope_contains(f"{other}/**", path)


def _between(above: str, path: str) -> Iterator[str]:
    """The folders between `above` and `path`, both excluded."""
    while _lies_in(path := path.rpartition("/")[0], above):
        yield path


def _governed_folders(root: Path, governing: frozenset[str]) -> frozenset[str]:
    """The folders with files that govern the run: a new file in them might govern the next."""
    return frozenset(
        folder
        for path in governing
        if not is_pattern(path) and (folder := path.rstrip("/").rpartition("/")[0]) and (root / path).exists()
    )


def _guarded(root: Path, folders: Iterable[str], guard: WriteGuard, *, most: int | None) -> Iterator[str]:
    """The outermost paths in `folders` that `guard` keeps from a command, and executable files.

    Raises:
        LlmdoError: There are more than `most` files.
    """
    seen = 0
    for folder in folders:
        for above, below, names in os.walk(root / folder):
            relative = os.path.relpath(above, root).replace(os.sep, "/")
            seen += len(below) + len(names)
            if most is not None and seen > most:
                raise LlmdoError(
                    f"`{folder}` holds more than {most:,} files, too many to watch over while a command writes",
                    hint="allow `fs.write` for a smaller folder",
                )
            for name in (*below, *names):
                path = f"{relative}/{name}"
                if guard.holds(path) or (not guard.may_be_code(path) and _is_started(root / path)):
                    yield path
            below[:] = [name for name in below if not guard.holds(f"{relative}/{name}")]


def _is_started(path: Path) -> bool:
    """Whether a regular file may be executed by anybody."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o111)
