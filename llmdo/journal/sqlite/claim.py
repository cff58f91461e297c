"""The right to work on a run: one process has it until it ends, however it ends."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path  # noqa: TC003  # a field's type
from typing import Self

from llmdo.base.values import dataclass
from llmdo.journal.entries import StoreError

PATIENCE = 0.25  # seconds: whoever only asks whether a run is claimed holds the lock for a moment
ATTEMPTS = 10  # the file vanishes when its owner ends


@dataclass(frozen=True, slots=True)
class Claim:
    """One process's right to one run: an SQLite lock on an empty file, which works on every system."""

    path: Path
    held: sqlite3.Connection

    @classmethod
    def take(cls, path: Path) -> Claim | None:
        """The right of the file `path`; None if another process has it.

        Raises:
            StoreError: The file cannot be made.
        """
        why: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                path.touch(mode=0o600)
                file = _file(path)  # before SQLite opens it: afterwards another one may be at its place
                held = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            except (OSError, sqlite3.Error) as error:
                why = error
                continue
            try:
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                held.close()
                if "locked" in str(error):
                    return None
                why = error if file == _file(path) else None  # of a file that vanished meanwhile
                continue
            if file is not None and file == _file(path):
                return cls(path, held)
            held.close()
            why = None
        if why is not None:
            raise StoreError(f"cannot write `{path}`: {_why(why)}") from why
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Frees the run for other processes."""
        with suppress(OSError):
            self.path.unlink()
        self.held.close()


def is_claimed(path: Path) -> bool:
    """Whether a process works on the run of the file `path`.

    Raises:
        StoreError: Nobody can tell now.
    """
    why: sqlite3.Error | None = None
    for _ in range(ATTEMPTS):
        if not path.exists():
            return False
        try:
            with closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
            ) as connection:
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            if "locked" in str(error):
                return True
            why = error  # unless the file vanished meanwhile
        else:
            return False
    raise StoreError(f"cannot read `{path}`: {why}") from why


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _file(path: Path) -> tuple[int, int] | None:
    """The identity of the file at `path`, which no successor has, even under the same number; None for no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns
