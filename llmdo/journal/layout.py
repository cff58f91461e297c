"""What the file of a journal is made of, in every version of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

VERSION = 2
"""Of the layout. A file with a higher one is refused; one with a lower one is read, and brought up before it grows."""

APPLICATION = 0x6C6C6D64  # "llmd", which tells a journal from any other SQLite file

AUDIT_SUFFIX = ".audit.jsonl"
"""Of the file beside a journal of version 1 that holds its audit."""

_FIRST = {
    "entry": "CREATE TABLE entry (seq INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, step INTEGER "
    "NOT NULL, outcome TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL, "
    "UNIQUE (path, kind, step))",
    "content": "CREATE TABLE content (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL)",
}
_AUDIT = {"audit": "CREATE TABLE audit (n INTEGER PRIMARY KEY, line TEXT NOT NULL)"}

_TABLES = {1: _FIRST, 2: {**_FIRST, **_AUDIT}}


def lay_out(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new journal."""
    connection.execute("BEGIN")
    for statement in _TABLES[VERSION].values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def version_of(path: Path, connection: sqlite3.Connection) -> int:
    """The version of the journal at `path`.

    Raises:
        JournalError: It is none of ours. Nothing but our own tables may be in it: a stranger's file could bring
            triggers and views.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    problem, hint = None, None
    if application != APPLICATION:
        problem = "is not a journal"
    elif version > VERSION:
        problem, hint = f"has version {version}, and this llmdo reads up to {VERSION}", "use a newer llmdo"
    else:
        made = {
            name: sql
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema")
            if not name.startswith("sqlite_autoindex_")
        }
        problem = None if made == _TABLES.get(version) else "is not a journal"
    if problem:
        connection.close()
        raise JournalError(f"`{path}` {problem}", hint=hint)
    return version


def bring_up(path: Path, connection: sqlite3.Connection) -> None:
    """Makes the journal of an older version at `path` one of this, with the audit that was beside it, as it is."""
    lines = lines_beside(path)
    connection.execute("BEGIN IMMEDIATE")
    for statement in _AUDIT.values():
        connection.execute(statement)
    connection.executemany("INSERT INTO audit VALUES (?, ?)", enumerate(lines, 1))
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def lines_beside(path: Path) -> list[str]:
    """The lines of the audit beside the journal of version 1 at `path`; none where there is no such file."""
    try:
        return path.with_suffix(AUDIT_SUFFIX).read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"cannot read the audit beside `{path}`: {error.strerror}") from error
