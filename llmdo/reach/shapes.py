"""The calls that the workers of a graph can make: few enough to ask about, and representing all possible ones.

A tool without a hook raises all that it declares with every call, so it is one call. A tool with a hook may raise any
part: one call for each capability and each class of scopes. Scopes are nested or apart, so the written scopes cut the
workspace into classes with equal decisions; one path represents each class.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from llmdo.base.values import dataclass, field, replace
from llmdo.graph import builtin, code_calls, toolkit
from llmdo.policy.authority import (
    Capability,
    Rule,
    Verdict,
    gravity,
    scope_contains,
    scope_order,
    scopes_meet,
)
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME, has_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.toolset import Tool, Toolset
    from llmdo.graph.worker import Use, Worker
    from llmdo.policy.composition import OwnRule
    from llmdo.reach.workers import WorkerIndex

Assurance = Literal["enforced", "declared", "open"]

FRESH = "*"
"""A file name that no scope can spell: a path with it represents all that no narrower scope names."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A call that represents many. Each is equal to itself only: they are asked about often."""

    row: Capability
    """The line of reach that it belongs to: one object for all shapes of that line."""
    raised: frozenset[Capability]
    declared: frozenset[Capability]
    toolset: str
    """Empty for a delegation: of two delegates that declare the same, one is as good as the other."""
    tool: str
    assurance: Assurance
    implied: bool = False
    """Whether a rule or a ceiling names it, below the capability that the tool declares."""
    other_tools: tuple[str, ...] = ()
    """The other tools of the toolset with a call that does the same."""

    def is_of(self, tool: str) -> bool:
        """Whether a tool has this call."""
        return tool == self.tool or tool in self.other_tools


@dataclass(frozen=True, slots=True)
class Group:
    """The calls of one line of a worker's `toolsets`: equal for every worker with such a line and such rules."""

    own: tuple[OwnRule, ...]
    """The own rules of one of the workers."""
    shapes: tuple[Shape, ...]

    @property
    def toolset(self) -> str:
        """The toolset that the line names; empty for a worker, or if nothing can be called."""
        return self.shapes[0].toolset if self.shapes else ""


class _Kind(NamedTuple):
    """A kind of delegates of a worker: the calls of all of one kind raise the same."""

    takes_none: bool
    """Whether it takes no files."""
    name: str
    """Empty if no rule and no ceiling about delegation names it."""
    is_ours: bool
    """Whether llmdo runs it, so that the gate stands before the call."""


class _Reading(NamedTuple):
    """The content of the lines of all workers."""

    groups: list[Group]
    by_node: list[tuple[int, ...]]
    numbers: dict[int, dict[tuple[object, ...], int]]
    """For each set of own rules, by identity: a line to the number of its group."""
    shapes: dict[tuple[object, ...], tuple[Shape, ...]]
    """A line to the calls that it offers, whatever the rules of the worker."""


@dataclass
class Shapes:
    """The calls of a graph, those of all its workers at once."""

    workers: WorkerIndex
    written: tuple[Capability, ...]
    """Every capability with a scope that anybody wrote."""
    named: frozenset[str]
    """Every name that a rule or a ceiling uses."""
    compared: bool
    """Whether tools without a hook also get a row for each class of scopes, so that two graphs compare."""
    _rows: dict[Capability, Capability] = field(default_factory=dict, compare=False, repr=False)
    _classes: dict[Capability, tuple[tuple[Capability, Capability], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    _shared: dict[tuple[Capability, Capability], bool] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def graph(self) -> Graph:
        """The graph that they are the calls of."""
        return self.workers.graph

    @cached_property
    def _read(self) -> _Reading:
        """One look at each kind of worker: there are many workers, and most are like others."""
        read = _Reading([], [()] * len(self.graph.workers), {}, {})
        names, by_node, rules_of = list(self.graph.workers), read.by_node, self.workers.own_rules.get
        for nodes, kinds in self._kinds:
            name = names[nodes[0]]
            groups = self._groups_of(read, name, rules_of(name, ()), kinds)
            for node in nodes:
                by_node[node] = groups
        return read

    @property
    def _kinds(self) -> Iterator[tuple[Sequence[int], tuple[_Kind, ...]]]:
        """The nodes of workers that are alike, and the kinds of their delegates."""
        edges, are_alike = list(self.graph.edges.values()), not (self.workers.without_files or self.delegates)
        for nodes in self.workers.alike:
            if not edges[nodes[0]]:
                yield nodes, ()
            elif are_alike:
                yield nodes, (_Kind(takes_none=False, name="", is_ours=True),)
            else:
                numbers_by_kinds: dict[tuple[_Kind, ...], list[int]] = {}
                for node in nodes:
                    kinds = tuple(dict.fromkeys(map(self._kind, edges[node])))
                    numbers_by_kinds.setdefault(kinds, []).append(node)
                yield from ((alike, kinds) for kinds, alike in numbers_by_kinds.items())

    def _groups_of(
        self, read: _Reading, name: str, rules: tuple[OwnRule, ...], kinds: tuple[_Kind, ...]
    ) -> tuple[int, ...]:
        """The numbers of the groups of a worker with delegates of these `kinds`; new ones are added."""
        lines: tuple[tuple[object, ...], ...] = self.graph.lines[name]
        if kinds:
            handed = self._handed.get(id(lines), "")
            lines = (*lines, *[(kind, "" if kind.takes_none else handed) for kind in kinds])
        numbers = read.numbers.setdefault(id(rules), {})
        for line in lines:
            if line not in numbers:
                numbers[line] = len(read.groups)
                read.groups.append(Group(rules, self._offered(read, name, line)))
        return tuple(sorted(map(numbers.__getitem__, lines)))

    @cached_property
    def _handed(self) -> Mapping[int, str]:
        """Lines, by identity, to their configuration for reading files: these may be passed to a delegate."""
        return {
            id(lines): config or "{}"
            for lines in self.graph.kinds_of_lines
            for used, config in lines
            if used == "filesystem"
        }

    def _offered(self, read: _Reading, worker: str, line: tuple[object, ...]) -> tuple[Shape, ...]:
        """The calls that a `line` of `worker` offers."""
        if (known := read.shapes.get(line)) is None:
            used = line[0]
            if not isinstance(used, str):
                # What a delegation raises depends on nothing else about the delegate.
                used = next(edge for edge in self.graph.edges[worker] if self._kind(edge) == used)
            use = self.graph.use(worker, used)
            known = read.shapes[line] = self._shapes_of(self.graph.workers[worker], use)
        return known

    @property
    def groups(self) -> Sequence[Group]:
        """Every group, in the order of the workers."""
        return self._read.groups

    @cached_property
    def rank(self) -> Mapping[int, int]:
        """The identity of each row to its place in the order of gravity."""
        rows = (shape.row for group in self.groups for shape in group.shapes)
        alike = {id(row): row for row in rows}
        return {
            identity: position
            for position, identity in enumerate(sorted(alike, key=lambda each: gravity(alike[each])))
        }

    @property
    def by_node(self) -> Sequence[tuple[int, ...]]:
        """The indexes of a worker's groups, sorted, for each node of a worker."""
        return self._read.by_node

    def _shapes_of(self, worker: Worker, use: Use) -> tuple[Shape, ...]:
        delegation = use.name in self.graph.workers
        toolset = "" if delegation else use.name
        is_ours = worker.format is None
        assurance = assurance_of(self.graph, toolset) if is_ours or toolset else "declared"
        distinct: dict[object, Shape] = {}
        others: dict[object, list[str]] = {}
        offered = [
            (tool, name, assurance)
            for name, tool in sorted(toolkit.tools_of(self.graph, worker, use).items())
        ]
        offered += [
            (call.tool, call.name, assurance_of(self.graph, call.use.name))
            for call in code_calls.calls_by(self.graph, use)
        ]
        for tool, name, assured in offered:
            opened = "open" if tool.is_open else assured
            calls = self.of_tool(tool, delegation=delegation, is_ours=is_ours)
            for row, raised, declared in calls:
                # Of tools that do the same, the first by name speaks for all; the least assured for none but itself.
                if (call := (row, raised, declared, opened)) in distinct:
                    others.setdefault(call, []).append(name)
                    continue
                row = self.line(row)
                implied = not any(
                    row.name == capability.name and scope_contains(capability.scope, row.scope)
                    for capability in declared
                )
                distinct[call] = Shape(row, raised, declared, toolset, name, opened, implied)
        for alike, names in others.items():
            distinct[alike] = replace(distinct[alike], other_tools=tuple(names))
        return tuple(distinct.values())

    def line(self, row: Capability) -> Capability:
        """The row of reach for `row`: `**` is everywhere, as no scope is, and a tool may say either."""
        return self._rows.setdefault(Capability(row.name) if row.is_everywhere else row, row)

    def of_tool(
        self, tool: Tool, *, delegation: bool, is_ours: bool = True
    ) -> Iterator[tuple[Capability, frozenset[Capability], frozenset[Capability]]]:
        """The row, the raised and the declared capabilities of each representative call of a tool."""
        declared = frozenset(tool.capabilities)
        if not (tool.hook or is_ours or delegation):
            yield from self._by_file(tool.capabilities)
            return
        if not tool.hook:
            for capability in tool.capabilities:
                rows = [row for row, _ in self._within(capability)] if self.compared else [capability]
                for row in rows:
                    yield row, declared, declared
            return
        always: frozenset[Capability] = frozenset()
        if delegation:
            row, representative = self.delegating(tool.name)
            always = frozenset({representative})
            yield row, always, declared
        for capability in tool.capabilities:
            if delegation and capability == toolkit.DELEGATE:
                continue
            for narrowed in (capability, *self._below(capability)):
                for row, representative in self._within(narrowed):
                    yield row, frozenset({representative, *always}), declared

    def _by_file(
        self, declared: Sequence[Capability]
    ) -> Iterator[tuple[Capability, frozenset[Capability], frozenset[Capability]]]:
        """The same of a tool that an agent of another tool has: what a call is about, its arguments tell.

        Most often it is none of those files that only a full name admits.
        """
        for capability in declared:
            usual = [each for each in declared if each == capability or each.name not in ONLY_BY_FULL_NAME]
            for row, representative in self._within(capability):
                shown_as = Capability(row.name) if row.is_everywhere else row
                for raised in (usual, declared):
                    about = frozenset(_about(representative, each) for each in raised)
                    yield shown_as, about, frozenset(declared)

    @cached_property
    def delegates(self) -> frozenset[str]:
        """The workers that rules and ceilings about delegation name."""
        return frozenset(
            capability.scope
            for capability in self.written
            if capability.scope not in (None, "**") and capability.covers_name(toolkit.DELEGATE.name)
        )

    def delegating(self, callee: str) -> tuple[Capability, Capability]:
        """The call of the worker `callee`, as shown and as represented: by name if a rule or a ceiling names it."""
        if not self.delegates:
            return toolkit.DELEGATE, toolkit.DELEGATE
        if callee in self.delegates:
            return toolkit.delegating(callee), toolkit.delegating(callee)
        return toolkit.delegating("**"), toolkit.delegating(FRESH)

    def is_delegation(self, shape: Shape, caller: Worker, callee: str) -> bool:
        """Whether `shape` represents a call of the worker `callee` by `caller`."""
        declared = toolkit.delegation(self.graph, caller, self.graph.workers[callee]).capabilities
        return self.delegating(callee)[1] in shape.raised and shape.declared == frozenset(declared)

    def _kind(self, delegate: str) -> _Kind:
        return _Kind(
            takes_none=delegate in self.workers.without_files,
            name=delegate if delegate in self.delegates else "",
            is_ours=self.graph.workers[delegate].format is None,
        )

    def _below(self, declared: Capability) -> Iterator[Capability]:
        """The capabilities below `declared` that may be decided otherwise, as a rule or a ceiling names them."""
        for name in sorted(self.named):
            if name.startswith(f"{declared.name}."):
                yield Capability(name, declared.scope)

    @cached_property
    def implied(self) -> frozenset[int]:
        """The identities of the rows that no tool declares by name."""
        stated = {id(shape.row) for group in self.groups for shape in group.shapes if not shape.implied}
        return frozenset(self.rank.keys() - stated)

    def _within(self, declared: Capability) -> tuple[tuple[Capability, Capability], ...]:
        """Each class of scopes within `declared`: as shown, and a call that represents it."""
        if (known := self._classes.get(declared)) is None:
            known = self._classes[declared] = tuple(self._cut(declared))
        return known

    def _cut(self, declared: Capability) -> Iterator[tuple[Capability, Capability]]:
        labels = declared.name.split(".")
        narrower = {
            scope
            for length in range(1, len(labels) + 1)
            for scope in _inside(self._scopes.get(".".join(labels[:length]), ()), declared.scope)
            if scope != declared.scope
        }
        if declared.scope is None and not narrower:
            yield declared, declared
            return
        for scope in sorted({declared.scope or "**", *narrower}):
            yield Capability(declared.name, scope), Capability(declared.name, _representative(scope))

    def share_a_file(self, raised: Capability, other: Capability) -> bool:
        """Whether two calls may be about the same file, each with all calls that it represents."""
        if (known := self._shared.get((raised, other))) is None:
            known = self._shared[raised, other] = self._share(raised, other)
        return known

    def _share(self, raised: Capability, other: Capability) -> bool:
        scope, its = _whole(raised.scope), _whole(other.scope)
        if not scopes_meet(scope, its):
            return False
        file = _representative((its if scope_contains(scope, its) else scope) or "**")
        return self._represents(raised, file) and self._represents(other, file)

    def _represents(self, raised: Capability, file: str) -> bool:
        whole = _whole(raised.scope)
        narrower = (
            scope
            for name in raised.names
            for scope in (_inside(self._scopes.get(name, ()), whole) if whole != raised.scope else ())
            if scope != whole
        )
        return scope_contains(whole, file) and not any(scope_contains(scope, file) for scope in narrower)

    @cached_property
    def _scopes(self) -> Mapping[str, Sequence[str]]:
        """Name of a capability to its written scopes, in `scope_order`; a listing has those of `[sources]` of reads."""
        scopes_by_name: dict[str, set[str]] = {}
        for capability in (*self.written, *listed(self.graph)):
            scopes_by_name.setdefault(capability.name, set()).add(capability.scope or "**")
        return {name: sorted(scopes, key=scope_order) for name, scopes in scopes_by_name.items()}


def _about(raised: Capability, other: Capability) -> Capability:
    """`other` as a call raises it that raises `raised`: both are about the same file."""
    is_same = has_paths(raised.name) and has_paths(other.name)
    if not is_same or raised.scope is None or not scope_contains(other.scope, raised.scope):
        return other
    return Capability(other.name, raised.scope)


def _inside(scopes: Sequence[str], outer: str | None) -> Iterator[str]:
    """Those of `scopes`, which are in `scope_order`, that lie in `outer`."""
    at = bisect_left(scopes, scope_order(outer), key=scope_order)
    while at < len(scopes) and scope_contains(outer, scopes[at]):
        yield scopes[at]
        at += 1


def _representative(scope: str) -> str:
    if scope == "**":
        return FRESH
    return f"{scope[:-2]}{FRESH}" if scope.endswith("/**") else scope


def _whole(scope: str | None) -> str | None:
    """The class of scopes that a representative is one of; any other scope as it is."""
    is_fresh = scope is not None and scope.rpartition("/")[2] == FRESH
    return f"{scope}*" if is_fresh else scope


def listed(graph: Graph) -> tuple[Capability, ...]:
    """The listings of the folders and files that `[sources]` names."""
    sources = [source.capability for source in graph.sources if source.capability.covers_name("fs.read")]
    return tuple([Capability("fs.list", source.scope) for source in sources if source.scope])


def written(workers: WorkerIndex) -> frozenset[Capability]:
    """Every capability that a rule or a ceiling of the graph names."""
    graph = workers.graph
    holders: list[Entry | Worker] = [*workers.governed, *graph.entries.values()]
    # Many have the same rules or the same ceiling, and it is the same object then.
    rules = {id(alike): alike for alike in workers.own_rules.values()}.values()
    entries = [entry.approvals for entry in graph.entries.values()]
    clients = {worker.client_rules for worker in workers.governed if worker.client_rules}
    ceilings = {id(holder.may): holder.may for holder in holders if holder.may}.values()
    return frozenset(
        [
            *[
                rule.capability
                for alike in (graph.rules, *rules, *entries, *clients)
                for rule in alike
                if isinstance(rule, Rule)
            ],
            *[each for flow in graph.all_flows if not flow.is_preset for each in (*flow.sources, flow.to)],
            *[capability for ceiling in ceilings for capability in ceiling],
        ]
    )


def assurance_of(graph: Graph, toolset: str) -> Assurance:
    """The strength of a statement about a toolset: without isolation open, in-process Python declared.

    The tools of a provider are declared too: it states their abilities, and the gate only decides whether they are
    offered. Whether a machine can isolate commands is known only there, so they count as isolated only if the manifest
    requires it.
    """
    if toolset in graph.toolsets:
        return _of_server(graph.toolsets[toolset]) if graph.toolsets[toolset].kind == "mcp" else "declared"
    if toolset == builtin.PROVIDER_SIDE or graph.read_from:
        return "declared"
    is_open = toolset in builtin.NAMES and builtin.BUILT_IN[toolset].is_open(graph.shell)
    return "open" if is_open else "enforced"


def _of_server(toolset: Toolset) -> Assurance:
    """An address is somebody else's machine, of which nothing is known; a program can be isolated."""
    is_program = toolset.server is not None and toolset.server.command is not None
    return "declared" if is_program and toolset.isolation == "require" else "open"


def shown(verdict: Verdict, shape: Shape) -> Verdict:
    """The verdict with reasons that name the row, not the path that represents it."""
    reasons = tuple(
        [
            replace(reason, capability=shape.row)
            if (reason.capability.scope or "").endswith(FRESH) and reason.capability.name == shape.row.name
            else reason
            for reason in verdict.reasons
        ]
    )
    return verdict if reasons == verdict.reasons else Verdict(verdict.decision, reasons)
