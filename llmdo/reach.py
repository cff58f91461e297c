"""What each entry can reach through delegation: every capability, by which path, behind which gate.

Every decision here is one of `authority.decide`, over calls that stand for all the calls there can be. A tool
without a hook raises all that it declares with every call, so it is one call. A tool with a hook may raise any
part of it: one call for each capability and each class of scopes. Scopes are nested or apart, so the scopes that
anybody wrote cut the workspace into classes within which nothing can decide differently; one path of each class
stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from llmdo import inventory, topology
from llmdo.authority import (
    Authority,
    Capability,
    Ceiling,
    base_rules,
    decide,
    scope_contains,
    strictest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.authority import Decision, Reason, Rule
    from llmdo.graph import Entry, Graph, Reference, Tool, Use, Worker

Assurance = Literal["enforced", "declared", "open"]

ASSURANCES: tuple[Assurance, ...] = ("enforced", "declared", "open")
"""From the strongest to the weakest."""

FRESH = "*"
"""A file name that no scope can spell: with it a path stands for all that no narrower scope names."""


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

    @property
    def mildest(self) -> Decision:
        """The decision on the mildest path."""
        return "allowed" if self.free is not None else self.decision


@dataclass(frozen=True, slots=True)
class _Shape:
    """A call that stands for many: what it raises, and the row that it belongs to."""

    row: Capability
    raised: frozenset[Capability]
    declared: frozenset[Capability]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A call that every worker of one kind can make."""

    shape: _Shape
    toolset: str
    tool: str
    assurance: Assurance


@dataclass(frozen=True, slots=True)
class _Search:
    """The workers that a breadth-first search found, from where, and the first one of every kind."""

    parent: Mapping[str, str | None]
    """In the order found: shorter paths first, ties by the names on them."""
    first: Mapping[int, str]


@dataclass(frozen=True)
class Analysis:
    """A graph prepared for questions about reach; what several entries need is worked out once."""

    graph: Graph
    policy: tuple[Rule, ...] = ()
    """Rules of the person's `policy.toml`."""
    also: tuple[Capability, ...] | None = None
    """What two analyses name together: with it all tools get a row for each class of scopes, so rows compare."""

    @cached_property
    def base(self) -> tuple[Rule, ...]:
        """The base rules of the workspace."""
        return base_rules(self.graph.rules)

    @cached_property
    def ceilings(self) -> Mapping[str, Ceiling]:
        """The ceiling of each worker that has one."""
        return {
            name: Ceiling(worker.may, f"worker `{name}`", worker.may_at)
            for name, worker in self.graph.workers.items()
            if worker.may is not None
        }

    @cached_property
    def edges(self) -> Mapping[str, tuple[str, ...]]:
        """The delegates of each worker, sorted."""
        workers = self.graph.workers
        return {
            name: tuple(use.name for use in worker.uses if use.name in workers)
            for name, worker in workers.items()
        }

    @cached_property
    def kinds(self) -> tuple[Mapping[str, int], tuple[tuple[Worker, tuple[_Offer, ...]], ...]]:
        """Worker to the number of its kind, and for each kind a worker of it with all calls it can make.

        Workers of one kind have the same tools, declared alike, and the same rules of their own.
        """
        numbers: dict[object, int] = {}
        kind_by_worker: dict[str, int] = {}
        found: list[tuple[Worker, tuple[_Offer, ...]]] = []
        for name, worker in self.graph.workers.items():
            tools = tuple(
                (use.name, tool)
                for use in worker.uses
                for tool in inventory.tools_of(self.graph, worker, use).values()
            )
            calls = frozenset(
                (toolset, *_kind(tool, toolset in self.graph.workers)) for toolset, tool in tools
            )
            key = (calls, worker.approvals)
            if key not in numbers:
                numbers[key] = len(found)
                found.append((worker, tuple(self._offers(tools))))
            kind_by_worker[name] = numbers[key]
        return kind_by_worker, tuple(found)

    @cached_property
    def written(self) -> tuple[Capability, ...]:
        """Every capability with a scope that a rule or a ceiling names, sorted."""
        graph = self.graph
        holders: tuple[Entry | Worker, ...] = (*graph.entries.values(), *graph.workers.values())
        rules = [*graph.rules, *self.policy, *(rule for one in holders for rule in one.approvals)]
        ceilings = [capability for one in holders for capability in one.may or ()]
        named = {*(rule.capability for rule in rules), *ceilings, *(self.also or ())}
        return tuple(sorted((one for one in named if one.scope is not None), key=str))

    def of(self, entry: Entry, *, ceiling: bool = True) -> tuple[Row, ...]:
        """The reach of `entry`, sorted by capability and scope; without its own ceiling if `ceiling` is false."""
        own = entry_ceiling(entry) if ceiling else None
        walk = _Walk(self, _known(self.graph, entry), entry.approvals, own, None)
        return _rows(walk, self._calls(entry) if entry.function else ())

    def of_worker(self, name: str) -> tuple[Row, ...]:
        """The reach of the worker `name` with everything below it: without its own ceiling, and without any entry."""
        return _rows(_Walk(self, (name,), (), None, name))

    def authority(self, layers: tuple[Rule, ...], ceilings: tuple[Ceiling, ...]) -> Authority:
        """What has a say over a call, given the layers and the ceilings on its path."""
        default = self.graph.settings.default
        return Authority(base=self.base, default=default, layers=(*layers, *self.policy), ceilings=ceilings)

    def _calls(self, entry: Entry) -> Iterator[tuple[_Offer, Reference]]:
        """What the function of `entry` itself can raise: by calling workers, and by handing files to them."""
        for called in entry.calls:
            if callee := self.graph.workers.get(called.name):
                tool = inventory.delegation(self.graph, None, callee)
                for shape in self._shapes(tool, delegation=True):
                    yield _Offer(shape, callee.name, callee.name, "enforced"), called

    def _offers(self, tools: Iterable[tuple[str, Tool]]) -> Iterator[_Offer]:
        for toolset, tool in tools:
            delegation = toolset in self.graph.workers
            for shape in self._shapes(tool, delegation=delegation):
                yield _Offer(
                    shape, "" if delegation else toolset, tool.name, assurance_of(self.graph, toolset)
                )

    def _shapes(self, tool: Tool, *, delegation: bool) -> Iterator[_Shape]:
        declared = frozenset(tool.capabilities)
        if not tool.hook:
            for capability in tool.capabilities:
                rows = [capability] if self.also is None else [row for row, _ in self._classes(capability)]
                for row in rows:
                    yield _Shape(row, declared, declared)
            return
        always = {inventory.DELEGATE} if delegation else set()
        for capability in tool.capabilities:
            for row, representative in self._classes(capability):
                yield _Shape(row, frozenset({representative, *always}), declared)

    def _classes(self, declared: Capability) -> Iterator[tuple[Capability, Capability]]:
        """Each class of scopes within `declared`: how it is shown, and a call that stands for it."""
        narrower = {
            one.scope
            for one in self.written
            if one.covers_name(declared.name)
            and one.scope != declared.scope
            and scope_contains(declared.scope, one.scope)
        }
        if declared.scope is None and not narrower:
            yield declared, declared
            return
        for scope in sorted({declared.scope or "**", *filter(None, narrower)}):
            yield Capability(declared.name, scope), Capability(declared.name, _representative(scope))


def _kind(tool: Tool, delegation: bool) -> tuple[str, frozenset[Capability], bool]:  # noqa: FBT001
    """What of a tool decides about it; one delegate is as good as another."""
    return ("" if delegation else tool.name, frozenset(tool.capabilities), tool.hook)


def _known(graph: Graph, entry: Entry) -> tuple[str, ...]:
    return tuple(sorted({start.name for start in entry.starts if start.name in graph.workers}))


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
    _gates: dict[int, Decision] = field(default_factory=dict)

    def row(self, kind: int, worker: Worker, offer: _Offer) -> Row:
        """The row of a call that workers of one kind can make."""
        analysis, shape = self.analysis, offer.shape
        layers = (*self.layers, *worker.approvals)
        cut = frozenset(
            name
            for name, ceiling in analysis.ceilings.items()
            if name != self.ignored and not all(map(ceiling.admits, shape.raised))
        )
        anywhere = self.search(frozenset(), free=False).first[kind]
        inside = self.own is None or all(map(self.own.admits, shape.raised))
        found = self.search(cut, free=False).first.get(kind) if inside else None
        path = self.path(found or anywhere, cut if found else frozenset(), offer, free=False)
        ceilings = (*([self.own] if self.own else []), *self._ceilings(path[:-1]))
        verdict = decide(shape.raised, shape.declared, analysis.authority(layers, ceilings))
        free = None
        if verdict.decision == "allowed" and (freely := self.search(cut, free=True).first.get(kind)):
            free = self.path(freely, cut, offer, free=True)
        gates = () if verdict.decision == "blocked" else (hop.decision for hop in path)
        return Row(
            capability=shape.row,
            elsewhere=False,
            decision=strictest([verdict.decision, *gates]),
            path=path,
            tool=offer.tool if offer.toolset else path[-1].name,
            reasons=tuple(_shown(reason, shape) for reason in verdict.reasons),
            free=free,
            assurance=offer.assurance,
        )

    def row_of_call(self, offer: _Offer, called: Reference) -> Row:
        """The row of a call that the function of the entry makes."""
        ceilings = (self.own,) if self.own else ()
        authority = self.analysis.authority(self.layers, ceilings)
        verdict = decide(offer.shape.raised, offer.shape.declared, authority)
        path = (Hop(called.name, called),)
        return Row(
            capability=offer.shape.row,
            elsewhere=False,
            decision=verdict.decision,
            path=path,
            tool=offer.tool,
            reasons=verdict.reasons,
            free=path if verdict.decision == "allowed" else None,
            assurance=offer.assurance,
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
        edges = self.analysis.edges
        kinds = self.analysis.kinds[0]
        parent: dict[str, str | None] = {name: None for name in self.starts if name not in cut}
        first: dict[int, str] = {}
        level = list(parent)
        for depth in range(self.analysis.graph.settings.max_depth + 1):
            found: list[str] = []
            for name in level:
                first.setdefault(kinds[name], name)
                if depth == self.analysis.graph.settings.max_depth or not edges[name]:
                    continue
                gate = self.gate(name)
                if gate == "blocked" or (free and gate != "allowed"):
                    continue
                for delegate in edges[name]:
                    if delegate not in parent and delegate not in cut:
                        parent[delegate] = name
                        found.append(delegate)
            level = found
        return _Search(parent, first)

    def gate(self, name: str) -> Decision:
        """The decision over a delegation by the worker `name`."""
        kind = self.analysis.kinds[0][name]
        if kind not in self._gates:
            layers = (*self.layers, *self.analysis.graph.workers[name].approvals)
            authority = self.analysis.authority(layers, ())
            self._gates[kind] = decide([inventory.DELEGATE], [inventory.DELEGATE], authority).decision
        return self._gates[kind]

    def path(self, name: str, cut: frozenset[str], offer: _Offer, *, free: bool) -> tuple[Hop, ...]:
        """The hops to the worker `name` and on to the toolset that makes the call."""
        workers = self.analysis.graph.workers
        parent = self.search(cut, free=free).parent
        names = [name]
        while (caller := parent[names[-1]]) is not None:
            names.append(caller)
        names.reverse()
        hops = [Hop(names[0], None)]
        for caller, callee in pairwise(names):
            hops.append(Hop(callee, _use(workers[caller], callee), self.gate(caller)))
        toolset = offer.toolset or self._delegate(workers[name], offer)
        return (*hops, Hop(toolset, _use(workers[name], toolset)))

    def _delegate(self, worker: Worker, offer: _Offer) -> str:
        """The first delegate of `worker` whose call raises what `offer` says: of its kind, others have other names."""
        graph = self.analysis.graph
        return next(
            use.name
            for use in worker.uses
            if use.name in graph.workers
            for tool in inventory.tools_of(graph, worker, use).values()
            if offer.shape.declared == frozenset(tool.capabilities)
        )


def _shown(reason: Reason, shape: _Shape) -> Reason:
    """The reason in terms of the row, where it speaks of the path that stands for it."""
    stands = (reason.capability.scope or "").endswith(FRESH) and reason.capability.name == shape.row.name
    return replace(reason, capability=shape.row) if stands else reason


def _use(worker: Worker, name: str) -> Use:
    return next(use for use in worker.uses if use.name == name)


def _rows(walk: _Walk, calls: Iterable[tuple[_Offer, Reference]] = ()) -> tuple[Row, ...]:
    """The rows of a tree of calls; `calls` are those of a function that starts it."""
    rows: dict[Capability, Row] = {}
    kinds = walk.analysis.kinds[1]
    for offer, called in calls:
        row = walk.row_of_call(offer, called)
        known = rows.get(offer.shape.row)
        rows[offer.shape.row] = _joined(known, row) if known else row
    for kind in walk.search(frozenset(), free=False).first:
        worker, offers = kinds[kind]
        for offer in offers:
            row = walk.row(kind, worker, offer)
            known = rows.get(offer.shape.row)
            rows[offer.shape.row] = _joined(known, row) if known else row
    narrowed = {
        wide
        for wide in rows
        for narrow in rows
        if wide.name == narrow.name and wide != narrow and scope_contains(wide.scope, narrow.scope)
    }
    return tuple(
        replace(row, elsewhere=True) if row.capability in narrowed else row
        for row in sorted(rows.values(), key=lambda row: str(row.capability))
    )


def _representative(scope: str) -> str:
    if scope == "**":
        return FRESH
    return f"{scope[:-2]}{FRESH}" if scope.endswith("/**") else scope


def entry_ceiling(entry: Entry) -> Ceiling | None:
    """The ceiling that `entry` declares; None where it declares none."""
    return None if entry.may is None else Ceiling(entry.may, f"entry `{entry.name}`", entry.may_at)


def assurance_of(graph: Graph, toolset: str) -> Assurance:
    """How far a statement about a toolset holds: a server without isolation is open, in-process Python declared."""
    if toolset in graph.toolsets:
        return "open" if graph.toolsets[toolset].kind == "mcp" else "declared"
    return "enforced"


def _joined(one: Row, other: Row) -> Row:
    """Of two ways to the same row: the shorter path that is not blocked, the shorter free one, the weaker assurance."""
    first, second = sorted((one, other), key=_preference)
    free = min((row.free for row in (one, other) if row.free is not None), key=_length, default=None)
    weaker = max(first.assurance, second.assurance, key=ASSURANCES.index)
    return replace(first, free=free, assurance=weaker)


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
