"""The folder for the files of a workspace's runs: journals, or the other files of those in a database."""

from __future__ import annotations

from errno import ELOOP
from typing import TYPE_CHECKING

from llmdo.journal.disk import is_left, private_folder
from llmdo.journal.entries import JournalError
from llmdo.journal.naming import PART, require_id, run_of_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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
