"""Connections to the file of a journal, its layout, and SQLite's errors in words for readers."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.journal.entries import DamagedError, JournalError, StoreError
from llmdo.journal.stored import DAMAGED, MAX_ENTRY

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE = 2 * 1024 * 1024 * 1024  # bytes of one journal

_PAGE = 4096


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection to the file at `path`, as a URI says with `mode`."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=5,
        isolation_level=None,
        check_same_thread=False,  # a run stays in one thread, which need not be the one that opened it
    )
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may be a stranger's
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ENTRY + 1024 * 1024)
    connection.execute("PRAGMA synchronous = NORMAL")  # what has to be on disk, the journal forces there
    connection.execute(f"PRAGMA max_page_count = {MAX_FILE // _PAGE}")
    return connection


def require_file(path: Path) -> None:
    """Checks that `path` is a file, and no link to one.

    Raises:
        JournalError: Otherwise.
    """
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(mode):
        raise JournalError(f"cannot read `{path}`: it is not a file")


def unreadable(path: Path, error: OSError) -> JournalError:
    """The error for an unreadable file: an existing one may be readable later."""
    kind = JournalError if isinstance(error, FileNotFoundError | NotADirectoryError) else StoreError
    return kind(f"cannot read `{path}`: {error.strerror}")


class Translated:
    """Translates SQLite's errors for readers."""

    __slots__ = ("_path", "_work")

    def __init__(self, path: Path, work: str) -> None:
        self._path = path
        self._work = work

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A damaged name comes back in SQLite's own message, which Python then cannot decode.
        if not isinstance(error, sqlite3.Error | UnicodeDecodeError):
            return
        path, work, text = self._path, self._work, str(error)
        if "full" in text:
            why, is_for_good = _what_is_full(path)
            raise (JournalError if is_for_good else StoreError)(
                f"the journal `{path}` cannot be {work}: {why}",
                hint="nothing that was recorded is lost: make room, then `llmdo resume`",
            ) from error
        if any(sign in text for sign in ("malformed", "not a database", "decode")):
            raise DamagedError(f"`{path}` is damaged: {text}", hint=DAMAGED) from error
        if "locked" in text:
            raise StoreError(f"the journal `{path}` cannot be {work}: another process uses it") from error
        is_passing = isinstance(error, sqlite3.OperationalError) and (
            work == "written" or any(sign in text for sign in ("I/O", "unable to open"))
        )
        kind = StoreError if is_passing else JournalError
        raise kind(f"the journal `{path}` cannot be {work}: {text}") from error


def _what_is_full(path: Path) -> tuple[str, bool]:
    """The reason in words, and whether it lasts."""
    with suppress(OSError):
        if path.stat().st_size > MAX_FILE * 0.99:
            return f"it has reached its limit of {MAX_FILE // 1024**3} GiB", True
    return "the disk is full", False


VERSION = 7

OLDEST = 6
"""The first version that is read and resumed."""

APPLICATION = 0x6C6C6D64  # "llmd", which tells a journal from any other SQLite file

_TABLES = {
    "entry": "CREATE TABLE entry (seq INTEGER PRIMARY KEY, head TEXT NOT NULL, original TEXT, path TEXT NOT NULL, "
    "kind TEXT NOT NULL, step INTEGER NOT NULL, outcome TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL, "
    "body BLOB NOT NULL, spans TEXT NOT NULL DEFAULT '', salt BLOB, UNIQUE (path, kind, step))",
    "content": "CREATE TABLE content (digest TEXT PRIMARY KEY, bytes BLOB, spans TEXT NOT NULL DEFAULT '')",
    "secret": "CREATE TABLE secret (n INTEGER PRIMARY KEY, variable TEXT NOT NULL, salt BLOB NOT NULL, "
    "digest BLOB NOT NULL)",
    "audit": "CREATE TABLE audit (n INTEGER PRIMARY KEY, line TEXT NOT NULL)",
}


def lay_out(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new journal."""
    connection.execute("BEGIN")
    for statement in _TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def mark(connection: sqlite3.Connection) -> None:
    """Marks the journal with this version, so that no earlier llmdo resumes it."""
    if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
        connection.execute(f"PRAGMA user_version = {VERSION}")


def require_layout(path: Path, connection: sqlite3.Connection) -> None:
    """Checks that the file at `path` is a journal that this llmdo can read.

    Raises:
        JournalError: Otherwise. It may hold our own tables alone: a stranger's file could bring triggers and views.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    problem, hint = None, None
    if application != APPLICATION:
        problem = "is not a journal"
    elif version > VERSION:
        problem, hint = f"has version {version}, and this llmdo reads version {VERSION}", "use a newer llmdo"
    elif version < OLDEST:
        problem = f"has version {version}, and this llmdo reads version {VERSION}"
        hint = "the llmdo that recorded it can show and replay it"
    else:
        tables = {
            name: sql
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema")
            if not str(name).startswith("sqlite_autoindex_")
        }
        problem = None if tables == _TABLES else "is not a journal"
    if problem:
        connection.close()
        raise JournalError(f"`{path}` {problem}", hint=hint)
