"""One tree of calls, walked breadth first: the best ways to every representative call."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field, replace
from llmdo.policy.authority import STRICTNESS, Verdict, decide
from llmdo.policy.composition import NO_LAYER, Layer
from llmdo.reach.rows import Along, Hop, Row, arranged, joined, stricter_inside, telling, with_rows
from llmdo.reach.shapes import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.graph.keys import Reference
    from llmdo.policy.authority import Reason
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.premises import Premises, Ruling, Rulings
    from llmdo.reach.shapes import Group, Shape, Shapes

_CUT_OFF = Verdict("blocked", ())
"""The verdict on a call that ceilings cut off on every path."""


@dataclass(eq=False)
class Search:
    """The workers that a breadth-first search found, with their callers, and the first one of every group."""

    walk: Walk
    parent: Mapping[int, int | None]
    """Places of workers, in the order found: shorter paths first, ties by the names on them."""
    first: Mapping[int, int]
    """In the same order."""
    is_free: bool
    """Whether all of its paths run without approval."""
    _hops: dict[int, tuple[Hop, ...]] = field(default_factory=dict)
    _paths: dict[int, tuple[Hop, ...]] = field(default_factory=dict)

    @cached_property
    def ways(self) -> Mapping[int, _Found]:
        """The way to the calls of each group that was found."""
        return {number: _Found(self, node, number) for number, node in self.first.items()}

    @cached_property
    def order(self) -> Mapping[int, int]:
        """The nodes in `first` to the order in which they were found, the nearest first."""
        return {node: order for order, node in enumerate(self.first.values())}

    def hops(self, node: int) -> tuple[Hop, ...]:
        """The hops of the path to the worker at `node`."""
        if (known := self._hops.get(node)) is None:
            name = self.walk.names[node]
            caller = self.parent[node]
            if caller is None:
                known = (Hop(name, None),)
            else:
                use = self.walk.premises.graph.use(self.walk.names[caller], name)
                known = (*self.hops(caller), Hop(name, use, self.walk.gate(caller, node)))
            self._hops[node] = known
        return known

    def path(self, way: _Found) -> tuple[Hop, ...]:
        """The hops to the worker that a way leads to, and to the thing used."""
        if (known := self._paths.get(way.number)) is None:
            use = self.walk.premises.graph.use(way.worker, way.end)
            known = self._paths[way.number] = (*self.hops(way.at), Hop(use.name, use))
        return known


class _Found(NamedTuple):
    """The way to a use by the first worker that a search found to have it."""

    search: Search
    at: int
    """The node of the worker."""
    number: int
    """The group of shapes of the use."""

    @property
    def worker(self) -> str:
        """The name of the worker."""
        return self.search.walk.names[self.at]

    @property
    def end(self) -> str:
        """The name of the toolset or worker used."""
        shape = self.search.walk.groups[self.number].shapes[0]
        return shape.toolset or _delegate(self.search.walk.premises.shapes, self.worker, shape)

    @property
    def rank(self) -> tuple[int, str]:
        """Its rank among all ways that the search found."""
        return self.search.order[self.at], self.end

    @property
    def path(self) -> tuple[Hop, ...]:
        """The hops to the worker and to the thing used."""
        return self.search.path(self)

    def reasons(self, shape: Shape, verdict: Verdict) -> tuple[Reason, ...]:
        """The reasons for the decision over a call at its end: the worker's own rules, and the ceilings on it."""
        walk = self.search.walk
        group = walk.groups[self.number]
        if verdict is not _CUT_OFF and not group.own:
            return (
                verdict.reasons
            )  # the rules of the worker are those of all workers that the verdict is about
        premises = walk.premises
        if verdict is not _CUT_OFF:
            layers = (*walk.entry.own, *premises.layer(self.worker).own)
            return premises.own_reasons(self.worker, premises.verdict(shape, layers).reasons)
        authority = premises.authority(walk.entry, walk.layers(self.path[:-1]))
        return shown(decide(shape.raised, shape.declared, authority), shape).reasons

    @property
    def gate_reasons(self) -> tuple[Reason, ...]:
        """The reasons of the delegations on the path that ask."""
        rulings = self.search.walk.rulings
        asking = [(caller, hop) for caller, hop in pairwise(self.path[:-1]) if hop.decision != "allowed"]
        reasons = (reason for caller, hop in asking for reason in rulings.gate_reasons(caller.name, hop.name))
        return tuple(dict.fromkeys(reasons))


@dataclass
class Walk:
    """One tree of calls: its starts, and the layer over all of it."""

    rulings: Rulings
    starts: tuple[str, ...]
    entry: Layer = NO_LAYER
    """The layer of the whole tree, with its ceiling's name."""
    ignored: str | None = None
    """A worker whose ceiling does not count."""
    above: Walk | None = None
    """The larger tree around this one: only calls below its ways to the starts of this one count."""
    _searches: dict[tuple[frozenset[str], bool], Search] = field(default_factory=dict)

    @property
    def premises(self) -> Premises:
        """The graph that the tree is part of."""
        return self.rulings.premises

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the workers, by their nodes."""
        return self.premises.workers.names

    @cached_property
    def groups(self) -> Sequence[Group]:
        """Every group of calls that some worker can make."""
        return self.premises.shapes.groups

    def best(self, toolset: str | None = None, tool: str | None = None) -> dict[int, Row]:
        """The best call for each row, by the identity of the capability that all such calls share.

        With `toolset` or `tool`, of its calls alone. Comparing names would cost more than all the rest.
        """
        everything = self.search(frozenset(), free=False)
        first, is_free = everything.first, everything.is_free
        if toolset is not None:
            offered = {number for number, group in enumerate(self.groups) if group.toolset == toolset}
            first = {number: node for number, node in first.items() if number in offered}
        by_group: dict[int, Ruling] = {}
        others: list[Ruling] = []
        for number in first:
            for ruling in self.rulings.of(number):
                if tool is not None and not ruling.shape.is_of(tool):
                    continue
                known = by_group.setdefault(ruling.line, ruling)
                if known is not ruling and (
                    ruling.rank != known.rank
                    or first[known.number] == first[number]
                    or not (is_free or ruling.verdict.decision != "allowed")
                ):
                    others.append(ruling)  # it may be better in some respect, though it is no nearer
        ways = everything.ways
        best = {line: self._row(ruling, ways[ruling.number]) for line, ruling in by_group.items()}
        for ruling in others:
            best[ruling.line] = joined(best[ruling.line], self._row(ruling, ways[ruling.number]))
        self._ease(best, (ruling for number in first for ruling in self.rulings.of(number)), tool)
        return best

    def _ease(self, best: dict[int, Row], rulings: Iterable[Ruling], tool: str | None) -> None:
        """Has no row say more than a call of a wider one of its name that may be about all of its scope."""
        shapes, ways = self.premises.shapes, self.search(frozenset(), free=False).ways
        # Where two graphs are compared, every call has a row for each class of scopes.
        inside = {} if shapes.compared else stricter_inside(best)
        covering: dict[int, Row] = {}
        for ruling in rulings if inside else ():
            for line in inside.get(ruling.line, ()) if tool is None or ruling.shape.is_of(tool) else ():
                row = best[line].capability
                if shapes.covers(ruling.shape, row):
                    shape = replace(ruling.shape, row=row)
                    wide = self._row(ruling, ways[ruling.number])._replace(shape=shape)
                    covering[line] = joined(covering[line], wide) if line in covering else wide
        for line, wide in covering.items():
            if STRICTNESS[wide.decision] < STRICTNESS[best[line].decision]:
                best[line] = joined(best[line], wide)

    def _row(self, ruling: Ruling, nearest: _Found) -> Row:
        """The best ways to a call of a group; `nearest` is the way to the group if nothing is cut off."""
        number, _, shape, cut, verdict, _ = ruling
        way: _Found | None = nearest
        if cut and verdict.decision != "blocked":
            cut -= {self.ignored}
            way = self.search(cut, free=False).ways.get(number)
        if way is None or cut is None:
            return Row(shape, _CUT_OFF, "blocked", nearest, nearest, shape.assurance)
        if verdict.decision != "allowed" or way.search.is_free:
            return Row(shape, verdict, verdict.decision, way, way, shape.assurance)
        if free := self.search(cut, free=True).ways.get(number):
            return Row(shape, verdict, "allowed", free, way, shape.assurance)
        return Row(shape, verdict, "needs_approval", way, way, shape.assurance)

    def row_of_call(self, shape: Shape, called: Reference) -> Row:
        """The row of a call that the function of the entry makes."""
        authority = self.premises.authority(self.entry)
        verdict = decide(shape.raised, shape.declared, authority)
        way = Along((Hop(called.name, called),))
        return Row(shape, verdict, verdict.decision, way, way, shape.assurance)

    def layers(self, path: Iterable[Hop]) -> tuple[Layer, ...]:
        """The layers that the workers on a path add, without the ceiling that is ignored."""
        layers = [(hop.name, self.premises.layer(hop.name)) for hop in path]
        return tuple(
            [replace(layer, ceiling=None) if name == self.ignored else layer for name, layer in layers]
        )

    def search(self, cut: frozenset[str], *, free: bool) -> Search:
        """The workers within `max-depth`, on paths without those in `cut` and, if `free`, without a gate."""
        if (known := self._searches.get((cut, free))) is None:
            known = self._searches[cut, free] = self._search(cut, free=free)
        return known

    def _search(self, cut: frozenset[str], *, free: bool) -> Search:
        workers, groups = self.premises.workers, self.premises.shapes.by_node
        edges, nodes_of = workers.edges, workers.nodes
        out = {nodes_of[name] for name in cut}
        parent: dict[int, int | None] = {nodes_of[name]: None for name in self.starts if name not in cut}
        depth = self.premises.graph.max_depth_from(self.starts)
        ways = []
        if self.above is not None:
            above = self.above.search(cut, free=free)
            parent = {node: None for node in parent if node in above.parent}
            ways = [above.hops(node) for node in parent]
            depth -= min((len(way) - 1 for way in ways), default=0)
        level = list(parent)
        all_free = self.rulings.gates_are_open
        for _ in range(depth):
            nodes: list[int] = []
            for caller in level:
                for node in edges[caller] if all_free else self._callees(caller, free=free):
                    if node not in parent and node not in out:
                        parent[node] = caller
                        nodes.append(node)
            level = nodes
        first: dict[int, int] = {}
        keep = first.setdefault
        for node in parent:
            for number in groups[node]:
                keep(number, node)
        is_free = (
            free
            or all_free
            or (
                all(len(self._callees(node, free=True)) == len(edges[node]) for node in parent)
                and all(hop.decision == "allowed" for way in ways for hop in way)
            )
        )
        return Search(self, parent, first, is_free)

    def _callees(self, caller: int, *, free: bool) -> Sequence[int]:
        """The workers that the one at `caller` may call; if `free`, without a question."""
        edges = self.premises.workers.edges[caller]
        if not self.premises.shapes.delegates:
            return edges if edges and self._passes(caller, edges[0], free=free) else ()
        return [node for node in edges if self._passes(caller, node, free=free)]

    def _passes(self, caller: int, callee: int, *, free: bool) -> bool:
        gate = self.gate(caller, callee)
        return gate == "allowed" or not (free or gate == "blocked")

    def gate(self, caller: int, callee: int) -> Decision:
        """The decision over a call of the worker at `callee` by the one at `caller`."""
        return self.rulings.gate(self.names[caller], self.names[callee])


def _delegate(shapes: Shapes, caller: str, shape: Shape) -> str:
    """The first delegate of `caller` whose call raises the capabilities of `shape`; its name differs by worker."""
    graph, delegates = shapes.graph, shapes.graph.edges[caller]
    if not shapes.delegates and shapes.workers.without_files.isdisjoint(delegates):
        return delegates[0]  # a call raises nothing else about the delegate
    return next(name for name in delegates if shapes.is_delegation(shape, graph.workers[caller], name))


def rows_of(
    walk: Walk,
    calls: Iterable[tuple[Shape, Reference]] = (),
    toolset: str | None = None,
    tool: str | None = None,
) -> tuple[Row, ...]:
    """The rows of a tree of calls, the worst first; with `toolset` or `tool`, of its calls alone.

    `calls` are those of a function that starts the tree.
    """
    best = walk.best(toolset, tool)
    shapes = walk.premises.shapes
    for number in best.keys() & shapes.implied:
        best[number] = best[number]._replace(implied=True)
    rows = [best[number] for number in sorted(best, key=shapes.rank.__getitem__)]
    if not shapes.compared:
        rows = telling(rows)
    shaped = [
        walk.row_of_call(shape, called)
        for shape, called in calls
        if toolset in (None, called.name) and (tool is None or shape.is_of(tool))
    ]
    if shaped:
        rows = with_rows(rows, shaped)
    return arranged(rows)
