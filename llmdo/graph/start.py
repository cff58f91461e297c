"""A start of an entry: an event, and the people who may cause it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import Codec
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.graph.keys import ValueOrigin

Starter = Literal["anyone", "perhaps anyone", "those who may write", "the owner"]
"""The people who may cause an event. `perhaps anyone`: behind a check whose outcome no file tells."""

STARTERS: tuple[Starter, ...] = ("the owner", "those who may write", "perhaps anyone", "anyone")
"""Each after those whom it includes."""
OUTSIDERS: tuple[Starter, ...] = STARTERS[2:]
"""Starters that may include a stranger."""


@dataclass(frozen=True, slots=True)
class Start:
    """An event that starts an entry without anybody's command."""

    event: str
    by: Starter
    at: Place = field(compare=False)
    """The place that names the event."""

    @property
    def is_open(self) -> bool:
        """Whether a stranger may cause it."""
        return self.by in OUTSIDERS


def _decoded(table: Mapping[str, Starter], origin: ValueOrigin) -> tuple[Start, ...]:
    document, route, _ = origin
    return tuple(
        Start(event, by, Place(document, (*route, event), of_key=True)) for event, by in sorted(table.items())
    )


STARTS = Codec(lambda starts: {start.event: start.by for start in starts}, _decoded)
"""Of the starts of an entry: each event has one kind of people."""


def fewer(*people: Starter) -> Starter:
    """The people who get past each of several checks."""
    return min(people, key=STARTERS.index)


def more(*people: Starter) -> Starter:
    """The people who get past one of several checks."""
    return max(people, key=STARTERS.index)


def events_by_starter(starts: Iterable[Start]) -> dict[Starter, list[str]]:
    """The events of each kind of people, sorted; the most people first."""
    by: dict[Starter, list[str]] = {}
    for start in sorted(starts, key=lambda start: (-STARTERS.index(start.by), start.event)):
        by.setdefault(start.by, []).append(start.event)
    return by
