"""Recorded calls under the rules of today: the decisions that would differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.decided import decided_in
from llmdo.journal.entries import lineage
from llmdo.policy.authority import decide
from llmdo.policy.composition import Base, Layer, authority_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.resolved import Graph
    from llmdo.journal.stored import JournalStore
    from llmdo.policy.authority import Authority
    from llmdo.policy.vocabulary import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A call with another decision now."""

    path: str
    tool: str
    before: Decision
    after: Decision
    reasons: tuple[str, ...]


def flips(journal: JournalStore, graph: Graph, entry: str) -> Iterator[Flip]:
    """The calls of a run on which the rules of `graph` decide otherwise than recorded.

    A call by a missing worker is blocked.
    """
    workers = {called.path: called.data["worker"] for called in journal.entries("call")}
    for recorded in journal.entries("decision"):
        call = decided_in(recorded.path, recorded.data, {})
        if call.by in ("policy", "lock"):
            continue  # not a matter of rules
        flip = partial(Flip, path=call.path, tool=call.tool, before=call.decision)
        authority = _authority(graph, entry, call.path.rpartition("/")[0], workers)
        if authority is None:
            yield flip(after="blocked", reasons=())
            continue
        verdict = decide(call.raised, call.declared, authority)
        if verdict.decision != call.decision and not call.asks:
            yield flip(after=verdict.decision, reasons=tuple(map(str, verdict.reasons)))


def _authority(graph: Graph, entry: str, path: str, workers: Mapping[str, str]) -> Authority | None:
    """The authority over the calls of the worker called at `path`; None if it no longer exists."""
    if entry not in graph.entries:
        return None
    callers = [workers[place] for place in reversed(list(lineage(path))) if place in workers]
    if not all(name in graph.workers for name in callers):
        return None
    layers = [Layer.of_worker(graph.workers[name]) for name in callers]
    return authority_of(Base.of(graph), Layer.of_entry(graph.entries[entry]), layers)
