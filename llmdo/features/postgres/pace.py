"""The rate of all processes together: one row a key, with the time of its next turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.features.postgres.database import Database

_TURN = """
INSERT INTO llmdo.pace AS kept (key, tat) VALUES (%s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (key) DO UPDATE SET tat = greatest(kept.tat, clock_timestamp()) + make_interval(secs => %s)
RETURNING extract(epoch FROM tat - make_interval(secs => %s) - clock_timestamp())::float8
"""
"""The row is locked before its clock is asked: no two processes get one turn."""


class PostgresPace:
    """Turns at least so far apart, by the clock of the database alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def turn(self, key: str, interval: float) -> float:
        """The seconds until the next turn of `key`, which the caller gets; the one after is `interval` seconds later.

        A broken connection may waste a turn: there are fewer then, never more.

        Raises:
            JournalError: The database cannot be asked.
        """
        seconds: float = self._database.rows(_TURN, key, interval, interval, interval)[0][0]
        return max(0.0, seconds)
