"""The Python files that the runs of a workspace began with: kept once each, by their digests.

A list of files with their digests is kept the same way and written last, so an existing list is complete, and a run
with known code keeps nothing. A journal names the list.
"""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path  # noqa: TC003  # a field's type
from threading import get_ident
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.held import held
from llmdo.base.values import dataclass
from llmdo.journal.disk import force_folder
from llmdo.journal.entries import JournalEntry, JournalError, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.journal.stored import JournalStore, RunIndex

FOLDER = "sources"

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class KeptSources:
    """The files in one folder, for its owner alone; two processes may add to it."""

    folder: Path

    @classmethod
    def of(cls, journal: JournalStore) -> KeptSources:
        """The files next to `journal`."""
        return cls(journal.path.parent / FOLDER)

    @contextmanager
    def held(self, *, alone: bool = False) -> Iterator[None]:
        """Keeps others from removing files meanwhile; `alone`, also from adding some. Makes the folder.

        Raises:
            JournalError: The folder cannot be made, or is a link.
        """
        with ExitStack() as stack:
            try:
                with suppress(FileExistsError):
                    self.folder.mkdir(mode=0o700)
                if not stat.S_ISDIR(self.folder.lstat().st_mode):
                    raise JournalError(f"`{self.folder}` is a link, which llmdo does not follow")
                stack.enter_context(held(self.folder, alone=alone))
            except OSError as error:
                raise self._unwritten(error) from error
            yield

    def keep(self, code: Mapping[str, str], text_of: Callable[[str], str]) -> str | None:
        """The digest of the list of `code`, path to digest, now on disk.

        None if a file has changed; `text_of` reads one.

        Raises:
            JournalError: Cannot be written.
        """
        listed = digest.canonical(dict(code)).encode()
        name = digest.of_bytes(listed)
        if self._path(name).exists():
            return name
        try:
            for path, named in code.items():
                if not self._path(named).exists():
                    content = text_of(path).encode()
                    if digest.of_bytes(content) != named:
                        return None
                    self._write(named, content)
            self._write(name, listed)
            force_folder(self.folder)
        except JournalError:
            raise
        except (LlmdoError, SyntaxError):  # changed or gone since the workspace was read
            return None
        except OSError as error:
            raise self._unwritten(error) from error
        return name

    def files(self, name: str) -> dict[str, str] | None:
        """Path to text of the files in that list, if any.

        Raises:
            JournalError: A file is missing or has changed.
        """
        listed = self._list(name)
        if listed is None:
            return None
        texts: dict[str, str] = {}
        for path, named in listed.items():
            content = self._read(named)
            if content is None:
                raise self._damaged(f"`{path}` is missing in `{self.folder}`")
            texts[path] = content.decode()
        return texts

    def sweep(self, names: Iterable[str]) -> None:
        """Removes all files in none of these lists, and the folder if empty.

        Raises:
            JournalError: A list is damaged, or something cannot be removed.
        """
        needed: set[str] = set()
        for name in names:
            listed = self._list(name)
            needed.update(map(_file, [name, *listed.values()] if listed is not None else ()))
        try:
            for path in list(self.folder.iterdir()):
                if path.name not in needed:
                    path.unlink()
            if not needed:
                self.folder.rmdir()
        except OSError as error:
            raise JournalError(f"cannot remove what is in `{self.folder}`: {error.strerror}") from error

    def _list(self, name: str) -> dict[str, str] | None:
        """Path to digest; None if there is no such list."""
        content = self._read(name)
        if content is None:
            return None
        try:
            listed = json.loads(content)
        except (ValueError, RecursionError):
            listed = None
        if not isinstance(listed, dict) or not all(isinstance(named, str) for named in listed.values()):
            raise self._damaged(f"`{self._path(name)}` is not a list of files")
        return listed

    def _read(self, named: str) -> bytes | None:
        """The content of that digest, if any."""
        path = self._path(named)
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._damaged(f"`{path}` cannot be read: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            content = file.read()
        if digest.of_bytes(content) != named:
            raise self._damaged(f"`{path}` is damaged: it is not what was kept")
        return content

    def _write(self, named: str, content: bytes) -> None:
        path = self._path(named)
        temporary = path.with_name(
            f"{path.name}.{os.getpid()}-{get_ident()}"
        )  # two threads may keep the same
        with suppress(FileNotFoundError):
            temporary.unlink()
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def _path(self, named: str) -> Path:
        return self.folder / _file(named)

    def _damaged(self, sentence: str) -> JournalError:
        return JournalError(
            sentence,
            hint=f"where the workspace is what the run began with, go on without: remove `{self.folder}`",
        )

    def _unwritten(self, error: OSError) -> JournalError:
        return JournalError(
            f"the code of the run cannot be kept: cannot write `{self.folder}`: {error.strerror}",
            hint="`--no-journal` runs without a journal: such a run cannot be resumed",
        )


def _file(named: str) -> str:
    """The name of the file of that digest.

    Raises:
        JournalError: It is no digest: a journal may come from anybody.
    """
    match = _DIGEST.fullmatch(named)
    if match is None:
        raise JournalError(f"{named!a} is not the digest of a file")
    return match[1]


def kept_entry(path: str, name: str) -> JournalEntry:
    """The entry about that list; `path` is the entry that the run starts."""
    return JournalEntry(path=path, kind="kept", step=1, digest=name, body=pack({}))


def named_by(journal: JournalStore) -> str | None:
    """The digest of the run's list of files, if any."""
    entry = next(journal.entries("kept"), None)
    return entry.digest if entry is not None else None


def sweep(runs: RunIndex) -> None:
    """Removes the files that no run names any more.

    Raises:
        JournalError: A journal cannot be read, or something cannot be removed.
    """
    files = KeptSources(runs.folder / FOLDER)
    if not files.folder.is_dir():
        return
    with files.held(alone=True):
        files.sweep([named for journal in runs.each() if (named := named_by(journal))])
