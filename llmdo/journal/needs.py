"""What the runs of the past needed: all that their calls raised which were let through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.journal.store import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What calls raised."""

    raised: frozenset[Capability]
    asked: frozenset[Capability]
    """The part of it that somebody was asked about, and allowed."""


def needs(journals: Iterable[Journal], entry: str) -> Needs:
    """What the runs of `entry` among `journals` needed."""
    raised: set[Capability] = set()
    asked: set[Capability] = set()
    for journal in journals:
        first = next(journal.entries("run"), None)
        if first is None or first.path != entry:
            continue
        for one in journal.entries("decision"):
            said = one.data
            if said["allowed"]:
                found = set(map(Capability.parse, said["raised"]))
                raised |= found
                if said["decision"] == "needs_approval":
                    asked |= found
    return Needs(raised=frozenset(raised), asked=frozenset(asked))
