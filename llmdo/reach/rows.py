"""What reach is made of: rows, each with a path, and which of two ways to the same row is the better."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from llmdo.authority import STRICTNESS, scope_contains, scope_order, strictest
from llmdo.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.authority import Capability, Decision, Reason, Verdict
    from llmdo.graph import Reference, Use
    from llmdo.shapes import Assurance, Shape

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


class Way(Protocol):
    """How a call is come by. What it looks like is worked out when somebody asks: of most rows nobody does."""

    @property
    def path(self) -> tuple[Hop, ...]:
        """The hops to the worker and on to what it uses."""

    @property
    def search(self) -> object:
        """What found it; None where it did not have to be looked for."""

    @property
    def place(self) -> tuple[int, str]:
        """Its place among all that `search` found: what is nearer comes first, ties by the names on the path."""

    @property
    def gates(self) -> tuple[Decision, ...]:
        """The decisions over the delegations on the path; empty where all are allowed."""

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:
        """Why a call at its end is decided so."""


@dataclass(frozen=True, slots=True)
class Along:
    """A way of which the path is known, such as that of a call that the code of an entry makes itself."""

    path: tuple[Hop, ...]
    search: None = None
    place: tuple[int, str] = (0, "")

    @property
    def gates(self) -> tuple[Decision, ...]:
        """The decisions on the path."""
        return tuple([hop.decision for hop in self.path])

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:  # noqa: ARG002
        """Those of the verdict."""
        return verdict.reasons


class Row(NamedTuple):
    """One capability and scope that some call path from an entry can raise."""

    shape: Shape
    """The call that raises it on `way`."""
    verdict: Verdict
    """About that call alone."""
    way: Way
    free_way: Way | None
    assurance: Assurance
    """The weakest of all tools that raise it."""
    implied: bool = False
    """Whether no tool declares it by this name, but something wider, and a rule or a ceiling names it."""
    elsewhere: bool = False
    """Whether the scope stands for what is left of it beside the narrower scopes of other rows."""

    @property
    def capability(self) -> Capability:
        """What is raised."""
        return self.shape.row

    @property
    def path(self) -> tuple[Hop, ...]:
        """A shortest one, ties by name, on which nothing is blocked; where all are blocked, a shortest one."""
        return self.way.path

    @property
    def free(self) -> tuple[Hop, ...] | None:
        """A shortest path on which nothing asks; None where every path has a gate."""
        return self.free_way.path if self.free_way else None

    @property
    def decision(self) -> Decision:
        """On `path`, gates of the delegations included."""
        decision = self.verdict.decision
        return decision if decision == "blocked" else strictest((decision, *self.way.gates))

    @property
    def tool(self) -> str:
        """The tool that raises it, of the toolset that `path` ends in; for a delegation, the delegate itself."""
        return self.shape.tool if self.shape.toolset else self.path[-1].name

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the last call of `path` is decided so."""
        return self.way.reasons(self.shape, self.verdict)

    @property
    def mildest(self) -> Decision:
        """The decision on the mildest path."""
        return "allowed" if self.free_way else self.decision

    def along(self, path: tuple[Hop, ...]) -> Row:
        """The same row, told along another path."""
        return self._replace(verdict=replace(self.verdict, reasons=self.reasons), way=Along(path))

    def _said(self) -> tuple[object, ...]:
        own = (self.capability, self.decision, self.path, self.tool, self.reasons, self.free)
        return (*own, self.assurance, self.implied, self.elsewhere)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self._said() == other._said()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._said())


def telling(rows: list[Row]) -> list[Row]:
    """The rows without those that are implied and no milder than a wider row."""
    implied = [row.capability for row in rows if row.implied]
    if not implied:
        return rows
    around = {name for one in implied for name in one.names}
    wider = {row.capability: STRICTNESS[row.mildest] for row in rows if row.capability.name in around}

    def tells(row: Row) -> bool:
        own = row.capability
        return all(STRICTNESS[row.mildest] < wider[one] for one in own.around if one in wider and one != own)

    return [row for row in rows if not row.implied or tells(row)]


def with_rows(rows: Iterable[Row], more: Iterable[Row]) -> list[Row]:
    """The rows of both, sorted, one for each capability."""
    found: dict[Capability, Row] = {}
    for row in (*rows, *more):
        known = found.get(row.capability)
        found[row.capability] = joined(known, row) if known else row
    return sorted(found.values(), key=lambda row: str(row.capability))


def narrowed(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows whose scope holds that of another one of the same name."""
    rows = list(rows)
    # Of two rows with one name one has a scope, and most names have only one.
    by_name: dict[str, list[Row]] = {
        row.shape.row.name: [] for row in rows if row.shape.row.scope is not None
    }
    for row in rows:
        if (name := row.shape.row.name) in by_name:
            by_name[name].append(row)
    for alike in by_name.values():
        if len(alike) > 1:
            alike.sort(key=lambda row: scope_order(row.capability.scope))
        for wide, narrow in pairwise(alike):
            if scope_contains(wide.capability.scope, narrow.capability.scope):
                yield wide


def joined(one: Row, other: Row) -> Row:
    """Of two ways to the same row: the shorter path that is not blocked, the shorter free one, the weaker assurance."""
    blocked = [row.verdict.decision == "blocked" for row in (one, other)]
    if blocked[0] == blocked[1]:
        mine, its = _distances(one.way, other.way)
        first = one if mine < its or (mine == its and one.tool <= other.tool) else other
    else:
        first = other if blocked[0] else one
    free = one.free_way or other.free_way
    if one.free_way and other.free_way:
        mine, its = _distances(one.free_way, other.free_way)
        free = one.free_way if mine <= its else other.free_way
    return first._replace(free_way=free, assurance=weaker(one.assurance, other.assurance))


def weaker(one: Assurance, other: Assurance) -> Assurance:
    """Of two assurances the one that promises less."""
    return one if one == other else max(one, other, key=ASSURANCES.index)


def _distances(one: Way, other: Way) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """How two ways compare: the shorter the better, then by the names on their paths."""
    if one.search is not None and one.search is other.search:
        return one.place, other.place  # so nobody has to look at the paths
    return _length(one), _length(other)


def _length(way: Way) -> tuple[int, tuple[str, ...]]:
    return len(way.path), tuple([hop.name for hop in way.path])
