"""The file of the shares of a workspace's runs in their conversations; one process has it at a time."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError, StoreError
from llmdo.journal.shares import share_of
from llmdo.journal.sqlite.connection import require_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from llmdo.journal.shares import ConversationShares, Share
    from llmdo.journal.stored import Result

_PATIENCE = 60.0  # seconds: the first process reads the journals of all runs

_TABLE = """
CREATE TABLE IF NOT EXISTS share (
  run TEXT PRIMARY KEY, conversation TEXT NOT NULL, reserved TEXT NOT NULL, counted TEXT)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS share_conversation ON share (conversation)"


class FileShares:
    """The shares in a file, while its lock is held."""

    def __init__(self, connection: sqlite3.Connection, conversation: str, names: Collection[str]) -> None:
        """`names` are the runs with a journal; the shares of others are removed."""
        self._connection, self._conversation = connection, conversation
        known = {run for (run,) in connection.execute("SELECT run FROM share")}
        self._lacking = [name for name in names if name not in known]
        gone = known.difference(names)
        connection.executemany("DELETE FROM share WHERE run = ?", [(run,) for run in gone])

    def of_conversation(self) -> list[Share]:
        """Those of the conversation's runs with a journal."""
        rows = self._connection.execute("SELECT * FROM share WHERE conversation = ?", (self._conversation,))
        return [share_of(*row) for row in rows.fetchall()]

    def lacking(self, entry: str) -> list[str]:  # noqa: ARG002  # a journal alone says of which entry it is
        """The runs without a share when the lock was taken."""
        return self._lacking

    def put(self, share: Share) -> None:
        """Keeps a share in place of its run's earlier one."""
        self._connection.execute("INSERT OR REPLACE INTO share VALUES (?, ?, ?, ?)", share.row)


def sharing(
    path: Path,
    conversation: str,
    names: Callable[[], Collection[str]],
    work: Callable[[ConversationShares], Result],
) -> Result:
    """The result of `work`, with exclusive access to the shares in the file at `path`; `names` lists the runs.

    Raises:
        JournalError: The file cannot be read or written.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
    require_file(path)
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(_INDEX)
            result = work(FileShares(connection, conversation, names()))  # listed while nobody else adds one
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        raise (JournalError if is_damaged else StoreError)(
            f"the shares of conversations in `{path}` cannot be kept: {error}",
            hint="where no run goes on, remove the file: it is made again from the journals"
            if is_damaged
            else None,
        ) from error
    return result
