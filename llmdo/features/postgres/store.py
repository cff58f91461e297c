"""One journal in the database: what is committed is there for all, and nobody commits without the lease of its run."""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.features.postgres.database import FORCED, BrokenError, TwiceError
from llmdo.features.postgres.pace import PostgresPace
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
"""All of a commit, or nothing where the lease is not this process's any more. `%b` sends a list as it is: as text, each
byte of a body would take two."""


_State = tuple["str | None", "str | None", "str | None"]
_UNCHANGED: _State = (None, None, None)
_Rows = tuple["list[Any]", ...]
_WIDTHS = (11, 3, 4)
"""How many columns a commit writes of entries, contents and secrets."""
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
        """Without `lease` it can be read alone; one of its `own` it gives back when it is closed.

        `note` is called with each last entry that is on the disk of the database.
        """
        super().__init__(path, heads)
        self._run, self._database = run, database
        self._lease, self._is_lease_own, self._note = lease, is_lease_own, note
        self.written = heads or Heads()
        """What others see, whether it is forced to disk or not."""
        self._forced = self.written
        self._sending = RLock()
        """Held by who writes or forces: another thread may force meanwhile."""
        self._unforced: list[_Rows] = []
        """What was written and not forced since: a server that fails at once has lost it."""
        self._there_at = 0.0
        """When that was not there yet: a connection that is older, and not broken, says that it still is."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self._run

    @property
    def is_shared(self) -> bool:
        """Whether processes of other machines may go on with the run: they may."""
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
        """Gives the run back, where nobody but this journal has it; what was not committed is lost."""
        if self._is_lease_own and self._lease is not None:
            self._lease.give_back()

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        runs = [self._run] * len(COLUMNS)
        yield from self._database.rows(f"WITH {_OWN} {query.replace('?', '%s')}", *runs, *values)

    def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is in the database and is kept so well.

        Raises:
            ClaimedError: Another process has taken over the run: nothing was written.
            JournalError: It cannot be written; nothing of it is, and what was there before still is.
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
        """Whether `wanted`, which was written, is not on the disk of the database yet."""
        return self._lease is not None and hold != "written" and not self._forced.cover(wanted)

    def force(self, hold: Hold) -> None:  # noqa: ARG002  # what is forced here cannot go missing by itself
        """Returns when all that was written is on the disk of the database.

        Raises:
            ClaimedError: Another process has taken over the run.
            JournalError: It cannot be forced.
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
        """Returns when these rows, and all that was written before, are in the database, whatever broke meanwhile."""
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
        """Whether the last of these rows of a commit is in the database all the same."""
        numbers, heads, *_ = rows
        if numbers:
            return [*self._read("SELECT head FROM entry WHERE seq = ?", numbers[-1])] == [(heads[-1],)]
        return False  # contents may be written twice

    def _state(self) -> _State:
        """What the run's row says from then on: how it stands, its entry, its lock; None: as before."""
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
        """What the next commit writes, column by column."""
        rows = zip(self._uncommitted(), _WIDTHS, strict=True)
        return tuple([row[column] for row in some] for some, width in rows for column in range(width))

    def sibling(self, run: str) -> PostgresJournal | None:
        """The journal of another run, to read, in the same database; None where it is not there.

        Raises:
            LlmdoError: It is not the id of a run, or its journal is damaged.
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
        """Writes a copy to a new file, as `JournalStore.copy_to` says."""
        self.require_whole()
        tables = {name: self.table(name, columns) for name, columns in COLUMNS.items()}
        write_copy(path, lambda target: fill_tables(target, tables), added, contents, without_secrets)


def is_made(database: Database, run: str) -> bool:
    """Whether the run of that id has a journal."""
    return bool(database.rows("SELECT 1 FROM llmdo.run WHERE run = %s AND status <> 'new'", run))
