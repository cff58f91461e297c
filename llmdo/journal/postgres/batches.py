"""Batches in the database: several machines may work on one at the same time."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Self

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.journal.batches import BATCHES
from llmdo.journal.disk import private_folder
from llmdo.journal.entries import JournalError
from llmdo.journal.items import (
    OPEN,
    STATES,
    Batch,
    BatchUsage,
    InputFile,
    item_of,
    kept_of,
    names_in,
    tokens_of,
)
from llmdo.journal.naming import first_run, later_run, match
from llmdo.journal.postgres.database import FORCED, BrokenError, Database
from llmdo.journal.postgres.migrations import require_current
from llmdo.journal.postgres.runs import PLACE, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.journal.items import BatchItem, NewItem, Result, Retry, State
    from llmdo.journal.postgres.database import Statement

AT_ONCE = 1000  # items in one statement

_COLUMNS = (
    "number, key, input, files, run, state, tries, retry, requests, cost, result, attempt, begun, behind"
)

_UNFORCED = "set_config('synchronous_commit', 'off', true)"
"""What an item came to is in the journal of its run, so a commit is not forced to disk. Whoever takes one takes its run
next, which is forced, and that takes this with it."""

_TAKE = f"""
UPDATE llmdo.item SET state = 'running', tries = tries + 1 WHERE batch = %s AND number = (
  SELECT number FROM llmdo.item WHERE batch = %s AND state = 'queued' AND run = coalesce(%s, run)
  ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING {_COLUMNS}, {_UNFORCED}
"""  # noqa: S608  # constants
_END = f"""
UPDATE llmdo.item SET state = %s, retry = %s, requests = greatest(requests, %s), tokens = coalesce(%s, tokens),
  cost = coalesce(%s, cost), result = %s, behind = behind AND %s IN ('queued', 'unsure')
WHERE batch = %s AND number = %s AND state = 'running' AND tries = %s RETURNING {_COLUMNS}, {_UNFORCED}
"""  # noqa: S608  # constants
_ENDED = f"""
SELECT {_COLUMNS}, NULL FROM llmdo.item WHERE batch = %s AND number = %s AND tries = %s AND state = %s
"""  # noqa: S608  # constants
_QUEUE = f"""
UPDATE llmdo.item SET state = 'queued', retry = %s
WHERE batch = %s AND number = %s AND state = %s AND tries = %s RETURNING {_UNFORCED}
"""  # noqa: S608  # constants
_SPENT = """
SELECT coalesce(sum(requests + earlier_requests), 0)::bigint,
  sum(coalesce(tokens + earlier_tokens, tokens, earlier_tokens))::bigint,
  coalesce(sum(coalesce(cost, 0) + earlier_cost), 0)::float8,
  count(*) FILTER (WHERE cost IS NULL AND requests > 0 OR earlier_unpriced) FROM llmdo.item WHERE batch = %s
"""
_ANEW = f"""
UPDATE llmdo.item SET attempt = attempt + 1, earlier_requests = earlier_requests + requests,
  earlier_tokens = coalesce(tokens + earlier_tokens, tokens, earlier_tokens),
  earlier_cost = earlier_cost + coalesce(cost, 0), earlier_unpriced = earlier_unpriced OR cost IS NULL AND requests > 0,
  requests = 0, tokens = NULL, cost = NULL, result = '{{}}', begun = false, behind = false
WHERE batch = %s AND number = %s AND state = 'running' AND tries = %s RETURNING {_COLUMNS}
"""  # noqa: S608  # constants
_BEGUN = """
UPDATE llmdo.item SET begun = %s WHERE batch = %s AND number = %s AND state = 'running' AND tries = %s RETURNING begun
"""
"""Forced to disk: a server that fails at once must not forget it while its run goes on."""
_PUTTING_IN = "SELECT pg_advisory_xact_lock(1819045224, hashtext(%s))"
"""One process puts a batch in, or looks whether it is in, at a time."""
_PUT_IN = """
INSERT INTO llmdo.item (batch, number, key, input, files, run)
SELECT %s, a.* FROM unnest(%s::bigint[], %s::text[], %s::bytea[], %s::text[], %s::text[]) AS a
"""


@dataclass(frozen=True, slots=True)
class StoredBatches:
    """The batches of one workspace in its database."""

    root: Path
    """Of the workspace."""
    database: Database

    @classmethod
    def at(cls, root: Path, address: str) -> StoredBatches:
        """Those in the database at `address`.

        Raises:
            LlmdoError: The address is none, the database cannot be reached, or has other tables than are needed.
        """
        database = Database(address)
        require_current(database)
        return cls(root, database)

    def names(self) -> list[str]:
        """The ids of all, in the order in which they were put in."""
        return [name for (name,) in self.database.rows("SELECT batch FROM llmdo.batch ORDER BY number")]

    def find(self, reference: str) -> str:
        """The id that `reference` is, ends with or begins, where only one does; `last` is the latest.

        Raises:
            LlmdoError: None is, or several are.
        """
        return match(reference, self.names(), BATCHES)

    def of_run(self, run: str) -> str | None:
        """The batch that has an item with the run of that id; None where none has."""
        rows = self.database.rows("SELECT batch FROM llmdo.item WHERE run = %s", first_run(run))
        return rows[0][0] if rows else None

    def open_runs(self) -> frozenset[str]:
        """The runs that items rest on which are not over, of all batches."""
        rows = self.database.rows("SELECT run, attempt FROM llmdo.item WHERE state = ANY(%s)", list(OPEN))
        return frozenset(later_run(first, attempt) for first, attempt in rows)

    def unfinished(self) -> list[str]:
        """The batches with items that are queued or at work, in the order in which they were put in."""
        query = (
            "SELECT batch FROM llmdo.batch WHERE EXISTS (SELECT FROM llmdo.item WHERE item.batch = batch.batch "
            "AND state IN ('queued', 'running')) ORDER BY number"
        )
        return [name for (name,) in self.database.rows(query)]

    def create(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> StoredBatch:
        """The batch with all these items, or none at all; `new_run` gives an id that no run has.

        Raises:
            LlmdoError: It cannot be written, or an item cannot be put in.
        """
        try:
            self._put_in(batch, items, new_run)
        except BrokenError:  # nobody knows yet whether it was
            if not self.database.again(lambda: self._is_in(batch.id), lambda: None):
                raise
        return self.open(batch.id)

    def _put_in(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> None:
        with self.database.transaction() as carry_out:
            carry_out(f"SELECT set_config('synchronous_commit', {FORCED}, true)")
            carry_out(_PUTTING_IN, batch.id)
            carry_out(
                "INSERT INTO llmdo.batch (batch, entry, lock, began, settings) VALUES (%s, %s, %s, %s, %s)",
                *(batch.id, batch.entry, batch.lock, batch.began, json.dumps(batch.settings)),
            )
            rows: list[tuple[Any, ...]] = []
            for number, item in enumerate(items, 1):
                files = [_keep(carry_out, batch.id, name, content) for name, content in item.files]
                text = None if item.input is None else item.input.encode()
                rows.append((number, item.key, text, names_in(files), new_run()))
                if len(rows) == AT_ONCE:
                    carry_out(_PUT_IN, batch.id, *map(list, zip(*rows, strict=True)))
                    rows.clear()
            if rows:
                carry_out(_PUT_IN, batch.id, *map(list, zip(*rows, strict=True)))

    def _is_in(self, batch: str) -> bool:
        """Whether the batch of that id is there, once nobody puts it in any more."""
        with self.database.transaction() as carry_out:
            carry_out(_PUTTING_IN, batch)
            return bool(carry_out("SELECT 1 FROM llmdo.batch WHERE batch = %s", batch))

    def remove(self, batch: str) -> bool:
        """Removes the batch of that id, where none of its items is open; whether it did."""
        return bool(
            self.database.rows(
                "DELETE FROM llmdo.batch WHERE batch = %s AND NOT EXISTS "
                "(SELECT FROM llmdo.item WHERE item.batch = batch.batch AND state = ANY(%s)) RETURNING batch",
                *(batch, list(OPEN)),
            )
        )

    def sweep(self) -> None:
        """Nothing: a batch is put in as a whole or not at all."""

    def open(self, batch: str) -> StoredBatch:
        """The batch of that id.

        Raises:
            LlmdoError: It cannot be read.
        """
        if not self.database.rows("SELECT 1 FROM llmdo.batch WHERE batch = %s", batch):
            raise LlmdoError(f"the store {self.database.name} has no batch `{batch}`")
        return StoredBatch(self, batch)


def _keep(carry_out: Statement, batch: str, name: str, content: bytes) -> InputFile:
    """The file with this content, which is kept from then on."""
    file = InputFile(name=name, digest=sha256(content).hexdigest())
    carry_out(
        "INSERT INTO llmdo.file VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", batch, file.digest, content
    )
    return file


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """The items of one batch."""

    batches: StoredBatches
    id: str

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection, which is made anew where it is needed again."""
        self.batches.database.close()

    @property
    def batch(self) -> Batch:
        """The batch as a whole."""
        row = self._rows(
            "SELECT batch, entry, lock, began, settings FROM llmdo.batch WHERE batch = %s", self.id
        )[0]
        return Batch._make((*row[:4], json.loads(row[4])))

    def items(self, *states: State) -> Iterator[BatchItem]:
        """The items in these states, or all, in their order."""
        return map(
            _item,
            self._rows(
                f"SELECT {_COLUMNS} FROM llmdo.item WHERE batch = %s AND state = ANY(%s) ORDER BY number",  # noqa: S608
                *(self.id, list(states or STATES)),
            ),
        )

    def counts(self) -> dict[State, int]:
        """How many items there are in each state that has some."""
        return dict(
            self._rows("SELECT state, count(*) FROM llmdo.item WHERE batch = %s GROUP BY state", self.id)
        )

    def spent(self) -> BatchUsage:
        """What all runs of its items used, as far as they ended."""
        return BatchUsage(*self._rows(_SPENT, self.id)[0])

    def take(self, run: str | None = None) -> BatchItem | None:
        """The next item that is queued, or that of the run, which is running from now on; None where there is none."""
        rows = self._rows(_TAKE, self.id, self.id, run and first_run(run))
        return _item(rows[0][:-1]) if rows else None

    def end(self, item: BatchItem, result: Result) -> BatchItem | None:
        """An item that this process took, with what became of it; None where somebody else has taken or ended it.

        One that is queued again keeps what a person decided: its run only stopped on the way.
        """
        columns = (
            result.state,
            item.retry if result.state == "queued" else "",
            result.requests,
            tokens_of(result),
        )
        which = (self.id, item.number, item.tries)
        values = (*columns, result.cost_usd, kept_of(result), result.state, *which)
        database, is_sent_again = self.batches.database, False

        def send_again() -> None:
            nonlocal is_sent_again
            is_sent_again = True

        rows = database.again(lambda: database.rows_at_once(_END, *values), send_again)
        if not rows and is_sent_again:  # it may have been ended by the statement whose reply was lost
            rows = self._rows(_ENDED, *which, result.state)
        return _item(rows[0][:-1]) if rows else None

    def note_begun(self, item: BatchItem, *, has_begun: bool = True) -> bool:
        """Keeps whether the run of an item that this process took may have begun; whether it still has the item."""
        return bool(self._rows(_BEGUN, has_begun, self.id, item.number, item.tries))

    def begin_anew(self, item: BatchItem) -> BatchItem | None:
        """An item that this process took, with a run in the place of the one that it had; None where it lost it."""
        rows = self._rows(_ANEW, self.id, item.number, item.tries)
        return _item(rows[0]) if rows else None

    def queue(self, items: Iterable[BatchItem], retry: Retry = "") -> int:
        """Has items be taken once more, unless their state changed meanwhile; how many."""
        return sum(
            len(self._rows(_QUEUE, retry, self.id, item.number, item.state, item.tries)) for item in items
        )

    def cancel(self) -> int:
        """Takes what is queued or waits out of the batch; how many items that were."""
        return len(
            self._rows(
                "UPDATE llmdo.item SET state = 'cancelled' WHERE batch = %s AND state IN ('queued', 'waiting') "
                "RETURNING number",
                self.id,
            )
        )

    def rebind(self, lock: str) -> None:
        """Has what has not begun run with another lock."""
        self._rows("UPDATE llmdo.batch SET lock = %s WHERE batch = %s", lock, self.id)

    def keep(self, settings: Mapping[str, Any]) -> None:
        """Has its items run with these settings from now on."""
        self._rows("UPDATE llmdo.batch SET settings = %s WHERE batch = %s", json.dumps(settings), self.id)

    def path_of(self, file: InputFile) -> Path:
        """Where the content of a file lies on this machine, brought there once; it has its name, which says its kind.

        Raises:
            JournalError: It cannot be written, or is not what was put in.
        """
        names = (*PLACE, folder_of(self.batches.database), "files", self.id, file.digest[:16])
        path = self.batches.root.joinpath(*names, Path(file.name).name)
        with suppress(OSError):
            if sha256(path.read_bytes()).hexdigest() == file.digest:
                return path
        rows = self._rows(
            "SELECT bytes FROM llmdo.file WHERE batch = %s AND digest = %s", self.id, file.digest
        )
        if not rows or sha256(rows[0][0]).hexdigest() != file.digest:
            raise JournalError(f"the store {self.batches.database.name} no longer has `{file.name}`")
        try:
            folder = private_folder(self.batches.root, names)
            with NamedTemporaryFile(dir=folder, delete=False) as written:  # several processes may write it
                written.write(rows[0][0])
            Path(written.name).replace(path)
        except OSError as error:
            raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
        return path

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.batches.database.rows(query, *values)


def _item(row: tuple[Any, ...]) -> BatchItem:
    number, key, text, *rest = row
    return item_of((number, key, None if text is None else bytes(text).decode(), *rest))
