"""The workers of a fleet in the table `worker`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmdo.features.postgres.database import Database
from llmdo.features.postgres.migrations import require_current
from llmdo.journal.workers import FleetWorker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REGISTER = """
INSERT INTO llmdo.worker (id, host, pid, lock, jobs, state, since, beat, ended)
VALUES (%s, %s, %s, %s, %s, 'working', clock_timestamp(), clock_timestamp(), 0) ON CONFLICT (id) DO NOTHING
"""
_BEAT = "UPDATE llmdo.worker SET beat = clock_timestamp(), state = %s, ended = %s WHERE id = %s RETURNING id"
_ALL = """
SELECT id, host, pid, lock, jobs, state, extract(epoch FROM clock_timestamp() - since)::float8,
  extract(epoch FROM clock_timestamp() - beat)::float8, ended
FROM llmdo.worker ORDER BY since, id
"""
_FORGET = "DELETE FROM llmdo.worker WHERE beat < clock_timestamp() - interval '1 day' RETURNING id"
_DELAY = """
INSERT INTO llmdo.delayed VALUES (%s, clock_timestamp() + make_interval(secs => %s)) ON CONFLICT (name) DO NOTHING
"""
_TURN = """
INSERT INTO llmdo.pace AS kept (key, tat) VALUES (%s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (key) DO UPDATE SET tat = excluded.tat WHERE kept.tat <= clock_timestamp() RETURNING key
"""
_ALONE = "SELECT pg_try_advisory_xact_lock(1819045222)"
_NO_LONGER_THAN = "SELECT set_config('idle_in_transaction_session_timeout', '20s', true)"
"""A process stopped while it reaps keeps no other from it."""


class PostgresWorkers:
    """The workers of the fleet with the database at one address."""

    def __init__(self, address: str, *, is_renewing: bool = False) -> None:
        """Connects; `is_renewing` for those that beat, as no other statement holds that up.

        Raises:
            LlmdoError: The address is invalid, or the database unreachable or without the tables.
        """
        self._database = Database(address, is_renewing=is_renewing)
        require_current(self._database)

    def register(self, worker: str, *, lock: str, jobs: int) -> None:
        """Registers a worker, alive from now on."""
        host, pid, _ = worker.rsplit(":", 2)
        self._database.rows(_REGISTER, worker, host, int(pid), lock, jobs)

    def beat(self, worker: str, *, state: str, ended: int) -> bool:
        """Notes that a worker is alive; whether it is still known."""
        return bool(self._database.rows_at_once(_BEAT, state, ended, worker))

    def leave(self, worker: str) -> None:
        """Forgets a worker without work."""
        self._database.rows_at_once("DELETE FROM llmdo.worker WHERE id = %s", worker)

    def all(self) -> tuple[FleetWorker, ...]:
        """All known ones, the oldest first."""
        return tuple(
            FleetWorker(
                id=row[0],
                host=row[1],
                pid=row[2],
                lock=row[3],
                jobs=row[4],
                state=row[5],
                age=row[6],
                silent=max(row[7], 0.0),
                ended=row[8],
            )
            for row in self._database.rows(_ALL)
        )

    @contextmanager
    def reaping(self) -> Iterator[bool]:
        """Whether the caller alone reaps, while the block runs."""
        with self._database.transaction() as run:
            run(_NO_LONGER_THAN)
            yield run(_ALONE) == [(True,)]

    def now(self) -> float:
        """Seconds since 1970, by the clock of the database."""
        seconds: float = self._database.rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0]
        return seconds

    def has_turn(self, key: str, interval: float) -> bool:
        """Whether the caller has the turn of `key`, one per interval over all workers."""
        return bool(self._database.rows_at_once(_TURN, key, interval))

    def delay(self, name: str, seconds: float) -> None:
        """Makes this entry of the queue due in so many seconds."""
        self._database.rows(_DELAY, name, seconds)

    def due(self) -> tuple[str, ...]:
        """The entries of the queue that are due by now."""
        return tuple(
            name
            for (name,) in self._database.rows(
                "SELECT name FROM llmdo.delayed WHERE due <= clock_timestamp()"
            )
        )

    def released(self, names: Sequence[str]) -> None:
        """Forgets the delays of these entries."""
        if names:
            self._database.rows("DELETE FROM llmdo.delayed WHERE name = ANY(%s)", list(names))

    def forget(self) -> int:
        """Forgets workers that have been dead for a day; their number."""
        return len(self._database.rows(_FORGET))

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()
