"""Open folders: taking one step down a path without following a link, on each kind of system."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EntryKind = Literal["file", "folder", "link", "other"]

FILE_FLAGS = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not wait for its other end
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
FOLDER_FLAGS = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
)


class Folder(Protocol):
    """An open folder. Names are single parts of a path; every failure is an OSError."""

    def file(self, parts: Sequence[str], flags: int, mode: int = 0) -> int:
        """A descriptor of the file at `parts` below this folder."""

    def folder(self, parts: Sequence[str]) -> Folder:
        """The folder at `parts` below this one, newly opened even if `parts` is empty."""

    def make(self, name: str) -> None:
        """Makes a folder of that name, unless the name is taken."""

    def stat(self, name: str) -> os.stat_result:
        """The status of the entry of that name; of a link, its own."""

    def rename(self, name: str, to: str) -> None:
        """Renames an entry, replacing any entry of the new name."""

    def remove(self, name: str) -> None:
        """Removes the file of that name."""

    def entries(self) -> Iterator[tuple[str, EntryKind]]:
        """The entries of this folder, in no order."""

    def close(self) -> None:
        """Ends the use of this folder."""


def open_folder(path: Path) -> Folder:
    """The folder at `path`, held as strictly as this system can."""
    if {
        os.open,
        os.mkdir,
        os.stat,
        os.rename,
        os.unlink,
    } - os.supports_dir_fd or os.scandir not in os.supports_fd:
        return PathFolder(path.resolve(strict=True))
    descriptor = os.open(path, FOLDER_FLAGS & ~os.O_NOFOLLOW)
    return DescriptorFolder(descriptor, beneath=_openat2_works(descriptor))


class DescriptorFolder:
    """A folder held by its descriptor: whatever is renamed meanwhile, no step leaves it."""

    __slots__ = ("_beneath", "_descriptor")

    def __init__(self, descriptor: int, *, beneath: bool) -> None:
        """Takes over `descriptor`; `beneath` says that `openat2` works here, so that one call walks a path."""
        self._descriptor = descriptor
        self._beneath = beneath

    def file(self, parts: Sequence[str], flags: int, mode: int = 0) -> int:
        """A descriptor of the file at `parts` below this folder."""
        return self._open(parts, flags | FILE_FLAGS, mode)

    def folder(self, parts: Sequence[str]) -> DescriptorFolder:
        """The folder at `parts` below this one."""
        return DescriptorFolder(self._open(parts, FOLDER_FLAGS), beneath=self._beneath)

    def make(self, name: str) -> None:
        """Makes a folder of that name, unless the name is taken."""
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._descriptor)

    def stat(self, name: str) -> os.stat_result:
        """The status of the entry of that name; of a link, its own."""
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def rename(self, name: str, to: str) -> None:
        """Renames an entry, replacing any entry of the new name."""
        os.rename(name, to, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Removes the file of that name."""
        os.unlink(name, dir_fd=self._descriptor)

    def entries(self) -> Iterator[tuple[str, EntryKind]]:
        """The entries of this folder, in no order."""
        with os.scandir(self._descriptor) as scanned:
            for entry in scanned:
                yield entry.name, _kind(entry)

    def close(self) -> None:
        """Closes the descriptor; later use fails rather than meet a folder that got the same number."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _open(self, parts: Sequence[str], flags: int, mode: int = 0) -> int:
        if self._beneath:
            return _openat2(self._descriptor, "/".join(parts) or ".", flags, mode)
        at = os.dup(self._descriptor)
        try:
            for name in parts[:-1]:
                below = os.open(name, FOLDER_FLAGS, dir_fd=at)
                os.close(at)
                at = below
            return os.open(parts[-1] if parts else ".", flags, mode, dir_fd=at)
        finally:
            os.close(at)


class PathFolder:
    """A folder held by its path, for systems that cannot open a file relative to a descriptor.

    Every part is checked before use, and refused if it is a link or leads elsewhere. Unlike in `DescriptorFolder`,
    another program of the same user can put a link there after the check.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        """Holds `path`, which is resolved already."""
        self._path = path

    def file(self, parts: Sequence[str], flags: int, mode: int = 0) -> int:
        """A descriptor of the file at `parts` below this folder."""
        return os.open(self._below(parts), flags | FILE_FLAGS, mode)

    def folder(self, parts: Sequence[str]) -> PathFolder:
        """The folder at `parts` below this one."""
        path = self._below(parts)
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return PathFolder(path)

    def make(self, name: str) -> None:
        """Makes a folder of that name, unless the name is taken."""
        with suppress(FileExistsError):
            self._below([name]).mkdir()

    def stat(self, name: str) -> os.stat_result:
        """The status of the entry of that name; of a link, its own."""
        return (self._path / name).lstat()

    def rename(self, name: str, to: str) -> None:
        """Renames an entry, replacing any entry of the new name."""
        self._below([name]).replace(self._below([to]))

    def remove(self, name: str) -> None:
        """Removes the file of that name."""
        self._below([name]).unlink()

    def entries(self) -> Iterator[tuple[str, EntryKind]]:
        """The entries of this folder, in no order."""
        with os.scandir(self._path) as scanned:
            for entry in scanned:
                yield entry.name, "link" if _is_link(Path(entry.path)) else _kind(entry)

    def close(self) -> None:
        """Does nothing: a path needs no closing."""

    def _below(self, parts: Sequence[str]) -> Path:
        path = self._path
        for name in parts:
            if _MEANS_SOMETHING_ON_WINDOWS.search(name):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            path /= name
            if _is_link(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not path.resolve().is_relative_to(self._path):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return path


_MEANS_SOMETHING_ON_WINDOWS = re.compile(
    r"[\\:*?\"<>|]|[. ]$|~[0-9]|^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)",
    re.IGNORECASE,
)
"""Separators, streams, endings that Windows drops, short names and devices."""


def _is_link(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    reparse_point = 0x400  # FILE_ATTRIBUTE_REPARSE_POINT: junctions are no symbolic links to Python
    return stat.S_ISLNK(status.st_mode) or bool(getattr(status, "st_file_attributes", 0) & reparse_point)


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_OPENAT2 = 437
_BENEATH_WITHOUT_LINKS = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS
_TRIES = 64  # EAGAIN: a rename elsewhere raced with the walk


def _openat2(folder: int, path: str, flags: int, mode: int) -> int:
    """A descriptor of `path` below `folder`; the path has no NUL, at which ctypes would cut it."""
    library = ctypes.CDLL(None, use_errno=True)
    how = _How(flags, mode, _BENEATH_WITHOUT_LINKS)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    for _ in range(_TRIES):
        descriptor: int = library.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_long(folder), os.fsencode(path), ctypes.byref(how), size
        )
        if descriptor >= 0:
            return descriptor
        if ctypes.get_errno() != errno.EAGAIN:
            break
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _openat2_works(folder: int) -> bool:
    """Whether this kernel allows `openat2`: it came with Linux 5.6, and sandboxes may deny it."""
    if sys.platform != "linux":
        return False
    try:
        os.close(_openat2(folder, ".", FOLDER_FLAGS, 0))
    except OSError:
        return False
    return True
