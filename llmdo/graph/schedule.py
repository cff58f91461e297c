"""Schedules of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import PLAIN, REFERENCE, Key, written

if TYPE_CHECKING:
    from llmdo.graph.keys import Reference
    from llmdo.syntax.document import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """An entry that workers of a fleet start at certain times, once over all of them."""

    name: str
    at: Place = field(compare=False)
    entry: Reference = field(
        metadata=written(
            REFERENCE,
            file=Key("entry", "Name", "The entry that is started.", is_required=True),
            lock=Key("entry", "Name", "The entry that it starts.", is_required=True),
        )
    )
    cron: str = field(
        metadata=written(
            PLAIN,
            file=Key(
                "cron",
                "Text",
                "When, in UTC: minute, hour, day of month, month, day of week.",
                is_required=True,
            ),
            lock=Key("cron", "Text", "When, in UTC.", is_required=True),
        )
    )
    input: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key("input", "str", "What the entry is given; its own input where left out."),
            lock=Key("input", "str", "What the entry is given, where not its own input."),
            drift="its input changed",
        ),
    )
    catch_up_minutes: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "catch-up-minutes",
                "Positive",
                "For how long a time is made up for that passed while no worker looked.",
            ),
            lock=Key("catch-up-minutes", "Positive", "For how long a time that passed is made up for."),
            effect="amount",
            gives_nothing=True,
        ),
    )
