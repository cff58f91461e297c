"""One tree of calls, walked breadth first: the best ways to every call that stands for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llmdo import inventory
from llmdo.authority import Verdict, decide
from llmdo.reach.rows import Along, Hop, Row, joined, narrowed, telling, with_rows
from llmdo.shapes import FRESH
from llmdo.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.authority import Ceiling, Decision, Reason
    from llmdo.graph import Graph, Reference
    from llmdo.reach.analysis import Analysis
    from llmdo.reach.rulings import Ruling, Rulings
    from llmdo.shapes import Shape

_CUT_OFF = Verdict("blocked", ())
"""About a call that ceilings cut off on every path, whichever they are."""


@dataclass(frozen=True)
class _Search:
    """The workers that a breadth-first search found, from where, and the first one of every group."""

    walk: Walk
    parent: Mapping[str, str | None]
    """In the order found: shorter paths first, ties by the names on them."""
    first: Mapping[int, str]
    is_free: bool
    """Whether nothing asks on any of its paths."""
    _ways: dict[int, _Found] = field(default_factory=dict)
    _hops: dict[str, tuple[Hop, ...]] = field(default_factory=dict)

    def way(self, number: int) -> _Found | None:
        """The way to the calls of a group; None where no worker was found that has it."""
        if (known := self._ways.get(number)) is None and (name := self.first.get(number)):
            shapes = self.walk.analysis.shapes
            known = self._ways[number] = _Found(self, name, shapes.groups[number].shapes[0])
        return known

    def hops(self, name: str) -> tuple[Hop, ...]:
        """The hops of the path to the worker `name`."""
        if (known := self._hops.get(name)) is None:
            caller = self.parent[name]
            if caller is None:
                known = (Hop(name, None),)
            else:
                use = self.walk.analysis.graph.use(caller, name)
                known = (*self.hops(caller), Hop(name, use, self.walk.gate(caller)))
            self._hops[name] = known
        return known


class _Found(NamedTuple):
    """The way to what the first worker uses that a search found to have it."""

    search: _Search
    worker: str
    shape: Shape
    """One of those that the use stands for."""

    @property
    def path(self) -> tuple[Hop, ...]:
        """The hops to the worker and on to what it uses."""
        graph = self.search.walk.analysis.graph
        use = graph.use(self.worker, self.shape.toolset or _delegate(graph, self.worker, self.shape))
        return (*self.search.hops(self.worker), Hop(use.name, use))

    @property
    def gates(self) -> tuple[Decision, ...]:
        """The decisions over the delegations on the path; empty where all are allowed."""
        return () if self.search.is_free else tuple([hop.decision for hop in self.path])

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:
        """Why a call at its end is decided so: in the words of this worker's own rules, and of the ceilings on it."""
        walk = self.search.walk
        analysis = walk.analysis
        layers = (*walk.rulings.layers, *analysis.graph.workers[self.worker].approvals)
        if verdict is not _CUT_OFF:
            return analysis.verdict(shape, layers).reasons
        authority = analysis.authority(layers, walk.ceilings(self.path[:-1]))
        return shown(decide(shape.raised, shape.declared, authority), shape).reasons


@dataclass(frozen=True)
class Walk:
    """One tree of calls: where it starts, and what has a say over all of it."""

    rulings: Rulings
    starts: tuple[str, ...]
    own: Ceiling | None = None
    """The ceiling of the whole tree, by its name."""
    ignored: str | None = None
    """A worker whose ceiling does not count."""
    _searches: dict[tuple[frozenset[str], bool], _Search] = field(default_factory=dict)

    @property
    def analysis(self) -> Analysis:
        """The graph that the tree is part of."""
        return self.rulings.analysis

    def best(self) -> dict[int, Row]:
        """The best call that raises each thing, by the identity of the capability that all such calls share.

        Comparing names would cost more than all the rest.
        """
        found: dict[int, Row] = {}
        everything = self.search(frozenset(), free=False)
        for number in everything.first:
            rulings = self.rulings.of(number)
            nearest = everything.way(number) if rulings else None
            if nearest is None:
                continue
            for ruling in rulings:
                row = self._row(number, nearest, ruling)
                line = id(row.shape.row)
                known = found.get(line)
                found[line] = row if known is None else _joined(known, row, everything)
        return found

    def _row(self, number: int, nearest: _Found, ruling: Ruling) -> Row:
        """The best ways to a call of a group; `nearest` is the way to the group where nothing is cut off."""
        shape, cut, verdict = ruling
        if cut and self.ignored in cut:
            cut -= {self.ignored}
        search = self.search(cut, free=False) if cut else nearest.search
        way = None if cut is None else search.way(number)
        if way is None or cut is None:
            return Row(shape, _CUT_OFF, nearest, None, shape.assurance)
        free = None
        if verdict.decision == "allowed":
            free = way if search.is_free else self.search(cut, free=True).way(number)
        return Row(shape, verdict, way, free, shape.assurance)

    def row_of_call(self, shape: Shape, called: Reference) -> Row:
        """The row of a call that the function of the entry makes."""
        authority = self.analysis.authority(self.rulings.layers, self.ceilings(()))
        verdict = decide(shape.raised, shape.declared, authority)
        way = Along((Hop(called.name, called),))
        return Row(shape, verdict, way, way if verdict.decision == "allowed" else None, shape.assurance)

    def ceilings(self, path: Iterable[Hop]) -> tuple[Ceiling, ...]:
        """The ceilings of the whole tree and of the workers on a path."""
        names = [hop.name for hop in path if hop.name != self.ignored]
        found = [self.analysis.ceilings[name] for name in names if name in self.analysis.ceilings]
        return tuple(found) if self.own is None else (self.own, *found)

    def search(self, cut: frozenset[str], *, free: bool) -> _Search:
        """The workers within `max-depth`, on paths without those in `cut` and, if `free`, without a gate."""
        if (known := self._searches.get((cut, free))) is None:
            known = self._searches[cut, free] = self._search(cut, free=free)
        return known

    def _search(self, cut: frozenset[str], *, free: bool) -> _Search:
        edges, groups = self.analysis.graph.edges, self.analysis.shapes.by_worker
        parent: dict[str, str | None] = {name: None for name in self.starts if name not in cut}
        first: dict[int, str] = {}
        seen: set[int] = set()
        is_free = True
        level = list(parent)
        most = self.analysis.graph.settings.max_depth
        usual, special = self.rulings.usual_gate, self.rulings.gates
        for depth in range(most + 1):
            found: list[str] = []
            for name in level:
                if not seen.issuperset(groups[name]):
                    new = groups[name] - seen
                    seen |= new
                    first.update(dict.fromkeys(sorted(new), name))
                if depth == most or not edges[name]:
                    continue
                gate = special.get(name, usual)
                if gate != "allowed":
                    is_free = free
                    if gate == "blocked" or free:
                        continue
                for delegate in edges[name]:
                    if delegate not in parent and delegate not in cut:
                        parent[delegate] = name
                        found.append(delegate)
            level = found
        return _Search(self, parent, first, is_free)

    def gate(self, name: str) -> Decision:
        """The decision over a delegation by the worker `name`."""
        return self.rulings.gates.get(name, self.rulings.usual_gate)


def shown(verdict: Verdict, shape: Shape) -> Verdict:
    """The verdict with reasons that speak of the row, not of the path that stands for it."""
    reasons = tuple(
        [
            replace(reason, capability=shape.row)
            if (reason.capability.scope or "").endswith(FRESH) and reason.capability.name == shape.row.name
            else reason
            for reason in verdict.reasons
        ]
    )
    return verdict if reasons == verdict.reasons else Verdict(verdict.decision, reasons)


def _delegate(graph: Graph, caller: str, shape: Shape) -> str:
    """The first delegate of `caller` whose call raises what `shape` says: in other workers it has other names."""
    workers = graph.workers
    return next(
        name
        for name in graph.edges[caller]
        if shape.declared
        == frozenset(inventory.delegation(graph, workers[caller], workers[name]).capabilities)
    )


def _joined(known: Row, row: Row, everything: _Search) -> Row:
    """The better of two, of which `everything` found the group of `known` first."""
    one, other = known.way, row.way
    if (
        isinstance(one, _Found)
        and isinstance(other, _Found)
        and one.search is other.search is everything
        and one.worker != other.worker
        and (known.verdict.decision == "blocked") == (row.verdict.decision == "blocked")
        and known.assurance == row.assurance
        and (known.free_way is one or row.free_way is None)
    ):
        return known  # what is nearer is found first, unless the way has to lead around a worker
    return joined(known, row)


def rows_of(walk: Walk, calls: Iterable[tuple[Shape, Reference]] = ()) -> tuple[Row, ...]:
    """The rows of a tree of calls; `calls` are those of a function that starts it."""
    best = walk.best()
    shapes = walk.analysis.shapes
    for number in best.keys() & shapes.implied:
        best[number] = best[number]._replace(implied=True)
    rows = [best[number] for number in sorted(best, key=shapes.rank.__getitem__)]
    if not shapes.compared:
        rows = telling(rows)
    if made := [walk.row_of_call(shape, called) for shape, called in calls]:
        rows = with_rows(rows, made)
    wide = {id(row) for row in narrowed(rows)}
    return tuple([row._replace(elsewhere=True) if id(row) in wide else row for row in rows])
