"""The rows of reach, each with a path, and the choice between two ways to the same row."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from llmdo.base.values import dataclass, field, replace
from llmdo.graph.toolkit import ANY, DELEGATE
from llmdo.policy.authority import STRICTNESS, Capability, gravity, scope_contains, scope_order, scopes_around

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.keys import Reference
    from llmdo.graph.worker import Use
    from llmdo.policy.authority import Reason, Verdict
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.shapes import Assurance, Shape

ASSURANCES: tuple[Assurance, ...] = ("enforced", "declared", "open")
"""From the strongest to the weakest."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: a worker called, or at the end the toolset used."""

    name: str
    use: Use | Reference | None = field(compare=False)
    """The place at which the caller names it; None for a worker that the entry itself starts."""
    decision: Decision = "allowed"
    """The decision about the call of this worker or tool."""


class Way(Protocol):
    """The way to a call. Its path is computed on demand: of most rows nobody asks."""

    @property
    def path(self) -> tuple[Hop, ...]:
        """The hops to the worker and to the thing used."""

    @property
    def search(self) -> object:
        """The search that found it; None for a way known without one."""

    @property
    def rank(self) -> tuple[int, str]:
        """Its rank among all ways that `search` found: the nearer first, ties by the names on the path."""

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:
        """The reasons for the decision over a call at its end."""

    @property
    def gate_reasons(self) -> tuple[Reason, ...]:
        """The reasons of the delegations on the path that ask."""


@dataclass(frozen=True, slots=True)
class Along:
    """A way with a known path, such as that of a call by the code of an entry."""

    path: tuple[Hop, ...]
    search: None = None
    rank: tuple[int, str] = (0, "")

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:  # noqa: ARG002
        """The reasons of the verdict."""
        return verdict.reasons

    @property
    def gate_reasons(self) -> tuple[Reason, ...]:
        """Always empty: the verdict has every reason."""
        return ()


class Row(NamedTuple):
    """One capability and scope that some call path from an entry can raise."""

    shape: Shape
    """The call that raises it on `way`."""
    verdict: Verdict
    """The verdict on that call alone."""
    decision: Decision
    """The mildest over all paths: that on `way`, gates of the delegations included."""
    way: Way
    """A shortest one with this decision, ties by name."""
    nearest: Way
    """A shortest one on which nothing is blocked, asked or not; if all are blocked, a shortest one."""
    assurance: Assurance
    """The weakest of all tools that raise it."""
    implied: bool = False
    """Whether no tool declares it by this name, but something wider, and a rule or a ceiling names it."""
    elsewhere: bool = False
    """Whether it is only about the rest of its scope, outside the narrower scopes of other rows."""

    @property
    def capability(self) -> Capability:
        """The capability raised."""
        return self.shape.row

    @property
    def path(self) -> tuple[Hop, ...]:
        """The hops of `way`."""
        return self.way.path

    @property
    def takes_delegation(self) -> bool:
        """Whether every path to it leads through a delegate, also those that ask."""
        return len(self.nearest.path) > 2

    @property
    def tool(self) -> str:
        """The tool that raises it, of the toolset at the end of `path`; for a delegation, the delegate."""
        return self.shape.tool if self.shape.toolset else self.path[-1].name

    @property
    def is_unseen(self) -> bool:
        """Whether it represents tools not seen yet: their abilities, and who is asked, are unknown."""
        return bool(self.shape.toolset) and self.shape.tool.endswith(ANY)

    @property
    def is_attachment(self) -> bool:
        """Whether it is raised by passing a file to the worker that `path` ends in."""
        return not self.shape.toolset and self.capability.name != DELEGATE.name

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of the last call of `path`, or of the stricter delegations on it."""
        if self.decision == self.verdict.decision:
            return self.way.reasons(self.shape, self.verdict)
        return self.way.gate_reasons

    def along(self, path: tuple[Hop, ...]) -> Row:
        """The same row, along another path."""
        verdict = replace(self.verdict, decision=self.decision, reasons=self.reasons)
        return self._replace(verdict=verdict, way=Along(path))

    def _said(self) -> tuple[object, ...]:
        own = (self.capability, self.decision, self.path, self.tool, self.reasons, self.takes_delegation)
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
    around = {name for capability in implied for name in capability.names}
    wider = {row.capability: STRICTNESS[row.decision] for row in rows if row.capability.name in around}

    def tells(row: Row) -> bool:
        own = row.capability
        return all(
            STRICTNESS[row.decision] < wider[capability]
            for capability in own.around
            if capability in wider and capability != own
        )

    return [row for row in rows if not row.implied or tells(row)]


def stricter_inside(rows: Mapping[int, Row]) -> Mapping[int, Sequence[int]]:
    """The rows with narrower and stricter ones of the same name to these, each by the identity of its capability."""
    stricter = [
        (line, row)
        for line, row in rows.items()
        if row.decision != "allowed" and not row.shape.row.is_everywhere
    ]
    inside: dict[int, list[int]] = {}
    lines = {row.shape.row: line for line, row in rows.items()} if stricter else {}
    for line, row in stricter:
        for scope in scopes_around(row.capability.scope):
            wide = lines.get(Capability(row.capability.name, scope), line)
            if STRICTNESS[rows[wide].decision] < STRICTNESS[row.decision]:
                inside.setdefault(wide, []).append(line)
    return inside


def with_rows(rows: Iterable[Row], more: Iterable[Row]) -> list[Row]:
    """The rows of both, sorted by gravity, one for each capability."""
    by_capability: dict[Capability, Row] = {}
    for row in (*rows, *more):
        known = by_capability.get(row.capability)
        by_capability[row.capability] = joined(known, row) if known else row
    return sorted(by_capability.values(), key=lambda row: gravity(row.capability))


def worst_first(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows that are sorted by gravity, the mildest decision first: blocked ones are last."""
    by_decision: dict[Decision, list[Row]] = {decision: [] for decision in STRICTNESS}
    for row in rows:
        by_decision[row.decision].append(row)
    return tuple([row for alike in by_decision.values() for row in alike])


def arranged(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows that are sorted by gravity, as they are shown: `elsewhere` marked, worst first."""
    wide = {id(row) for row in narrowed(rows)}
    return worst_first([row._replace(elsewhere=True) if id(row) in wide else row for row in rows])


def narrowed(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows whose scope contains that of another one of the same name."""
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


def joined(row: Row, other: Row) -> Row:
    """The milder of two rows about the same, else that with the shorter path; with the weaker assurance."""
    mine, its = _distances(row.way, other.way)
    closer = row if mine < its or (mine == its and row.tool <= other.tool) else other
    if row.decision == other.decision:
        best = closer
    else:
        best = row if STRICTNESS[row.decision] < STRICTNESS[other.decision] else other
    nearest = best.nearest
    if (row.decision == "blocked") == (other.decision == "blocked"):
        mine, its = _distances(row.nearest, other.nearest)
        nearest = row.nearest if mine <= its else other.nearest
    return best._replace(nearest=nearest, assurance=weaker(row.assurance, other.assurance))


def weaker(assurance: Assurance, other: Assurance) -> Assurance:
    """The weaker of two assurances."""
    return assurance if assurance == other else max(assurance, other, key=ASSURANCES.index)


def _distances(way: Way, other: Way) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The sort keys of two ways: the shorter is better, then the names on their paths."""
    if way.search is not None and way.search is other.search:
        return way.rank, other.rank  # so nobody has to look at the paths
    return _length(way), _length(other)


def _length(way: Way) -> tuple[int, tuple[str, ...]]:
    return len(way.path), tuple([hop.name for hop in way.path])
