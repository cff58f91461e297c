"""The write-ahead log beside a journal: whether all of it can still be read.

SQLite takes the first frame that is not whole for the end of the log, and what was committed after it for never
written. A run that goes on from there would do again what it has done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_MAGIC = (0x377F0682, 0x377F0683)
_HEADER, _FRAME = 32, 24  # bytes; of a frame, what stands before its page


def least(path: Path) -> int | None:
    """How many frames of the log of the database at `path` have to be whole: all but those of its last transaction.

    That one may have been cut off when the process ended. None where the file is no log.
    """
    try:
        with path.with_name(f"{path.name}-wal").open("rb") as log:
            header = log.read(_HEADER)
            if not header:
                return 0
            if int.from_bytes(header[:4], "big") not in _MAGIC:
                return None
            page, salts = int.from_bytes(header[8:12], "big"), header[16:24]
            number = before = last = 0
            while len(frame := log.read(_FRAME)) == _FRAME:
                number += 1
                if frame[8:16] == salts and any(
                    frame[4:8]
                ):  # of this use of the file, and ends a transaction
                    before, last = last, number
                log.seek(page, 1)
            return before
    except FileNotFoundError:
        return 0


def readable(connection: sqlite3.Connection) -> int:
    """How many frames of its log a connection can read, which are in the database then."""
    number: int = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
    return number
