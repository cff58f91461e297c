"""The layout of a journal's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

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
