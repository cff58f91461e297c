"""Batches and their items as stored: one input each, its run, and its result."""

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

    @property
    def run(self) -> str:
        """The id of its run."""
        return later_run(self.first, self.attempt)


BEHIND = "the store was put back to an earlier state, and what its run did after that is not in it"
GO_ON_BEHIND = (
    "look, then `llmdo batch retry BATCH --unsure again` goes on from there, or `--unsure give-up` leaves it"
)

_COLUMNS = ("state", "requests", "cost_usd")
"""The fields of a result with own columns."""


def item_of(row: tuple[Any, ...]) -> BatchItem:
    """The item in a row, its columns in the order of `BatchItem`."""
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
    """The tokens used; None if none were measured."""
    measured = [number for number in (result.input_tokens, result.output_tokens) if number is not None]
    return sum(measured) if measured else None


def kept_of(result: Result) -> str:
    """The text of a result, without the fields with columns."""
    stored = {
        each.name: value
        for each in fields(Result)
        if each.name not in _COLUMNS and (value := getattr(result, each.name)) is not None
    }
    return json.dumps(stored)


def names_in(files: Iterable[InputFile]) -> str:
    """The names and digests of an item's files, as stored."""
    return json.dumps([[file.name, file.digest] for file in files])


def files_in(text: str) -> tuple[InputFile, ...]:
    """The files in a text made by `names_in`."""
    return tuple(InputFile(name=name, digest=digest) for name, digest in json.loads(text))
