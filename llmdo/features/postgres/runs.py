"""The index of the runs in one database, for one workspace on all its machines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.features.postgres.database import BrokenError, Database
from llmdo.features.postgres.lease import SECONDS, Lease, claimed, is_held
from llmdo.features.postgres.migrations import require_current
from llmdo.features.postgres.seen import SeenEntries
from llmdo.features.postgres.store import PostgresJournal, is_made
from llmdo.journal import read_journal
from llmdo.journal.eligibility import end_process, status_of
from llmdo.journal.entries import Heads, JournalError
from llmdo.journal.naming import require_id
from llmdo.journal.shares import share_of
from llmdo.journal.stored import COLUMNS, RunIndex
from llmdo.journal.summary import ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from llmdo.features.postgres.database import Statement
    from llmdo.journal.audit import Link
    from llmdo.journal.shares import ConversationShares, Share
    from llmdo.journal.stored import Result, Taker

_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('llmdo conversation ' || %s, 0))"
_OF_CONVERSATION = "SELECT run, conversation, reserved, counted FROM llmdo.share WHERE conversation = %s"
_LACKING = """
SELECT run FROM llmdo.run WHERE entry = %s AND NOT EXISTS (SELECT FROM llmdo.share WHERE share.run = run.run)
"""
_PUT = """
INSERT INTO llmdo.share (run, conversation, reserved, counted)
SELECT run, %s, %s, %s FROM llmdo.run WHERE run = %s AND (%s::bigint IS NULL OR epoch = %s AND owner = %s)
ON CONFLICT (run) DO UPDATE SET conversation = excluded.conversation, reserved = excluded.reserved,
  counted = excluded.counted
RETURNING run
"""


class PostgresShares:
    """The shares of one conversation, in a transaction that holds its lock."""

    def __init__(self, execute: Statement, conversation: str, leases: Mapping[str, Lease]) -> None:
        self._carry_out, self._conversation, self._leases = execute, conversation, leases

    def of_conversation(self) -> list[Share]:
        """Those of the conversation's runs with a journal."""
        return [share_of(*row) for row in self._carry_out(_OF_CONVERSATION, self._conversation)]

    def lacking(self, entry: str) -> list[str]:
        """The runs of that entry without a share."""
        return [run for (run,) in self._carry_out(_LACKING, entry)]

    def put(self, share: Share) -> None:
        """Keeps a share in place of its run's earlier one.

        Raises:
            ClaimedError: This process had the run, and another one has taken it over.
        """
        run, *rest = share.row
        lease = self._leases.get(run)
        fence = (None, None) if lease is None or lease.is_over else lease.fence[1:]
        if not self._carry_out(_PUT, *rest, run, fence[0], *fence) and lease is not None:
            raise lease.lost()


def sharing(
    database: Database,
    conversation: str,
    leases: Mapping[str, Lease],
    work: Callable[[ConversationShares], Result],
) -> Result:
    """The result of `work`, with exclusive access to the conversation's shares.

    `leases` are those of this process, by their runs.

    Raises:
        JournalError: Cannot be read or written.
    """

    def once() -> Result:
        with database.transaction() as execute:
            execute(_ALONE, conversation)
            return work(PostgresShares(execute, conversation, leases))

    return database.again(once, lambda: None)


PLACE = (".llmdo", "stores")
SUFFIX = ".journal"
_AT_ONCE = 500  # runs that one statement removes

_NAMES = "SELECT run FROM llmdo.run WHERE status <> 'new' ORDER BY number"
_UNBEGUN = """
SELECT run FROM llmdo.run WHERE status = 'queued' AND (owner IS NULL OR until < clock_timestamp())
  AND NOT EXISTS (SELECT FROM llmdo.entry WHERE entry.run = run.run AND kind = 'run') ORDER BY number
"""
_NOTE = "UPDATE llmdo.run SET number = DEFAULT WHERE run = %s"
_MAKE = """
UPDATE llmdo.run SET status = 'queued', batch = coalesce((SELECT batch FROM llmdo.item
  WHERE item.run = split_part(run.run, '.', 1)), '')
WHERE run = %s AND epoch = %s AND owner = %s AND status = 'new' RETURNING run
"""
_IS_MADE = """
SELECT run FROM llmdo.run WHERE run = %s AND epoch = %s AND owner = %s AND status = 'queued'
  AND NOT EXISTS (SELECT FROM llmdo.entry WHERE entry.run = run.run)
"""
_STATE = "UPDATE llmdo.run SET status = %s, entry = %s WHERE run = %s"
_REMOVE = """
WITH free AS (
  SELECT run FROM llmdo.run WHERE run = ANY(%s) AND (owner IS NULL OR until < clock_timestamp()) FOR UPDATE
), removed AS (DELETE FROM llmdo.run USING free WHERE run.run = free.run RETURNING run.run)
INSERT INTO llmdo.removed SELECT run, clock_timestamp() FROM removed
ON CONFLICT (run) DO UPDATE SET at = excluded.at RETURNING run
"""
_THERE = "SELECT run FROM llmdo.run WHERE run = ANY(%s)"
_DISCARD = """
WITH removed AS (DELETE FROM llmdo.run WHERE run = %s AND epoch = %s AND owner = %s RETURNING run)
INSERT INTO llmdo.removed SELECT run, clock_timestamp() FROM removed
ON CONFLICT (run) DO UPDATE SET at = excluded.at RETURNING run
"""


def folder_of(database: Database) -> str:
    """The name of a store's own folder on this machine."""
    return digest.of_text(database.place).rpartition(":")[2][:16]


class PostgresRuns(RunIndex):
    """The runs of one workspace, with journals in a database."""

    _suffix = SUFFIX

    def __init__(
        self,
        root: Path,
        address: str,
        *,
        seconds: float = SECONDS,
        end: Callable[[str], None] = end_process,
    ) -> None:
        """`seconds` is the length of a lease; `end` ends a process that could not renew its own.

        Raises:
            LlmdoError: The address is invalid, or the database unreachable or without the tables.
        """
        self.root = root
        self._database = Database(address)
        self._place = (*PLACE, folder_of(self._database))
        require_current(self._database)
        renewing = Database(address, is_renewing=True)
        self._take = partial(Lease, self._database, seconds=seconds, end=end, renewing=renewing)
        self._leases: dict[str, Lease] = {}
        self._seen = SeenEntries(self.folder, self._database)
        self._generation = 0

    @property
    def title(self) -> str:
        """Their location, in words for messages."""
        return f"the store {self._database.name}"

    def names(self) -> list[str]:
        """The ids of the runs in the order of their arrival."""
        return [name for (name,) in self._database.rows(_NAMES)]

    def has(self, run: str) -> bool:
        """Whether the run has a journal."""
        return is_made(self._database, run)

    def note(self, run: str) -> None:
        """Puts the run at the end."""
        self._database.rows(_NOTE, run)

    def _may_be_last(self, run: str) -> bool:
        return self.read(run).last("run") is not None

    def unbegun(self) -> list[str]:
        """The journals without a run: the process that made each was killed."""
        return [name for (name,) in self._database.rows(_UNBEGUN)]

    def create(self, run: str) -> PostgresJournal:
        """A new journal for the run.

        Raises:
            JournalError: Cannot be made, or there is one.
        """
        self.prepare()
        path = self.path(run)
        lease, is_own = self._lease(run)
        if not self._made(lease):
            if is_own:
                lease.give_back()
            raise JournalError(f"there is a journal of run `{run}` already, or another process makes it")
        return self._indexed(
            PostgresJournal(
                path, run, self._database, lease=lease, heads=Heads(), is_lease_own=is_own, note=self._note
            )
        )

    def _made(self, lease: Lease) -> bool:
        """Whether the run of this lease has a new journal now."""
        try:
            return bool(self._database.rows_at_once(_MAKE, *lease.fence))
        except BrokenError:  # it may have been made
            made = self._database.rows(_MAKE, *lease.fence) or self._database.rows(_IS_MADE, *lease.fence)
            return bool(made)

    def adopt(self, run: str, file: Path) -> None:
        """Adopts the exported run in `file` under the id `run`, as the last run.

        Raises:
            JournalError: Cannot be kept, or there is such a run.
        """
        with self.claim(run) as lease, read_journal(file) as journal:
            last, first = ending(journal), journal.last("run")
            status = status_of(last) if last is not None else "queued"
            with self._database.transaction() as execute:
                if not execute(_MAKE, *lease.fence):
                    raise JournalError(f"there is a journal of run `{run}` already")
                execute(_STATE, status, "" if first is None else first.path, run)
                for name, columns in COLUMNS.items():
                    marks = ", %s" * len(columns.split(","))
                    statement = f"INSERT INTO llmdo.{name} (run, {columns}) VALUES (%s{marks})"  # noqa: S608  # constants
                    for row in journal.table(name, columns):
                        execute(statement, run, *row)

    def open(self, run: str) -> PostgresJournal:
        """The journal of that run, writable.

        Raises:
            JournalError: None exists, it is damaged, or another process works on the run.
        """
        lease, is_own = self._lease(run)
        try:
            with self.read(run, whole=True) as seen:
                heads = Heads(seen.entry_link, seen.kept_link)
        except JournalError:
            if is_own:
                lease.give_back()
            raise
        path = self.path(run)
        return self._indexed(
            PostgresJournal(
                path, run, self._database, lease=lease, heads=heads, is_lease_own=is_own, note=self._note
            )
        )

    def _note(self, run: str, last: Link) -> None:
        if not self.folder.is_dir():
            self.prepare()
        self._seen.note(run, last, self._generation)

    def read(self, run: str, *, whole: bool = False) -> PostgresJournal:
        """That journal, read-only; `whole` first checks its chains.

        Raises:
            JournalError: None exists, or it is damaged.
        """
        journal = self._indexed(PostgresJournal(self.path(run), run, self._database))
        if not self.has(run):
            raise JournalError(f"the store {self._database.name} has no journal of run `{run}`")
        if whole:
            journal.require_whole()
        return journal

    def claim(self, run: str, by: Taker = "person") -> Lease:
        """The right to work on that run, renewed until it is given back.

        Raises:
            ClaimedError: Another process has it.
            NotOpenError: For a worker: the run is over or waits for a person.
            PutBackError: The store is an earlier one than this machine saw.
        """
        self._generation = self._seen.require_kept()
        lease = self._leases[run] = self._take(require_id(run), by)
        return lease

    def _lease(self, run: str) -> tuple[Lease, bool]:
        """This process's lease of the run, or a new one, and whether it is new."""
        held = self._leases.get(run)
        if held is not None and not held.is_over:
            return held, False
        return self._take(require_id(run)), True

    def is_claimed(self, run: str) -> bool:
        """Whether a process works on that run."""
        return is_held(self._database, run)

    def sharing(self, conversation: str, work: Callable[[ConversationShares], Result]) -> Result:
        """The result of `work`, with exclusive access to the conversation's shares.

        Raises:
            JournalError: Cannot be read or written.
        """
        return sharing(self._database, conversation, self._leases, work)

    def remove_all(self, runs: Iterable[str]) -> None:
        """Removes several runs, and this machine's leftovers of removed runs.

        Raises:
            JournalError: A process works on one, or something cannot be removed.
        """
        self._seen.require_kept()
        names = [*runs]
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            self._database.rows(_REMOVE, some)
            for (run,) in self._database.rows(_THERE, some):
                raise claimed(self._database, run)
        files = self._files()
        there = {run for (run,) in self._database.rows(_THERE, [*files])}
        for run in files.keys() - there:
            self._unlink_left(run, files[run])

    def discard(self, run: str) -> None:
        """Removes that run for the process that works on it.

        Raises:
            JournalError: Cannot be removed, or another process has taken it over.
        """
        lease, _ = self._lease(run)
        if not self._database.rows(_DISCARD, *lease.fence) and self.has(run):
            raise lease.lost()
        self._unlink(run, self._files().get(run, ()))
