"""Batches and their items as stored, in a file for each batch or in a database: inputs, runs and results."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast

from llmdo.base.values import dataclass, field, fields
from llmdo.journal.naming import Named, first_run, later_run, match
from llmdo.journal.title import title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.values import Json

State = Literal["queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused"]
"""The states of an item.

`unsure`: a call was started and not finished, so a person has to decide. `refused`: the code is not the one that the
item began with.
"""

STATES: tuple[State, ...] = (
    "queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused",
)  # fmt: skip

OPEN: tuple[State, ...] = ("queued", "running", "waiting", "unsure")
"""The states of items whose run decides how they continue."""

ENDED: frozenset[State] = frozenset({"completed", "failed", "refused", "unsure"})
"""The states of items with a row in the output."""

Retry = Literal["", "resume", "again", "give-up"]
"""A person's decision on taking an item once more.

`resume` continues it although it failed; `again` and `give-up` say how to treat unfinished calls. Empty: no decision.
"""


class Batch(NamedTuple):
    """A batch as a whole."""

    id: str
    entry: str
    lock: str
    """The digest of its items' lock."""
    began: float
    """Seconds since 1970."""
    settings: dict[str, Any]
    """The run settings of its items, as the command line had them."""


class BatchUsage(NamedTuple):
    """The usage of the items of a batch."""

    requests: int
    tokens: int | None
    """None if none were measured."""
    cost_usd: float
    unpriced: int
    """Items that asked models without a known price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that an item passes to its entry."""

    name: str
    """As given: a path of the workspace, or one that leads out of it."""
    digest: str
    """Of its content when the item was added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item before it is in a batch."""

    key: str
    place: str
    """Its place, for a person: a file, or `FILE:LINE`."""
    input: str | None = None
    """None: the entry's own."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Name and content of each."""
    fields: Mapping[str, Json] = field(default_factory=dict)
    """Of its record, or of its file, from which its title is made."""
    title: str | None = None
    """None: made from its fields or its input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an item when its run ended, or could not be resumed."""

    state: State
    output: Json = None
    """Plain data if the entry's output is typed, else text."""
    error: str | None = None
    hint: str | None = None
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    """None if no price is known."""
    out_of_quota: bool = False
    """Whether a provider's quota ended the run, which can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """An item as its batch has it."""

    number: int
    """From 1, in the order of the input."""
    key: str
    input: str | None
    files: tuple[InputFile, ...]
    first: str
    """The id of its first run."""
    state: State
    tries: int
    """How often it was taken."""
    retry: Retry
    result: Result
    """The result so far."""
    attempt: int = 0
    """The number of its present run: 0 is the first, each later one a replacement."""
    has_begun: bool = False
    """Whether that run may have begun, even without a journal."""
    is_behind: bool = False
    """Whether that run may have done more than its journal says, as the store was put back."""
    titled: str | None = None
    """The text of its title; None: its input."""

    @property
    def run(self) -> str:
        """The id of its run."""
        return later_run(self.first, self.attempt)

    @property
    def title(self) -> str:
        """The title in one line; empty if there are no words to make one of."""
        return title_of(None, self.titled or self.input or "")


BEHIND = "the store was put back to an earlier state, and what its run did after that is not in it"
GO_ON_BEHIND = (
    "look, then `llmdo batch retry BATCH --unsure again` goes on from there, or `--unsure give-up` leaves it"
)

_OWN_COLUMNS = ("state", "requests", "cost_usd")
"""The fields of a result with own columns."""


def item_of(row: tuple[Any, ...]) -> BatchItem:
    """The item in a row, its columns in the order of `BatchItem`."""
    number, key, text, files, first, state, tries, retry, requests, cost, result, *rest = row
    attempt, begun, behind, titled = rest
    return BatchItem(
        number=number,
        key=key,
        input=_text(text),
        files=files_in(files),
        first=first,
        state=cast("State", state),
        tries=tries,
        retry=cast("Retry", retry),
        result=Result(
            state=state,
            requests=requests,
            cost_usd=None if cost is None else Decimal(cost),
            **json.loads(result),
        ),
        attempt=attempt,
        has_begun=bool(begun),
        is_behind=bool(behind),
        titled=_text(titled),
    )


def _text(stored: str | bytes | memoryview | None) -> str | None:
    return stored if stored is None or isinstance(stored, str) else bytes(stored).decode()


def tokens_of(result: Result) -> int | None:
    """The tokens used; None if none were measured."""
    measured = [number for number in (result.input_tokens, result.output_tokens) if number is not None]
    return sum(measured) if measured else None


def kept_of(result: Result) -> str:
    """The text of a result, without the fields with columns."""
    stored = {
        each.name: value
        for each in fields(Result)
        if each.name not in _OWN_COLUMNS and (value := getattr(result, each.name)) is not None
    }
    return json.dumps(stored)


def names_in(files: Iterable[InputFile]) -> str:
    """The names and digests of an item's files, as stored."""
    return json.dumps([[file.name, file.digest] for file in files])


def files_in(text: str) -> tuple[InputFile, ...]:
    """The files in a text made by `names_in`."""
    return tuple(InputFile(name=name, digest=digest) for name, digest in json.loads(text))


BATCHES = Named(
    "batch", "batches", "`llmdo batch list` lists them", "`llmdo batch ENTRY --inputs FILES` starts one"
)

_COLUMNS = "number, key, input, files, run, state, tries, retry, requests, cost, result, attempt, begun, behind, title"
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
) -> Iterator[tuple[int, str, str | None, str, str, str | None]]:
    """The number, key, input, files, run and title of each new item.

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
        yield number, item.key, item.input, names_in(files), run, item.title


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
