"""One journal in the database: commits are visible to all, and need the run's lease."""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.features.postgres.database import FORCED, BrokenError, TwiceError
from llmdo.journal import fill_tables, write_copy
from llmdo.journal.eligibility import status_of
from llmdo.journal.entries import Heads, JournalError
from llmdo.journal.naming import require_id
from llmdo.journal.stored import COLUMNS, JournalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.features.postgres.database import Database
    from llmdo.features.postgres.lease import Lease
    from llmdo.journal.audit import Link
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import Hold


_OWN = ", ".join(
    f"{table} AS NOT MATERIALIZED (SELECT * FROM llmdo.{table} WHERE run = %s)"  # noqa: S608  # constants
    for table in COLUMNS
)
"""The tables as though they held one run alone."""

_COMMIT = f"""
WITH mine AS (
  UPDATE llmdo.run SET until = clock_timestamp() + make_interval(secs => %s), beat = clock_timestamp(),
    status = coalesce(%s, status), entry = coalesce(%s, entry), lock = coalesce(%s, lock)
  WHERE run = %s AND epoch = %s AND owner = %s RETURNING run
), entries AS (
  INSERT INTO llmdo.entry
  SELECT mine.run, a.seq, a.head, NULL, a.path, a.kind, a.step, a.outcome, a.digest, a.at, a.body, a.spans, a.salt
  FROM mine, unnest(%b::bigint[], %b::text[], %b::text[], %b::text[], %b::bigint[], %b::text[], %b::text[],
    %b::float8[], %b::bytea[], %b::text[], %b::bytea[])
    AS a (seq, head, path, kind, step, outcome, digest, at, body, spans, salt)
), contents AS (
  INSERT INTO llmdo.content SELECT mine.run, a.* FROM mine, unnest(%b::text[], %b::bytea[], %b::text[]) AS a
  ON CONFLICT DO NOTHING
), secrets AS (
  INSERT INTO llmdo.secret
  SELECT mine.run, a.* FROM mine, unnest(%b::bigint[], %b::text[], %b::bytea[], %b::bytea[]) AS a
)
SELECT run, set_config('synchronous_commit', CASE WHEN %s THEN {FORCED} ELSE 'off' END, true) FROM mine
"""  # noqa: S608  # nothing but constants
"""All of a commit, or nothing if this process no longer has the lease.

`%b` sends a list in binary: as text, each byte of a body would take two.
"""


_State = tuple["str | None", "str | None", "str | None"]
_UNCHANGED: _State = (None, None, None)
_Rows = tuple["list[Any]", ...]
_WIDTHS = (11, 3, 4)
"""The numbers of columns of entries, contents and secrets."""
_NO_ROWS: _Rows = tuple([] for _ in range(sum(_WIDTHS)))


class PostgresJournal(JournalStore):
    """The entries of one run, in the tables of all runs."""

    def __init__(
        self,
        path: Path,
        run: str,
        database: Database,
        *,
        lease: Lease | None = None,
        heads: Heads | None = None,
        is_lease_own: bool = False,
        note: Callable[[str, Link], None] = lambda _run, _last: None,
    ) -> None:
        """Read-only without `lease`; one of its `own` is given back on closing.

        `note` is called with each last entry on the database's disk.
        """
        super().__init__(path, heads)
        self._run, self._database = run, database
        self._lease, self._is_lease_own, self._note = lease, is_lease_own, note
        self.written = heads or Heads()
        """The heads that others see, forced to disk or not."""
        self._forced = self.written
        self._sending = RLock()
        """Held while writing or forcing: another thread may force meanwhile."""
        self._unforced: list[_Rows] = []
        """The rows written since the last force: a failing server may lose them."""
        self._there_at = 0.0
        """A time before these rows were written: an older, unbroken connection proves that they are still there."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self._run

    @property
    def is_shared(self) -> bool:
        """Whether processes of other machines may resume the run: they may."""
        return True

    @property
    def pace(self) -> PostgresPace:
        """The turns that all processes of the store take."""
        return PostgresPace(self._database)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"the journal of run `{self._run}` in the store {self._database.name}"

    def close(self) -> None:
        """Gives the run back, if it is this journal's own; uncommitted entries are lost."""
        if self._is_lease_own and self._lease is not None:
            self._lease.give_back()

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        runs = [self._run] * len(COLUMNS)
        yield from self._database.rows(f"WITH {_OWN} {query.replace('?', '%s')}", *runs, *values)

    def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all additions are in the database and kept as `hold` says.

        Raises:
            ClaimedError: Another process has taken over the run: nothing was written.
            JournalError: Cannot be written; only the earlier entries remain.
        """
        if not self.has_uncommitted:
            if hold != "written":
                self.force(hold)
            return
        with self._sending:
            rows, began = self._added_columns(), time.monotonic()
            self._send(self._state(), rows, forced=hold != "written")
            self.written = self._is_committed()
            if hold == "written":
                self._there_at = self._there_at if self._unforced else began
                self._unforced.append(rows)
            else:
                self._note_forced(self.written)

    def needs_force(self, wanted: Heads, hold: Hold) -> bool:
        """Whether the written heads `wanted` are not on the database's disk yet."""
        return self._lease is not None and hold != "written" and not self._forced.cover(wanted)

    def force(self, hold: Hold) -> None:  # noqa: ARG002  # what is forced here cannot go missing by itself
        """Returns when everything written is on the database's disk.

        Raises:
            ClaimedError: Another process has taken over the run.
            JournalError: Cannot be forced.
        """
        with self._sending:
            if self._lease is not None and self._forced != self.written:
                self._send(_UNCHANGED, _NO_ROWS, forced=True)  # which takes with it what came before
                self._note_forced(self.written)

    def _note_forced(self, written: Heads) -> None:
        self._forced = written
        self._unforced.clear()
        self._note(self._run, written.entries)

    def _send(self, state: _State, rows: _Rows, *, forced: bool) -> None:
        """Returns when all rows so far are in the database, whatever broke."""
        lease = self._lease
        if lease is None:
            raise JournalError(f"the journal of run `{self._run}` was opened to be read alone")
        left = [(state, rows)]

        def restore() -> None:
            there_at = time.monotonic()
            for lost in self._unforced:
                if not self._is_written(lost):
                    self._carry_out(lease, _UNCHANGED, lost, forced=False)
            self._there_at = there_at
            if self._is_written(rows):
                left[0] = (_UNCHANGED, _NO_ROWS)

        def send() -> None:
            with self._database.connection() as made:
                if self._unforced and made >= self._there_at:
                    restore()
                self._carry_out(lease, *left[0], forced=forced)

        def restored() -> None:
            with self._database.connection():  # one alone: it breaks where the server fails in between
                restore()

        self._database.again(send, restored)

    def _carry_out(self, lease: Lease, state: _State, rows: _Rows, *, forced: bool) -> None:
        at = time.monotonic()
        values = (lease.seconds, *state, *lease.fence, *rows, forced)
        try:
            is_own = self._database.rows_at_once(_COMMIT, *values)
        except TwiceError as error:  # by a statement that was under way when its connection broke
            raise BrokenError(error.message) from error
        if not is_own:
            raise lease.lost()
        lease.renewed(at)

    def _is_written(self, rows: _Rows) -> bool:
        """Whether the last of these rows is in the database all the same."""
        numbers, heads, *_ = rows
        if numbers:
            return [*self._read("SELECT head FROM entry WHERE seq = ?", numbers[-1])] == [(heads[-1],)]
        return False  # contents may be written twice

    def _state(self) -> _State:
        """The new status, entry and lock of the run's row; None: unchanged."""
        status, started, lock = _UNCHANGED
        for _, entry, _ in self._added:
            if entry.kind in ("run", "session"):
                status = "running"
            elif entry.kind == "end":
                status = status_of(entry)
            if entry.kind == "run":
                started, lock = entry.path, digest.of_text(str(entry.data.get("lock", "")))
        return status, started, lock

    def _added_columns(self) -> _Rows:
        """The rows of the next commit, column by column."""
        rows = zip(self._uncommitted(), _WIDTHS, strict=True)
        return tuple([row[column] for row in some] for some, width in rows for column in range(width))

    def sibling(self, run: str) -> PostgresJournal | None:
        """The journal of another run in the database, read-only, if any.

        Raises:
            LlmdoError: No id of a run, or its journal is damaged.
        """
        journal = PostgresJournal(
            self.path.with_name(f"{require_id(run)}{self.path.suffix}"), run, self._database
        )
        if not is_made(self._database, run):
            return None
        journal.require_whole()
        return journal

    def copy_to(
        self,
        path: Path,
        added: Sequence[JournalEntry] = (),
        contents: Mapping[str, bytes] | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """As `JournalStore.copy_to`."""
        self.require_whole()
        tables = {name: self.table(name, columns) for name, columns in COLUMNS.items()}
        write_copy(path, lambda target: fill_tables(target, tables), added, contents, without_secrets)


def is_made(database: Database, run: str) -> bool:
    """Whether the run has a journal."""
    return bool(database.rows("SELECT 1 FROM llmdo.run WHERE run = %s AND status <> 'new'", run))


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
