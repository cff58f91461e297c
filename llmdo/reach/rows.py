"""What reach is made of: rows, each with a path, and which of two ways to the same row is the better."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.authority import STRICTNESS, scope_contains, scope_order
from llmdo.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.authority import Capability, Decision, Reason
    from llmdo.graph import Reference, Use
    from llmdo.shapes import Assurance

ASSURANCES: tuple[Assurance, ...] = ("enforced", "declared", "open")
"""From the strongest to the weakest."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: a worker called, or at the end the toolset used."""

    name: str
    use: Use | Reference | None = field(compare=False)
    """Where the caller names it; None for what the entry itself starts."""
    decision: Decision = "allowed"
    """About the call of this worker or tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One capability and scope that some call path from an entry can raise."""

    capability: Capability
    elsewhere: bool
    """Whether the scope stands for what is left of it beside the narrower scopes of other rows."""
    decision: Decision
    """On `path`, gates of the delegations included."""
    path: tuple[Hop, ...]
    """A shortest one, ties by name, on which nothing is blocked; where all are blocked, a shortest one."""
    tool: str
    """The tool that raises it, of the toolset that `path` ends in; for a delegation, the delegate itself."""
    reasons: tuple[Reason, ...]
    """Why the last call of `path` is decided so."""
    free: tuple[Hop, ...] | None
    """A shortest path on which nothing asks; None where every path has a gate."""
    assurance: Assurance
    """The weakest of all tools that raise it."""
    implied: bool = False
    """Whether no tool declares it by this name, but something wider, and a rule or a ceiling names it."""

    @property
    def mildest(self) -> Decision:
        """The decision on the mildest path."""
        return "allowed" if self.free is not None else self.decision


def telling(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows without those that are implied and no milder than a wider row."""
    for row in rows:
        strict = STRICTNESS[row.mildest]
        wider = (one for one in rows if one is not row and one.capability.contains(row.capability))
        if not row.implied or all(STRICTNESS[one.mildest] > strict for one in wider):
            yield row


def with_rows(rows: Iterable[Row], more: Iterable[Row]) -> list[Row]:
    """The rows of both, sorted, one for each capability."""
    found: dict[Capability, Row] = {}
    for row in (*rows, *more):
        known = found.get(row.capability)
        found[row.capability] = joined(known, row) if known else row
    return sorted(found.values(), key=lambda row: str(row.capability))


def narrowed(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows whose scope holds that of another one of the same name."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.capability.name, []).append(row)
    for alike in by_name.values():
        for wide, narrow in pairwise(sorted(alike, key=lambda row: scope_order(row.capability.scope))):
            if scope_contains(wide.capability.scope, narrow.capability.scope):
                yield wide


def joined(one: Row, other: Row) -> Row:
    """Of two ways to the same row: the shorter path that is not blocked, the shorter free one, the weaker assurance."""
    first, second = sorted((one, other), key=_preference)
    free = min((row.free for row in (one, other) if row.free is not None), key=length, default=None)
    return replace(first, free=free, assurance=weaker(first.assurance, second.assurance))


def weaker(one: Assurance, other: Assurance) -> Assurance:
    """Of two assurances the one that promises less."""
    return max(one, other, key=ASSURANCES.index)


def _preference(row: Row) -> tuple[bool, int, tuple[str, ...], str]:
    return (row.decision == "blocked", *length(row.path), row.tool)


def length(path: tuple[Hop, ...]) -> tuple[int, tuple[str, ...]]:
    """How paths compare: the shorter the better, then by the names on them."""
    return len(path), tuple(hop.name for hop in path)
