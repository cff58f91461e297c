"""The batches of a workspace and their items, in files of one batch each or in a database.

An item's run and journal tell its progress; a batch its items, their takers and results. So losses of a batch lead to
no repeated work.

Each statement is written once, for PostgreSQL, but with named values: `:state`. A store executes it with `_rows`. One
of files leaves out the parts that a file lacks: the schema, the column of the batch, `behind` and locks.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from llmdo.journal.items import (
    STATES,
    Batch,
    BatchUsage,
    InputFile,
    item_of,
    kept_of,
    names_in,
    tokens_of,
)
from llmdo.journal.naming import Named, first_run, match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from llmdo.journal.items import BatchItem, NewItem, Result, Retry, State

BATCHES = Named("batch", "batches", "`llmdo batch list` lists them", "there is none in this workspace")

_COLUMNS = (
    "number, key, input, files, run, state, tries, retry, requests, cost, result, attempt, begun, behind"
)
_HELD = "batch = :batch AND number = :number AND state = 'running' AND tries = :tries"
"""The item, unless somebody else has taken or ended it."""

_BATCH = "SELECT entry, lock, began, settings FROM llmdo.batch WHERE batch = :batch"
_ITEMS = f"SELECT {_COLUMNS} FROM llmdo.item WHERE batch = :batch AND state IN ({{}}) ORDER BY number"  # noqa: S608  # constants
_COUNTS = "SELECT state, count(*) FROM llmdo.item WHERE batch = :batch GROUP BY state"
_SPENT = """
SELECT CAST(coalesce(sum(requests + earlier_requests), 0) AS bigint),
  CAST(sum(coalesce(tokens + earlier_tokens, tokens, earlier_tokens)) AS bigint),
  CAST(coalesce(sum(coalesce(cost, 0) + earlier_cost), 0) AS double precision),
  count(*) FILTER (WHERE cost IS NULL AND requests > 0 OR earlier_unpriced)
FROM llmdo.item WHERE batch = :batch
"""
_TAKE = f"""
UPDATE llmdo.item SET state = 'running', tries = tries + 1 WHERE batch = :batch AND number = (
  SELECT number FROM llmdo.item WHERE batch = :batch AND state = 'queued' AND run = coalesce(:run, run)
  ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING {_COLUMNS}
"""  # noqa: S608  # constants
_END = f"""
UPDATE llmdo.item SET state = :state, retry = :retry, tokens = coalesce(:tokens, tokens),
  requests = CASE WHEN requests > :requests THEN requests ELSE :requests END,
  cost = coalesce(:cost, cost), result = :result, behind = behind AND :state IN ('queued', 'unsure')
WHERE {_HELD} RETURNING {_COLUMNS}
"""  # noqa: S608  # constants
_ENDED = f"""
SELECT {_COLUMNS} FROM llmdo.item
WHERE batch = :batch AND number = :number AND tries = :tries AND state = :state
"""  # noqa: S608  # constants
_QUEUE = """
UPDATE llmdo.item SET state = 'queued', retry = :retry
WHERE batch = :batch AND number = :number AND state = :state AND tries = :tries RETURNING number
"""
_BEGUN = f"UPDATE llmdo.item SET begun = :begun WHERE {_HELD} RETURNING number"  # noqa: S608  # constants
_ANEW = f"""
UPDATE llmdo.item SET attempt = attempt + 1, earlier_requests = earlier_requests + requests,
  earlier_tokens = coalesce(tokens + earlier_tokens, tokens, earlier_tokens),
  earlier_cost = earlier_cost + coalesce(cost, 0),
  earlier_unpriced = earlier_unpriced OR cost IS NULL AND requests > 0,
  requests = 0, tokens = NULL, cost = NULL, result = '{{}}', begun = false, behind = false
WHERE {_HELD} RETURNING {_COLUMNS}
"""  # noqa: S608  # constants
_CANCEL = """
UPDATE llmdo.item SET state = 'cancelled' WHERE batch = :batch AND state IN ('queued', 'waiting') RETURNING number
"""
_REBIND = "UPDATE llmdo.batch SET lock = :lock WHERE batch = :batch"
_KEEP = "UPDATE llmdo.batch SET settings = :settings WHERE batch = :batch"


class BatchStore(ABC):
    """The items of one batch. Several processes, and machines if the store allows, may share it."""

    id: str

    @abstractmethod
    def _rows(
        self, query: str, *, is_forced: bool = True, otherwise: str = "", **values: object
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement; if it `is_forced`, it is on the server's disk at once.

        If it was sent again after a lost reply and finds nothing, the rows are those of `otherwise`.

        Raises:
            LlmdoError: Cannot be executed.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes it."""

    @abstractmethod
    def path_of(self, file: InputFile) -> Path:
        """The local path of a file's content, under its name, which tells its type.

        Raises:
            LlmdoError: Cannot be brought there.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def batch(self) -> Batch:
        """The batch as a whole."""
        ((entry, lock, began, settings),) = self._rows(_BATCH)
        return Batch(self.id, entry, lock, began, json.loads(settings))

    def items(self, *states: State) -> Iterator[BatchItem]:
        """The items in these states, or all, in their order."""
        names = ", ".join(f"'{state}'" for state in states or STATES)
        return map(item_of, self._rows(_ITEMS.format(names)))

    def counts(self) -> dict[State, int]:
        """The number of items in each non-empty state."""
        return dict(self._rows(_COUNTS))

    def spent(self) -> BatchUsage:
        """The usage of all ended runs of its items."""
        return BatchUsage(*self._rows(_SPENT)[0])

    def take(self, run: str | None = None) -> BatchItem | None:
        """The next queued item, running from now on, if any; with `run`, the item of that run."""
        # Whoever takes an item takes its run next, which is forced to disk, and that takes this with it.
        return _only(self._rows(_TAKE, is_forced=False, run=run and first_run(run)))

    def end(self, item: BatchItem, result: Result) -> BatchItem | None:
        """An item that this process took, with its result; None if somebody else has taken or ended it.

        Earlier usage stays if this result has none. A queued item keeps a person's decision: its run only stopped on
        the way.
        """
        return _only(
            self._rows(
                _END,
                is_forced=False,  # what an item came to is in the journal of its run
                otherwise=_ENDED,
                number=item.number,
                tries=item.tries,
                state=result.state,
                retry=item.retry if result.state == "queued" else "",
                requests=result.requests,
                tokens=tokens_of(result),
                cost=None if result.cost_usd is None else str(result.cost_usd),
                result=kept_of(result),
            )
        )

    def queue(self, items: Iterable[BatchItem], retry: Retry = "") -> int:
        """Queues items again, unless their state changed meanwhile; their number."""
        return sum(
            len(
                self._rows(
                    _QUEUE,
                    is_forced=False,
                    retry=retry,
                    number=item.number,
                    state=item.state,
                    tries=item.tries,
                )
            )
            for item in items
        )

    def note_begun(self, item: BatchItem, *, has_begun: bool = True) -> bool:
        """Keeps whether the run of this process's item may have begun; whether it still has the item.

        Kept before the run's first entry, so that a missing journal never looks like a run that did not begin.
        """
        return bool(self._rows(_BEGUN, begun=has_begun, number=item.number, tries=item.tries))

    def begin_anew(self, item: BatchItem) -> BatchItem | None:
        """This process's item, with a new run in place of its earlier one.

        None if somebody else has taken it. The earlier usage stays on the batch's account.
        """
        return _only(self._rows(_ANEW, number=item.number, tries=item.tries))

    def cancel(self) -> int:
        """Cancels queued and waiting items; their number."""
        return len(self._rows(_CANCEL))

    def rebind(self, lock: str) -> None:
        """Changes the lock of the items that have not begun."""
        self._rows(_REBIND, lock=lock)

    def keep(self, settings: Mapping[str, Any]) -> None:
        """Changes the settings of its items from now on."""
        self._rows(_KEEP, settings=json.dumps(settings))


def _only(rows: list[tuple[Any, ...]]) -> BatchItem | None:
    return item_of(rows[0]) if rows else None


def new_rows(
    items: Iterable[NewItem], keep: Callable[[InputFile, bytes], None], new_run: Callable[[], str]
) -> Iterator[tuple[int, str, str | None, str, str]]:
    """The number, key, input, files and run of each new item.

    `keep` gets each file with its content; `new_run` gives an unused id.
    """
    runs: set[str] = set()
    for number, item in enumerate(items, 1):
        files = []
        for name, content in item.files:
            files.append(InputFile(name=name, digest=sha256(content).hexdigest()))
            keep(files[-1], content)
        while (run := new_run()) in runs:
            pass
        runs.add(run)
        yield number, item.key, item.input, names_in(files), run


class Batches(ABC):
    """The batches of one workspace."""

    @abstractmethod
    def names(self) -> list[str]:
        """The ids of all, in order of creation."""

    def find(self, reference: str) -> str:
        """The one id that `reference` is, ends with or begins; `last` is the latest.

        Raises:
            LlmdoError: None or several match.
        """
        return match(reference, self.names(), BATCHES)

    @abstractmethod
    def of_run(self, run: str) -> str | None:
        """The batch with an item of that run, if any."""

    @abstractmethod
    def open_runs(self) -> frozenset[str]:
        """The unfinished runs of all items; the end of each other run is on disk.

        Raises:
            LlmdoError: A batch cannot be read.
        """

    @abstractmethod
    def unfinished(self) -> list[str]:
        """The batches with queued or running items, in order of creation."""

    @abstractmethod
    def create(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> BatchStore:
        """The batch with all these items, or none; `new_run` gives an unused id.

        Raises:
            LlmdoError: Cannot be written, or an item is unfit.
        """

    @abstractmethod
    def remove(self, batch: str) -> bool:
        """Removes that batch unless an item is open; whether it did.

        Raises:
            LlmdoError: Cannot be removed.
        """

    @abstractmethod
    def sweep(self) -> None:
        """Removes leftovers, a day old or older, of processes killed while creating a batch."""

    @abstractmethod
    def open(self, batch: str) -> BatchStore:
        """The batch of that id.

        Raises:
            LlmdoError: Cannot be read.
        """
