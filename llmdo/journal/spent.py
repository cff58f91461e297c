"""What earlier processes spent of the limits of a run, from what its journal holds of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.entries import HANDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.journal.stored import JournalStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent before this process, as far as nothing that is served from the journal counts it again."""

    unanswered: Mapping[str, int]
    """By worker, the requests that were sent and that no model answered."""
    tool_calls: frozenset[str]
    """The call paths of the tool calls that were let through."""
    seconds: float
    """In which a process worked at the run."""
    limits: Mapping[str, float]
    """Those that a person has set while the run stood, by their names in the manifest; the last word on each."""


def spent(journal: JournalStore) -> Spent:
    """What the processes spent that worked at the run so far."""
    limits: dict[str, float] = {}
    for entry in journal.entries("session"):
        limits.update(entry.data["limits"])
    return Spent(
        unanswered=unanswered(journal),
        tool_calls=frozenset(
            entry.path
            for entry in journal.entries("decision")
            if entry.outcome == "allowed" and not entry.path.endswith(HANDED)
        ),
        seconds=sum(_seconds(journal)),
        limits=limits,
    )


def unanswered(journal: JournalStore) -> dict[str, int]:
    """By worker, the requests that were sent and that no model answered."""
    sent: Counter[str] = Counter()
    for entry in journal.entries("sent", "request", "attempt"):
        if entry.kind == "sent":
            sent[entry.path] += 1
        elif entry.kind == "request" or not entry.data["sent"]:
            sent[entry.path] -= 1
    lost: Counter[str] = Counter()
    for path, number in sent.items():
        lost[path.rpartition("/")[2].partition("#")[0]] += max(0, number)
    return {worker: number for worker, number in lost.items() if number}


def _seconds(journal: JournalStore) -> Iterator[float]:
    """The time of each process: from its beginning to the last that it added, however it ended."""
    began = last = None
    for entry in journal.entries():
        if entry.kind in ("answered", "sources") and began is None:
            continue  # added between two processes
        if entry.kind == "session":
            if began is not None and last is not None:
                yield max(0.0, last - began)
            began = entry.at
        last = entry.at
        if entry.kind == "end" and began is not None:
            yield max(0.0, last - began)
            began = None
    if began is not None and last is not None:
        yield max(0.0, last - began)
