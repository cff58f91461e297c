"""Folders of ours in a workspace, the files of its runs, and the durability of the names in them."""

from __future__ import annotations

import os
import stat
import time
from errno import EACCES, ELOOP
from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError
from llmdo.journal.naming import PART, require_id, run_of_file

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


SOURCES_SUFFIX = ".sources"


class RunFiles:
    """The files of a workspace's runs on this machine."""

    root: Path
    """Of the workspace."""
    _place: tuple[str, ...]
    """The names that lead to the folder."""
    _suffix: str

    @property
    def folder(self) -> Path:
        """The folder of the journals, and of files shared among them."""
        return self.root.joinpath(*self._place)

    def path(self, run: str) -> Path:
        """The journal of the run; for one in a database, the path next to which its files lie.

        Raises:
            LlmdoError: It is not an id.
        """
        return self.folder / f"{require_id(run)}{self._suffix}"

    def sources(self, run: str) -> Path:
        """The folder of the sources that the run brought, if any.

        Raises:
            LlmdoError: It is not an id.
        """
        return self.path(run).with_suffix(SOURCES_SUFFIX)

    def prepare(self) -> Path:
        """The folder, made if needed, with a `.gitignore` that keeps all of it out of git.

        Raises:
            JournalError: Cannot be made, or is reached through a link.
        """
        try:
            return private_folder(self.root, self._place)
        except OSError as error:
            if error.errno == ELOOP:
                raise JournalError(f"`{error.filename}` is a link, which llmdo does not follow") from error
            raise JournalError(
                f"no journal can be kept: cannot write `{error.filename}`: {error.strerror}",
                hint="`--no-journal` runs without one: such a run cannot be resumed",
            ) from error

    def _files(self) -> dict[str, list[Path]]:
        """The files in the folder, by their runs."""
        files: dict[str, list[Path]] = {}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if (run := run_of_file(path.name)) is not None:
                files.setdefault(run, []).append(path)
        return files

    def _unlink(self, run: str, files: Iterable[Path]) -> None:
        """Removes these files of the run.

        Raises:
            JournalError: One cannot be removed.
        """
        import shutil  # loads what compresses, which lists have no use for

        try:
            self.path(run).unlink(missing_ok=True)  # first: who is killed here leaves no part of a journal
            for path in files:
                if path.name == f"{run}{SOURCES_SUFFIX}" and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise JournalError(f"cannot remove run `{run}`: {error.strerror}") from error

    def _unlink_left(self, run: str, files: Iterable[Path]) -> None:
        # Of a run without a journal. An import writes its file before the journal, without a claim.
        self._unlink(run, [path for path in files if PART not in path.name or is_left(path)])
