"""One tree of calls, walked breadth first: the best ways to every call that stands for others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from llmdo import inventory
from llmdo.authority import decide, strictest
from llmdo.reach.rows import Hop, Row, length, narrowed, telling, weaker, with_rows
from llmdo.shapes import FRESH
from llmdo.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.authority import Capability, Ceiling, Decision, Rule, Verdict
    from llmdo.graph import Reference, Use, Worker
    from llmdo.reach.analysis import Analysis
    from llmdo.shapes import Assurance, Shape


@dataclass(frozen=True)
class _Search:
    """The workers that a breadth-first search found, from where, and the first one of every group."""

    walk: Walk
    parent: Mapping[str, str | None]
    """In the order found: shorter paths first, ties by the names on them."""
    first: Mapping[int, str]
    is_free: bool
    """Whether nothing asks on any of its paths."""
    _hops: dict[str, tuple[Hop, ...]] = field(default_factory=dict)

    def hops(self, name: str) -> tuple[Hop, ...]:
        """The hops of the path to the worker `name`."""
        if (known := self._hops.get(name)) is None:
            caller = self.parent[name]
            if caller is None:
                known = (Hop(name, None),)
            else:
                use = _use(self.walk.analysis.graph.workers[caller], name)
                known = (*self.hops(caller), Hop(name, use, self.walk.gate(caller)))
            self._hops[name] = known
        return known


@dataclass(frozen=True)
class _Way:
    """The path to one use of one worker."""

    search: _Search
    worker: Worker
    use: Use

    @cached_property
    def path(self) -> tuple[Hop, ...]:
        """The hops to the worker and on to what it uses."""
        return (*self.search.hops(self.worker.name), Hop(self.use.name, self.use))

    @cached_property
    def length(self) -> tuple[int, tuple[str, ...]]:
        """How the path compares."""
        return length(self.path)


class _Found(NamedTuple):
    """What was found about one row: the best call that raises it, and the best on which nothing asks."""

    shape: Shape
    verdict: Verdict | None
    """None where a ceiling cuts the call off on every path."""
    way: _Way
    free: _Way | None
    assurance: Assurance

    @property
    def tool(self) -> str:
        return self.shape.tool if self.shape.toolset else self.way.use.name

    @property
    def is_blocked(self) -> bool:
        return self.verdict is None or self.verdict.decision == "blocked"

    def joined(self, other: _Found) -> _Found:
        """The better of two, with the better free path and the weaker assurance."""
        first = self
        found_first = self.way.search is other.way.search and self.way.worker is not other.way.worker
        if not found_first or self.is_blocked != other.is_blocked:
            # Otherwise one search led to both, and it finds what is nearer first.
            first = min(self, other, key=lambda one: (one.is_blocked, *one.way.length, one.tool))
        free = self.free or other.free
        if self.free and other.free and self.free is not other.free:
            free = min(self.free, other.free, key=lambda way: way.length)
        assurance = self.assurance
        if other.assurance != assurance:
            assurance = weaker(assurance, other.assurance)
        return _Found(first.shape, first.verdict, first.way, free, assurance)


@dataclass(frozen=True)
class Walk:
    """One tree of calls: where it starts, and what has a say over all of it."""

    analysis: Analysis
    starts: tuple[str, ...]
    layers: tuple[Rule, ...]
    own: Ceiling | None
    ignored: str | None
    """A worker whose ceiling does not count."""
    _searches: dict[tuple[frozenset[str], bool], _Search] = field(default_factory=dict)
    _gates: dict[tuple[Rule, ...], Decision] = field(default_factory=dict)

    def calls(self) -> Iterator[_Found]:
        """Every call that stands for others, with the best ways to it: those of near workers first."""
        analysis = self.analysis
        everything = self.search(frozenset(), free=False)
        for number, first in everything.first.items():
            group = analysis.shapes.groups[number]
            layers = (*self.layers, *group.approvals)
            ways: dict[tuple[int, str], _Way] = {}
            for shape in group.shapes:
                cut = self.cut(shape.raised)
                search = self.search(cut, free=False) if cut else everything
                found = None if cut is None else search.first.get(number)
                if found is None or cut is None:
                    way = self._way(ways, everything, first, shape)
                    yield _Found(shape, None, way, None, shape.assurance)
                    continue
                verdict = analysis.verdict(shape, layers)
                way = self._way(ways, search, found, shape)
                free = None
                if verdict.decision == "allowed":
                    freely = search if search.is_free else self.search(cut, free=True)
                    if name := freely.first.get(number):
                        free = self._way(ways, freely, name, shape)
                yield _Found(shape, verdict, way, free, shape.assurance)

    def _way(self, known: dict[tuple[int, str], _Way], search: _Search, name: str, shape: Shape) -> _Way:
        """The way to what raises `shape`, which is the same for all calls of one group."""
        if (way := known.get((id(search), name))) is None:
            worker = self.analysis.graph.workers[name]
            use = _use(worker, shape.toolset) if shape.toolset else self._delegate(worker, shape)
            way = known[id(search), name] = _Way(search, worker, use)
        return way

    def _delegate(self, worker: Worker, shape: Shape) -> Use:
        """The first delegate of `worker` whose call raises what `shape` says: in other workers it has other names."""
        graph = self.analysis.graph
        return next(
            use
            for use in worker.uses
            if (callee := graph.workers.get(use.name))
            and shape.declared == frozenset(inventory.delegation(graph, worker, callee).capabilities)
        )

    def cut(self, raised: frozenset[Capability]) -> frozenset[str] | None:
        """The workers that cut off a call which raises this; None where the ceiling of the whole walk does."""
        if self.own is not None and not self.analysis.admits(self.own, raised):
            return None
        cut = self.analysis.cut(raised)
        return cut - {self.ignored} if cut else cut

    def row(self, found: _Found) -> Row:
        """The row of the best of the calls that raise one thing."""
        path, verdict = found.way.path, found.verdict
        approvals = found.way.worker.approvals
        if verdict is None:
            ceilings = (*([self.own] if self.own else []), *self._ceilings(path[:-1]))
            authority = self.analysis.authority((*self.layers, *approvals), ceilings)
            verdict = shown(decide(found.shape.raised, found.shape.declared, authority), found.shape)
        elif approvals:
            # The same decision, and reasons that name this worker's own rules.
            verdict = self.analysis.verdict(found.shape, (*self.layers, *approvals))
        decision = verdict.decision
        if decision != "blocked" and not found.way.search.is_free:
            decision = strictest([decision, *(hop.decision for hop in path)])
        return Row(
            capability=found.shape.row,
            elsewhere=False,
            decision=decision,
            path=path,
            tool=found.tool,
            reasons=verdict.reasons,
            free=found.free.path if found.free else None,
            assurance=found.assurance,
            implied=id(found.shape.row) in self.analysis.shapes.implied,
        )

    def row_of_call(self, shape: Shape, called: Reference) -> Row:
        """The row of a call that the function of the entry makes."""
        ceilings = (self.own,) if self.own else ()
        verdict = decide(shape.raised, shape.declared, self.analysis.authority(self.layers, ceilings))
        path = (Hop(called.name, called),)
        return Row(
            capability=shape.row,
            elsewhere=False,
            decision=verdict.decision,
            path=path,
            tool=shape.tool,
            reasons=verdict.reasons,
            free=path if verdict.decision == "allowed" else None,
            assurance=shape.assurance,
        )

    def _ceilings(self, path: tuple[Hop, ...]) -> Iterator[Ceiling]:
        for hop in path:
            if hop.name != self.ignored and (ceiling := self.analysis.ceilings.get(hop.name)):
                yield ceiling

    def search(self, cut: frozenset[str], *, free: bool) -> _Search:
        """The workers within `max-depth`, on paths without those in `cut` and, if `free`, without a gate."""
        if (known := self._searches.get((cut, free))) is None:
            known = self._searches[cut, free] = self._search(cut, free=free)
        return known

    def _search(self, cut: frozenset[str], *, free: bool) -> _Search:
        edges, groups = self.analysis.edges, self.analysis.shapes.by_worker
        parent: dict[str, str | None] = {name: None for name in self.starts if name not in cut}
        first: dict[int, str] = {}
        seen: set[int] = set()
        is_free = True
        level = list(parent)
        most = self.analysis.graph.settings.max_depth
        usual, special = self._gate(()), self.analysis.shapes.approvals
        for depth in range(most + 1):
            found: list[str] = []
            for name in level:
                if not seen.issuperset(groups[name]):
                    new = groups[name] - seen
                    seen |= new
                    first.update(dict.fromkeys(sorted(new), name))
                if depth == most or not edges[name]:
                    continue
                gate = self.gate(name) if name in special else usual
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
        return self._gate(self.analysis.shapes.approvals.get(name, ()))

    def _gate(self, approvals: tuple[Rule, ...]) -> Decision:
        if (known := self._gates.get(approvals)) is None:
            authority = self.analysis.authority((*self.layers, *approvals), ())
            known = decide([inventory.DELEGATE], [inventory.DELEGATE], authority).decision
            self._gates[approvals] = known
        return known


def shown(verdict: Verdict, shape: Shape) -> Verdict:
    """The verdict with reasons that speak of the row, not of the path that stands for it."""
    reasons = tuple(
        replace(reason, capability=shape.row)
        if (reason.capability.scope or "").endswith(FRESH) and reason.capability.name == shape.row.name
        else reason
        for reason in verdict.reasons
    )
    return replace(verdict, reasons=reasons)


def _use(worker: Worker, name: str) -> Use:
    return next(use for use in worker.uses if use.name == name)


def rows_of(walk: Walk, calls: Iterable[tuple[Shape, Reference]] = ()) -> tuple[Row, ...]:
    """The rows of a tree of calls; `calls` are those of a function that starts it."""
    best: dict[int, _Found] = {}
    for found in walk.calls():
        # By identity: the shapes of one row share it, and comparing names would cost more than all the rest.
        row = id(found.shape.row)
        known = best.get(row)
        best[row] = known.joined(found) if known else found
    rank = walk.analysis.shapes.rank
    rows = [walk.row(best[row]) for row in sorted(best, key=rank.__getitem__)]
    if not walk.analysis.shapes.compared:
        rows = list(telling(rows))
    if made := [walk.row_of_call(shape, called) for shape, called in calls]:
        rows = with_rows(rows, made)
    wide = {id(row) for row in narrowed(rows)}
    return tuple(replace(row, elsewhere=True) if id(row) in wide else row for row in rows)
