"""Folders of ours in a workspace, and the durability of the names in them."""

from __future__ import annotations

import os
import stat
import time
from errno import EACCES, ELOOP
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_DAY = 24 * 60 * 60  # seconds


def force_folder(path: Path) -> None:
    """Returns when the names in the folder are on disk, if the system can say that.

    Raises:
        OSError: Cannot be opened.
    """
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_folder(root: Path, names: Iterable[str]) -> Path:
    """The folder below `root` at these names, for this person alone; git ignores the first and its content.

    Raises:
        OSError: Cannot be made or written; with `ELOOP`, one of the names is a link or something else.
    """
    folder = root
    for number, name in enumerate(names):
        above, folder = folder, folder / name
        _make(folder, above)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise OSError(ELOOP, os.strerror(ELOOP), str(folder))
        if number == 0:
            _write_new(folder / ".gitignore", b"*\n")
    if not os.access(folder, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), str(folder))
    return folder


def _make(folder: Path, above: Path) -> None:
    """Makes `folder` in the folder `above`, if it is missing."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        force_folder(above)


def is_left(path: Path) -> bool:
    """Whether the file was last written a day ago or earlier, so that no process is still making it."""
    try:
        return path.lstat().st_mtime < time.time() - _DAY
    except FileNotFoundError:
        return False


def _write_new(path: Path, content: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
