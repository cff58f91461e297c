"""The right to work on a run: one process has it for a while, and renews it; after losing it, it can write no more.

Only the clock of the database counts. A process that cannot renew its lease ends itself before it expires: its tools
may still act while somebody else runs them again.
"""

from __future__ import annotations

import os
import socket
import time
from secrets import token_hex
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from llmdo.journal.eligibility import end_process
from llmdo.journal.entries import BEGUN_AGAIN, NOT_KNOWN, PROBE, ClaimedError, JournalError, NotOpenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.features.postgres.database import Database
    from llmdo.journal.stored import Taker

SECONDS = 30.0

_IS_UNSURE = f"""
EXISTS (SELECT FROM llmdo.entry AS a WHERE a.run = held.run AND a.kind = 'started' AND NOT EXISTS (
  SELECT FROM llmdo.entry AS b WHERE b.run = a.run AND b.path = a.path AND b.kind = 'finished' AND b.step = a.step)
  AND NOT EXISTS (
  SELECT FROM llmdo.entry AS b WHERE b.run = a.run AND starts_with(a.path, b.path || '/') AND b.kind = 'finished'
    AND b.outcome NOT IN {BEGUN_AGAIN})
  AND (a.outcome <> '{PROBE}' OR EXISTS (
  SELECT FROM llmdo.entry AS b WHERE b.run = a.run AND b.path = a.path AND b.kind = 'probed' AND b.seq > a.seq
    AND b.outcome = '{NOT_KNOWN}')))
"""  # noqa: S608  # constants
"""Whether a started tool did not finish, is not safe to run twice, and has no probe that could know.

Matches `unsettled` for a journal.
"""
_IS_OPEN = """
(held.status IN ('new', 'queued', 'running') OR held.status = 'waiting' AND NOT EXISTS (
  SELECT FROM llmdo.entry AS a WHERE a.run = held.run AND a.kind = 'asked' AND NOT EXISTS (
    SELECT FROM llmdo.entry AS b WHERE b.run = a.run AND b.path = a.path AND b.kind IN ('answered', 'decision')
      AND b.seq > a.seq)))
"""
"""Whether it can be resumed without a person: it has not ended, or waited for answers that are there."""
_IS_FREE = "(held.owner IS NULL OR held.until < clock_timestamp())"

_TAKE = f"""
INSERT INTO llmdo.run AS held (run, status, epoch, owner, until, beat)
VALUES (%s, 'new', 1, %s, clock_timestamp() + make_interval(secs => %s), clock_timestamp())
ON CONFLICT (run) DO UPDATE SET epoch = held.epoch + 1, owner = excluded.owner, until = excluded.until,
  beat = excluded.beat
WHERE ({_IS_FREE} OR held.owner = excluded.owner) AND (%s OR {_IS_OPEN} AND NOT {_IS_UNSURE})
RETURNING epoch
"""  # noqa: S608  # constants
_NOTE_UNSURE = f"""
UPDATE llmdo.run AS held SET status = 'unsure' WHERE run = %s AND {_IS_FREE} AND {_IS_OPEN} AND {_IS_UNSURE}
"""  # noqa: S608  # constants
_STATUS = "SELECT status FROM llmdo.run WHERE run = %s"
_RENEW = """
UPDATE llmdo.run SET until = clock_timestamp() + make_interval(secs => %s), beat = clock_timestamp()
WHERE run = %s AND epoch = %s AND owner = %s RETURNING run
"""
_RELEASE = "UPDATE llmdo.run SET owner = NULL, until = NULL WHERE run = %s AND epoch = %s AND owner = %s"
_NEVER_MADE = "DELETE FROM llmdo.run WHERE run = %s AND epoch = %s AND owner IS NULL AND status = 'new'"
_HOLDER = """
SELECT owner, extract(epoch FROM clock_timestamp() - beat)::float8,
  extract(epoch FROM until - clock_timestamp())::float8
FROM llmdo.run WHERE run = %s AND owner IS NOT NULL AND until >= clock_timestamp()
"""


class Lease:
    """One process's right to one run."""

    def __init__(
        self,
        database: Database,
        run: str,
        by: Taker = "person",
        *,
        seconds: float = SECONDS,
        end: Callable[[str], None] = end_process,
        renewing: Database,
    ) -> None:
        """Takes it; `renewing` has a connection that no other statement holds up, and `end` ends the process.

        Raises:
            ClaimedError: Another process has it.
            NotOpenError: For a worker: the run is over or waits for a person.
        """
        self.run = run
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{token_hex(4)}"
        self.seconds = seconds
        self._database, self._end, self._renewals = database, end, renewing
        self._renewed = time.monotonic()
        rows = database.rows(_TAKE, run, self.owner, seconds, by == "person")
        if not rows:
            raise _refused(database, run, by)
        self.epoch: int = rows[0][0]
        self._over = Event()
        for work in (self._renewing, self._watching):
            Thread(target=work, name=f"llmdo lease {run}", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether it was given back."""
        return self._over.is_set()

    @property
    def fence(self) -> tuple[str, int, str]:
        """The values that identify this lease, in the order of the statements."""
        return self.run, self.epoch, self.owner

    def renewed(self, at: float) -> None:
        """Notes that a statement sent `at` that time renewed it."""
        self._renewed = max(self._renewed, at)

    def lost(self) -> ClaimedError:
        """The error of a process that has lost the run."""
        return ClaimedError(
            f"another process has taken over run `{self.run}`, so this one writes nothing any more",
            hint=f"`llmdo runs show {self.run}` says how it goes on",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Frees the run for other processes; if the database cannot be told, the lease runs out."""
        if self._over.is_set():
            return
        self._over.set()
        try:
            self._database.rows(_RELEASE, *self.fence)
            self._database.rows(_NEVER_MADE, self.run, self.epoch)
        except JournalError:
            return

    def _renewing(self) -> None:
        while not self._over.wait(self.seconds / 3):
            self._renew()

    def _renew(self) -> None:
        at = time.monotonic()
        try:
            rows = self._renewals.rows_at_once(_RENEW, self.seconds, *self.fence)
        except JournalError:  # the watch decides how long that may go on
            self._over.wait(self.seconds / 30)
            return
        if rows:
            self.renewed(at)
        elif not self._over.is_set():
            self._end(self.lost().message)

    def _watching(self) -> None:
        while not self._over.wait(max(0.01, self._left())):
            if self._left() <= 0:
                self._end(
                    f"the lease of run `{self.run}` could not be renewed for {self.seconds * 2 / 3:.0f} s"
                )
                return

    def _left(self) -> float:
        return self._renewed + self.seconds * 2 / 3 - time.monotonic()


def is_held(database: Database, run: str) -> bool:
    """Whether a process has an unexpired lease of that run."""
    return bool(database.rows(_HOLDER, run))


def _refused(database: Database, run: str, by: Taker) -> JournalError:
    """The reason for a refusal; marks a run as unsure if a tool may have taken effect."""
    if by == "worker" and not is_held(database, run):
        database.rows(_NOTE_UNSURE, run)
        status = next(iter(database.rows(_STATUS, run)), ("",))[0]
        if status not in ("", "new", "queued", "running"):
            return NotOpenError(run, status)
    return claimed(database, run)


def claimed(database: Database, run: str) -> ClaimedError:
    """The error that names the holder of the run."""
    holder = next(iter(database.rows(_HOLDER, run)), None)
    if holder is None:
        return ClaimedError(f"another process had run `{run}` until now", hint="try again")
    host, process, _ = holder[0].rsplit(":", 2)
    return ClaimedError(
        f"another process has run `{run}`: {process} on `{host}`, last heard from {max(holder[1], 0):.0f} s ago",
        hint=f"wait until it is done, or stop it; if it was killed, its lease runs out in {max(holder[2], 0):.0f} s",
    )
