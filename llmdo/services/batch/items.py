"""An item of a batch: one input, its run, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from decimal import Decimal

    from llmdo.base.values import Json

State = Literal["queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused"]
"""`unsure`: a call was started and not finished, so that only a person can say how to go on; `refused`: what runs is
not what the item began with."""

STATES: tuple[State, ...] = (
    "queued", "running", "waiting", "unsure", "completed", "failed", "cancelled", "refused",
)  # fmt: skip

ENDED: frozenset[State] = frozenset({"completed", "failed", "refused", "unsure"})
"""What has a row in the output."""

Word = Literal["", "go-on", "again", "give-up"]
"""What a person said about an item that is taken once more: to go on although it failed, and what becomes of calls that
did not finish."""


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
    run: str
    """The id of its run, since it was put in."""
    state: State
    tries: int
    """How often it was taken."""
    word: Word
    result: Result
    """What is known so far."""
