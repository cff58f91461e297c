"""Batches and their items, as stores keep them: one input each, its run, and what became of it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from llmdo.base.values import dataclass, fields
from llmdo.journal.naming import later_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.values import Json

State = Literal["queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused"]
"""`unsure`: a call was started and not finished, so that only a person can say how to go on; `refused`: what runs is
not what the item began with."""

STATES: tuple[State, ...] = (
    "queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused",
)  # fmt: skip

OPEN: tuple[State, ...] = ("queued", "running", "waiting", "unsure")
"""What rests on its run: that one says how the item goes on."""

ENDED: frozenset[State] = frozenset({"completed", "failed", "refused", "unsure"})
"""What has a row in the output."""

Retry = Literal["", "resume", "again", "give-up"]
"""How an item is taken once more, as a person decided: `resume` goes on although it failed; `again` and `give-up` say
what becomes of calls that did not finish. Empty: nobody decided anything."""


class Batch(NamedTuple):
    """A batch as a whole."""

    id: str
    entry: str
    lock: str
    """The digest of the lock of what its items run."""
    began: float
    """Seconds since 1970."""
    settings: dict[str, Any]
    """What its items are run with, as the command line said it."""


class BatchUsage(NamedTuple):
    """What the items of a batch have used."""

    requests: int
    tokens: int | None
    """None where none were measured."""
    cost_usd: float
    unpriced: int
    """Items that asked models of which no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that an item hands to its entry."""

    name: str
    """As it was given: a path of the workspace, or one that leads out of it."""
    digest: str
    """Of its content when the item was put in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item before it is in a batch."""

    key: str
    place: str
    """Where it stands, for a person: a file, or `FILE:LINE`."""
    input: str | None = None
    """None: the entry's own."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Name and content of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of an item when its run ended, or could not go on."""

    state: State
    output: Json = None
    """Plain data where the entry's output is typed, else text."""
    error: str | None = None
    hint: str | None = None
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    """None where no price is known."""
    out_of_quota: bool = False
    """Whether a provider's quota ended the run, which goes on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """An item as its batch has it."""

    number: int
    """From 1, in the order of the input."""
    key: str
    input: str | None
    files: tuple[InputFile, ...]
    first: str
    """The id of its first run, since it was put in."""
    state: State
    tries: int
    """How often it was taken."""
    retry: Retry
    result: Result
    """What is known so far."""
    attempt: int = 0
    """Which of its runs it is about: 0 is the first, and each after that was begun in the place of one before."""
    has_begun: bool = False
    """Whether that run may have begun, also where it has no journal any more."""
    is_behind: bool = False
    """Whether that run may have done more than its journal says, as the store was put back to an earlier state."""

    @property
    def run(self) -> str:
        """The id of its run."""
        return later_run(self.first, self.attempt)


BEHIND = "the store was put back to an earlier state, and what its run did after that is not in it"
"""What is said of an item whose run may have done more than its journal says."""
GO_ON_BEHIND = (
    "look, then `llmdo batch retry BATCH --unsure again` goes on from there, or `--unsure give-up` leaves it"
)

_COLUMNS = ("state", "requests", "cost_usd")
"""What of a result has a column of its own."""


def item_of(row: tuple[Any, ...]) -> BatchItem:
    """The item that a row of a store says, its columns in the order of `BatchItem`."""
    number, key, text, files, first, state, tries, retry, requests, cost, result, attempt, begun, behind = row
    return BatchItem(
        number=number,
        key=key,
        input=text if text is None or isinstance(text, str) else bytes(text).decode(),
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
    )


def tokens_of(result: Result) -> int | None:
    """The tokens that a result says were used; None where none were measured."""
    measured = [number for number in (result.input_tokens, result.output_tokens) if number is not None]
    return sum(measured) if measured else None


def kept_of(result: Result) -> str:
    """What a store keeps of a result beside its columns."""
    stored = {
        each.name: value
        for each in fields(Result)
        if each.name not in _COLUMNS and (value := getattr(result, each.name)) is not None
    }
    return json.dumps(stored)


def names_in(files: Iterable[InputFile]) -> str:
    """The files of an item as a store keeps them: their names and digests."""
    return json.dumps([[file.name, file.digest] for file in files])


def files_in(text: str) -> tuple[InputFile, ...]:
    """The files that `names_in` made a text of."""
    return tuple(InputFile(name=name, digest=digest) for name, digest in json.loads(text))
