"""What the runs of the past needed: all that their calls raised which were let through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.decided import decided_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.journal.ports import JournalStore
    from llmdo.policy.authority import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What calls raised."""

    raised: frozenset[Capability]
    asked: frozenset[Capability]
    """The part of it that somebody was asked about, and allowed."""


def needs(journals: Iterable[JournalStore], entry: str) -> Needs:
    """What the runs of `entry` among `journals` needed."""
    raised: set[Capability] = set()
    asked: set[Capability] = set()
    for journal in journals:
        first = next(journal.entries("run"), None)
        if first is None or first.path != entry:
            continue
        for entry_of_call in journal.entries("decision"):
            call = decided_in(entry_of_call.path, entry_of_call.data, {})
            if call.allowed:
                raised.update(call.raised)
                if call.decision == "needs_approval":
                    asked.update(call.raised)
    return Needs(raised=frozenset(raised), asked=frozenset(asked))
