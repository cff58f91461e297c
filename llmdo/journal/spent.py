"""The limits used by earlier processes of a run, from its journal."""

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
    """The use before this process, unless answers from the journal count it again."""

    unanswered: Mapping[str, int]
    """By worker, the sent requests that no model answered."""
    tool_calls: frozenset[str]
    """The call paths of the allowed tool calls."""
    seconds: float
    """The time of processes at the run."""
    limits: Mapping[str, float]
    """Those set by a person while the run stood, by their names in the manifest; the last value of each."""


def spent(journal: JournalStore) -> Spent:
    """The use by all processes of the run so far."""
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
    """By worker, the sent requests that no model answered."""
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
    """The time of each process: from its beginning to its last entry, however it ended."""
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
