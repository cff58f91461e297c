"""What each entry can reach through delegation: every capability, by which path, behind which gate.

Every decision here is one of `authority.decide`, over calls that stand for all the calls there can be: those of
`shapes`. Whatever several entries or several calls share is worked out once.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from llmdo import inventory, topology
from llmdo.authority import (
    STRICTNESS,
    Authority,
    Capability,
    Ceiling,
    base_rules,
    decide,
    scope_contains,
    scope_order,
    strictest,
)
from llmdo.bounds import Bounds
from llmdo.shapes import FRESH, Shape, Shapes, written_names, written_scopes
from llmdo.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.authority import Decision, Reason, Rule, Verdict
    from llmdo.graph import Entry, Graph, Reference, Use, Worker
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


@dataclass(frozen=True)
class Analysis:
    """A graph prepared for questions about reach; what several entries need is worked out once."""

    graph: Graph
    policy: tuple[Rule, ...] = ()
    """Rules of the person's `policy.toml`."""
    also: tuple[Capability, ...] | None = None
    """What two analyses name together: with it all tools get a row for each class of scopes, so rows compare."""
    _answers: dict[tuple[str, str, bool], tuple[Row, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _verdicts: dict[tuple[Rule, ...], dict[Shape, Verdict]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _inside: dict[tuple[Capability, ...], dict[frozenset[Capability], bool]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _cuts: dict[frozenset[Capability], frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def base(self) -> tuple[Rule, ...]:
        """The base rules of the workspace."""
        return base_rules(self.graph.rules)

    @cached_property
    def _base_by_name(self) -> Mapping[str, Sequence[tuple[int, Rule]]]:
        """The base rules by the name in them, each with its position."""
        found: dict[str, list[tuple[int, Rule]]] = {}
        for position, rule in enumerate(self.base):
            found.setdefault(rule.capability.name, []).append((position, rule))
        return found

    @cached_property
    def ceilings(self) -> Mapping[str, Ceiling]:
        """The ceiling of each worker that has one."""
        return {
            name: Ceiling(worker.may, f"worker `{name}`", worker.may_at)
            for name, worker in self.graph.workers.items()
            if worker.may is not None
        }

    @cached_property
    def _ceilings_alike(self) -> Sequence[tuple[Ceiling, Sequence[str]]]:
        """The ceilings that differ, each with the workers that have such a one."""
        names: dict[tuple[Capability, ...], list[str]] = {}
        for name, ceiling in self.ceilings.items():
            names.setdefault(ceiling.capabilities, []).append(name)
        return [(self.ceilings[alike[0]], alike) for alike in names.values()]

    @cached_property
    def edges(self) -> Mapping[str, tuple[str, ...]]:
        """The delegates of each worker, sorted."""
        workers = self.graph.workers
        return {
            name: tuple([use.name for use in worker.uses if use.name in workers])
            for name, worker in workers.items()
        }

    @cached_property
    def written(self) -> tuple[Capability, ...]:
        """Every capability with a scope that a rule or a ceiling names, sorted."""
        return written_scopes(self.graph, self.policy, self.also or ())

    @cached_property
    def shapes(self) -> Shapes:
        """The calls that the workers can make."""
        named = written_names(self.graph, (*self.base, *self.policy), self.also or ())
        return Shapes(self.graph, self.written, named, self.also is not None)

    @cached_property
    def bounds(self) -> Bounds:
        """What could be reached at most."""
        return Bounds(self.edges, self.shapes)

    @cached_property
    def height(self) -> int | None:
        """How many delegations the longest chain of all takes; None where chains run in circles."""
        heights: dict[str, int] = {}
        for name in topology.ends_first(self.edges, frozenset()):
            if not all(other in heights for other in self.edges[name]):
                return None
            heights[name] = max([heights[other] + 1 for other in self.edges[name]], default=0)
        return max(heights.values(), default=0)

    def may_reach(self, entry: Entry, rows: int) -> bool:
        """Whether `entry` may reach one of these rows, by the bounds; no is certain."""
        # What a function does itself is in no bound.
        return entry.function is not None or bool(self.bounds.of(_known(self.graph, entry)) & rows)

    def of(self, entry: Entry, *, ceiling: bool = True) -> tuple[Row, ...]:
        """The reach of `entry`, sorted by capability and scope; without its own ceiling if `ceiling` is false."""
        question = ("entry", entry.name, ceiling)
        if question not in self._answers:
            own = entry_ceiling(entry) if ceiling else None
            walk = _Walk(self, _known(self.graph, entry), entry.approvals, own, None)
            calls = self._calls(entry) if entry.function else ()
            self._answers[question] = _rows(walk, calls)
        return self._answers[question]

    def of_worker(self, name: str) -> tuple[Row, ...]:
        """The reach of the worker `name` with everything below it: without its own ceiling, and without any entry."""
        question = ("worker", name, False)
        if question not in self._answers:
            self._answers[question] = _rows(_Walk(self, (name,), (), None, name))
        return self._answers[question]

    def authority(self, layers: tuple[Rule, ...], ceilings: tuple[Ceiling, ...]) -> Authority:
        """What has a say over a call, given the layers and the ceilings on its path."""
        default = self.graph.settings.default
        return Authority(base=self.base, default=default, layers=(*layers, *self.policy), ceilings=ceilings)

    def verdict(self, shape: Shape, layers: tuple[Rule, ...]) -> Verdict:
        """The decision over a call, given the layers, as far as no ceiling cuts it off; its reasons name the row."""
        known = self._verdicts.setdefault(layers, {})
        if (verdict := known.get(shape)) is None:
            # Only rules for the name or for what is above it can have a say.
            base = [
                positioned
                for name in {label for raised in shape.raised for label in _prefixes(raised.name)}
                for positioned in self._base_by_name.get(name, ())
            ]
            base.sort(key=itemgetter(0))
            authority = replace(self.authority(layers, ()), base=tuple([rule for _, rule in base]))
            verdict = known[shape] = _shown(decide(shape.raised, shape.declared, authority), shape)
        return verdict

    def admits(self, ceiling: Ceiling, raised: frozenset[Capability]) -> bool:
        """Whether a call that raises this lies inside `ceiling`."""
        known = self._inside.setdefault(ceiling.capabilities, {})
        if (inside := known.get(raised)) is None:
            inside = known[raised] = all(map(ceiling.admits, raised))
        return inside

    def cut(self, raised: frozenset[Capability]) -> frozenset[str]:
        """The workers whose ceilings do not admit a call that raises this."""
        if (known := self._cuts.get(raised)) is None:
            known = self._cuts[raised] = frozenset(
                name
                for ceiling, names in self._ceilings_alike
                if not self.admits(ceiling, raised)
                for name in names
            )
        return known

    def _calls(self, entry: Entry) -> Iterator[tuple[Shape, Reference]]:
        """What the function of `entry` itself can raise: by calling workers, and by handing files to them."""
        for called in entry.calls:
            if callee := self.graph.workers.get(called.name):
                tool = inventory.delegation(self.graph, None, callee)
                for row, raised, declared in self.shapes.of_tool(tool, delegation=True):
                    yield Shape(row, raised, declared, callee.name, callee.name, "enforced"), called


def _prefixes(name: str) -> Iterator[str]:
    """The dotted name and all names above it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _known(graph: Graph, entry: Entry) -> tuple[str, ...]:
    return tuple(sorted({start.name for start in entry.starts if start.name in graph.workers}))


@dataclass(frozen=True)
class _Search:
    """The workers that a breadth-first search found, from where, and the first one of every group."""

    walk: _Walk
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
        """How the path compares: the shorter the better, then by the names on it."""
        return _length(self.path)


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
            assurance = _weaker(assurance, other.assurance)
        return _Found(first.shape, first.verdict, first.way, free, assurance)


@dataclass(frozen=True)
class _Walk:
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
            verdict = _shown(decide(found.shape.raised, found.shape.declared, authority), found.shape)
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
        for depth in range(most + 1):
            found: list[str] = []
            for name in level:
                if not seen.issuperset(groups[name]):
                    new = groups[name] - seen
                    seen |= new
                    first.update(dict.fromkeys(sorted(new), name))
                if depth == most or not edges[name]:
                    continue
                if (gate := self.gate(name)) != "allowed":
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
        approvals = self.analysis.shapes.approvals.get(name, ())
        if (known := self._gates.get(approvals)) is None:
            authority = self.analysis.authority((*self.layers, *approvals), ())
            known = decide([inventory.DELEGATE], [inventory.DELEGATE], authority).decision
            self._gates[approvals] = known
        return known


def _shown(verdict: Verdict, shape: Shape) -> Verdict:
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


def _rows(walk: _Walk, calls: Iterable[tuple[Shape, Reference]] = ()) -> tuple[Row, ...]:
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
        rows = list(_telling(rows))
    if made := [walk.row_of_call(shape, called) for shape, called in calls]:
        rows = _with(rows, made)
    narrowed = {id(row) for row in _narrowed(rows)}
    return tuple(replace(row, elsewhere=True) if id(row) in narrowed else row for row in rows)


def _telling(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows without those that are implied and no milder than a wider row."""
    for row in rows:
        strict = STRICTNESS[row.mildest]
        wider = (one for one in rows if one is not row and one.capability.contains(row.capability))
        if not row.implied or all(STRICTNESS[one.mildest] > strict for one in wider):
            yield row


def _with(rows: Iterable[Row], more: Iterable[Row]) -> list[Row]:
    """The rows of both, sorted, one for each capability."""
    joined: dict[Capability, Row] = {}
    for row in (*rows, *more):
        known = joined.get(row.capability)
        joined[row.capability] = _joined(known, row) if known else row
    return sorted(joined.values(), key=lambda row: str(row.capability))


def _narrowed(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows whose scope holds that of another one of the same name."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.capability.name, []).append(row)
    for alike in by_name.values():
        for wide, narrow in pairwise(sorted(alike, key=lambda row: scope_order(row.capability.scope))):
            if scope_contains(wide.capability.scope, narrow.capability.scope):
                yield wide


def entry_ceiling(entry: Entry) -> Ceiling | None:
    """The ceiling that `entry` declares; None where it declares none."""
    return None if entry.may is None else Ceiling(entry.may, f"entry `{entry.name}`", entry.may_at)


def _joined(one: Row, other: Row) -> Row:
    """Of two ways to the same row: the shorter path that is not blocked, the shorter free one, the weaker assurance."""
    first, second = sorted((one, other), key=_preference)
    free = min((row.free for row in (one, other) if row.free is not None), key=_length, default=None)
    return replace(first, free=free, assurance=_weaker(first.assurance, second.assurance))


def _weaker(one: Assurance, other: Assurance) -> Assurance:
    return max(one, other, key=ASSURANCES.index)


def _preference(row: Row) -> tuple[bool, int, tuple[str, ...], str]:
    return (row.decision == "blocked", *_length(row.path), row.tool)


def _length(path: tuple[Hop, ...]) -> tuple[int, tuple[str, ...]]:
    return len(path), tuple(hop.name for hop in path)


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep the delegations of an entry go."""

    longest: tuple[str, ...]
    """The workers along a longest chain, ties by name; of an entry with recursion, up to where that begins."""
    recursion: str | None
    """A worker through which the chains never have to end; None where all of them do."""

    def is_exceeded(self, most: int) -> bool:
        """Whether some chain has to be longer than `most` delegations."""
        return self.recursion is None and len(self.longest) - 1 > most

    def __str__(self) -> str:
        if self.recursion:
            return f"bounded at run time through the recursion of {self.recursion}"
        return f"proved: at most {max(len(self.longest) - 1, 0)}"


def depth_of(analysis: Analysis, entry: Entry) -> Depth:
    """The depth of `entry`, whatever `max-depth` says."""
    starts = _known(analysis.graph, entry)
    reached = {name: analysis.edges[name] for name in inventory.reachable(analysis.graph, entry)}
    cyclic = sorted({name for knot in topology.knots(reached) for name in knot})
    longest: dict[str, tuple[str, ...]] = {}
    for name in topology.ends_first(reached, skip=frozenset(cyclic)):
        below = [longest[other] for other in reached[name] if other in longest]
        longest[name] = (name, *min(below, key=lambda path: (-len(path), path), default=()))
    chains = [longest[name] for name in starts if name in longest]
    recursive = [name for name in cyclic if analysis.graph.workers[name].recursive]
    through = next(iter((*recursive, *cyclic)), None)
    return Depth(min(chains, key=lambda path: (-len(path), path), default=()), through)
