"""The needs of past runs: all capabilities that their allowed calls raised."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.decided import decided_in
from llmdo.journal.entries import lineage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.journal.stored import JournalStore
    from llmdo.policy.authority import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The capabilities that calls raised."""

    raised: frozenset[Capability]
    asked_about: frozenset[Capability]
    """The part of it that somebody was asked about, and allowed."""
    by_worker: Mapping[str, frozenset[Capability]]
    """The capabilities raised by each worker and the workers it called: its ceiling holds for them too."""
    reasons: frozenset[str]
    """The reasons for decisions, also for denials."""
    runs: int


def needs(journals: Iterable[JournalStore], entry: str) -> Needs:
    """The needs of the runs of `entry` among `journals`."""
    raised: set[Capability] = set()
    asked_about: set[Capability] = set()
    by_worker: defaultdict[str, set[Capability]] = defaultdict(set)
    reasons: set[str] = set()
    number = 0
    for journal in journals:
        first = next(journal.entries("run"), None)
        if first is None or first.path != entry:
            continue
        number += 1
        workers = {called.path: str(called.data["worker"]) for called in journal.entries("call")}
        for worker in workers.values():
            by_worker[worker].update()
        for entry_of_call in journal.entries("decision"):
            call = decided_in(entry_of_call.path, entry_of_call.data, {})
            reasons.update(call.reasons)
            if call.allowed:
                raised.update(call.raised)
                for path in lineage(call.path):
                    if path in workers and path != call.path:
                        by_worker[workers[path]].update(call.raised)
                if call.decision == "needs_approval":
                    asked_about.update(call.raised)
    return Needs(
        raised=frozenset(raised),
        asked_about=frozenset(asked_about),
        by_worker={worker: frozenset(used) for worker, used in by_worker.items()},
        reasons=frozenset(reasons),
        runs=number,
    )
