"""Rows of reach and call paths from a worker or an entry to a capability, a toolset, a tool or a worker."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt
from llmdo.base.values import dataclass, replace
from llmdo.graph.code_calls import calls_by, calls_of, own_uses, uses_with_calls
from llmdo.graph.resolved import Entry
from llmdo.graph.toolkit import DELEGATE, delegating, known_capabilities, known_toolsets, own_tool, tools_of
from llmdo.policy.authority import STRICTNESS, Capability, Verdict, decide, strictest
from llmdo.reach.rows import Along, Hop, Row
from llmdo.reach.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Use, Worker
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.analysis import Analysis
    from llmdo.reach.walk import Walk

MAX_PATHS = 1_000  # of one answer: a dense graph has more than anybody can read


@dataclass(frozen=True, slots=True)
class CallPath:
    """One way to a capability."""

    hops: tuple[Hop, ...]
    decision: Decision
    """The mildest of the calls at its end that raise the capability, gates of the delegations included."""
    is_attachment: bool = False
    """Whether such a call passes a file to the worker at its end."""


@dataclass(frozen=True, slots=True)
class Target:
    """The end of the paths that somebody asks about."""

    capability: Capability | None = None
    """None: any that `toolset` raises."""
    is_elsewhere: bool = False
    """Whether only the row for the rest of the scope is meant, outside narrower rows."""
    toolset: str | None = None
    """Only calls of this toolset; None: of any."""
    tool: str | None = None
    """Only calls of this tool, named as reach prints it; None: of any."""
    worker: str | None = None
    """Only the call of this worker; None: anything else as well."""

    def __str__(self) -> str:
        if self.worker:
            return self.worker
        words = [str(self.capability)] if self.capability else []
        words += ["elsewhere"] if self.is_elsewhere else []
        by = ".".join(name for name in (self.toolset, self.tool) if name)
        words += [f"by {by}" if words else by] if by else []
        return " ".join(words)

    def means(self, raised: Capability) -> bool:
        """Whether the question is about this row of reach, or something in it."""
        wanted = self.capability
        if self.is_elsewhere and wanted is not None:
            is_everywhere = raised.is_everywhere and wanted.is_everywhere
            return raised == wanted or (raised.name == wanted.name and is_everywhere)
        return wanted is None or wanted.touches(raised) or raised.touches(wanted)


def target_of(graph: Graph, text: str) -> Target:
    """The target that `text` names as reach prints it: a capability, else a toolset, a worker or a tool.

    `toolset:NAME`, `worker:NAME` and `tool:NAME` are of one kind alone.

    Raises:
        LlmdoError: There is nothing of that name.
    """
    toolsets, known = known_toolsets(graph), known_capabilities(graph)
    spelt = text.removesuffix(" elsewhere")
    wanted = Capability.parse(spelt)
    if wanted.name in known:
        return Target(wanted, spelt != text)
    if (name := text.removeprefix("toolset:")) in toolsets:
        return Target(toolset=name)
    if (name := text.removeprefix("worker:")) in graph.workers:
        return Target(delegating(name), worker=name)
    tools = set(_tools(graph))
    if (name := text.removeprefix("tool:")) in tools:
        return Target(tool=name)
    toolset, _, tool = name.partition(".")
    if toolset in toolsets and tool in tools:
        return Target(toolset=toolset, tool=tool)
    if text in graph.entries:
        started = ", ".join(f"`{start.name}`" for start in graph.entries[text].starts)
        raise LlmdoError(
            f"`{text}` is an entry, which nothing calls",
            hint=f"ask for what it starts: {started}" if started else None,
        )
    raise LlmdoError(
        f"`{excerpt(text)}` is neither a capability nor a toolset, a worker or a tool",
        hint=did_you_mean(wanted.name, {*known, *toolsets, *graph.workers, *tools}),
    )


def _tools(graph: Graph) -> Iterator[str]:
    """Every tool that reach can print, some more than once."""
    for entry in graph.entries.values():
        if own := own_tool(graph, entry):
            yield own.name
        yield from (call.name for call in calls_of(graph, entry).values())
    for worker in graph.workers.values():
        for use in worker.uses:
            if use.name not in graph.workers:
                yield from (name for name, _ in _named_tools(graph, worker, use))


def _named_tools(graph: Graph, worker: Worker, use: Use) -> Iterator[tuple[str, Tool]]:
    """The tools that a line of `worker` offers, and those that their code may call, as reach prints them."""
    yield from tools_of(graph, worker, use).items()
    yield from ((call.name, call.tool) for call in calls_by(graph, use))


def origins_of(graph: Graph, name: str) -> tuple[Entry | Worker, ...]:
    """The entry or the worker called `name`, or all that use the toolset of that name, entries first, by name.

    Raises:
        LlmdoError: There is nothing of that name.
    """
    if origin := graph.entries.get(name) or graph.workers.get(name):
        return (origin,)
    toolsets = known_toolsets(graph)
    if name not in toolsets:
        raise LlmdoError(
            f"`{excerpt(name)}` is neither a worker nor an entry nor a toolset",
            hint=did_you_mean(name, {*graph.workers, *graph.entries, *toolsets}),
        )
    own = [
        entry for entry in graph.entries.values() if any(use.name == name for use in own_uses(graph, entry))
    ]
    workers = [
        worker
        for worker in graph.workers.values()
        if any(use.name == name for use in uses_with_calls(graph, worker.uses))
    ]
    return (*own, *workers)


def rows_to(analysis: Analysis, origin: Entry | Worker, target: Target) -> list[Row]:
    """The rows of reach about `target`, the worst first; for a worker, the row of its call alone."""
    if target.worker is not None:
        return [*_row_to_worker(analysis, origin, target.worker)]
    if isinstance(origin, Entry):
        rows = analysis.of(origin, toolset=target.toolset, tool=target.tool)
    else:
        rows = analysis.of_worker(origin.name, toolset=target.toolset, tool=target.tool)
    return [
        _by_tool(row, target.tool)
        for row in rows
        if target.means(row.capability) and (row.elsewhere or not target.is_elsewhere)
    ]


def _by_tool(row: Row, tool: str | None) -> Row:
    """The row of a call that several tools have, as a row of this one."""
    return row if tool in (None, row.tool) else row._replace(shape=replace(row.shape, tool=tool))


def _row_to_worker(analysis: Analysis, origin: Entry | Worker, name: str) -> Iterator[Row]:
    """The call of the worker `name` on the best way to it; nothing if no chain from `origin` may call it."""
    walk = analysis.walk(origin) if isinstance(origin, Entry) else analysis.walk_below(origin.name)
    if isinstance(origin, Entry) and origin.worker is None:
        for shape, called in analysis.calls_of(origin):
            if called.name == name and shape.row.name == DELEGATE.name and not shape.toolset:
                yield walk.row_of_call(shape, called)
                return
    node = analysis.workers.nodes[name]
    for free in (True, False):
        search = walk.search(frozenset(), free=free)
        if node in search.parent:
            yield _call_at_the_end(walk, search.hops(node))
            return


def _call_at_the_end(walk: Walk, path: tuple[Hop, ...]) -> Row:
    """The row of the call at the end of a path of delegations."""
    raised = delegating(path[-1].name)
    decision = strictest([hop.decision for hop in path])
    reasons = [
        reason
        for caller, hop in pairwise(path)
        if hop.decision == decision and (decision != "allowed" or hop is path[-1])
        for reason in walk.rulings.gate_reasons(caller.name, hop.name)
    ]
    shape = Shape(raised, frozenset({raised}), frozenset({raised}), "", path[-1].name, "enforced")
    verdict = Verdict(decision, tuple(dict.fromkeys(reasons)))
    return Row(shape, verdict, decision, Along(path), Along(path), shape.assurance)


def every_path(analysis: Analysis, origin: Entry | Worker, target: Target) -> list[CallPath]:
    """Every path from `origin` to `target`, its own calls first, then in the order of `paths_to`."""
    if not isinstance(origin, Entry):
        return list(paths_to(analysis.walk_below(origin.name), target))
    return [*own_paths(analysis, origin, target), *paths_to(analysis.walk(origin), target)]


def own_paths(analysis: Analysis, entry: Entry, target: Target) -> Iterator[CallPath]:
    """The paths of one step to the calls of `entry` itself that can raise the target."""
    walk = analysis.walk(entry)
    mildest: dict[tuple[Hop, ...], CallPath] = {}
    for shape, called in analysis.calls_of(entry):
        if (
            target.means(shape.row)
            and target.toolset in (None, shape.toolset)
            and (target.tool is None or shape.is_of(target.tool))
            and target.worker in (None, called.name)
        ):
            row = walk.row_of_call(shape, called)
            known = mildest.get(row.path)
            if known is None or STRICTNESS[row.decision] < STRICTNESS[known.decision]:
                mildest[row.path] = CallPath(row.path, row.decision, row.is_attachment)
    yield from mildest.values()


def paths_to(walk: Walk, target: Target) -> Iterator[CallPath]:
    """The paths from the starts of `walk` to a toolset that can raise the target, shortest first, ties by name.

    Within `max-depth`, without visiting a worker twice; at most `MAX_PATHS`.
    """
    graph = walk.premises.graph
    level: list[tuple[Hop, ...]] = [(Hop(name, None),) for name in sorted(walk.starts)]
    number = 0
    deepest = graph.max_depth_from(walk.starts)
    for depth in range(deepest + 1):
        following: list[tuple[Hop, ...]] = []
        for path in level:
            for use in graph.workers[path[-1].name].uses:
                if target.toolset not in (None, use.name) or target.worker not in (None, use.name):
                    continue
                if (decision := _mildest(walk, path, use, target)) is None:
                    continue
                handed = use.name in graph.workers and not target.means(
                    walk.premises.shapes.delegating(use.name)[0]
                )
                yield CallPath((*path, Hop(use.name, use)), decision, handed)
                number += 1
                if number == MAX_PATHS:
                    return
            if depth < deepest:
                following.extend(_onwards(walk, graph, path))
        level = following[: 50 * MAX_PATHS]


def _mildest(walk: Walk, path: tuple[Hop, ...], use: Use, target: Target) -> Decision | None:
    """The mildest decision over the calls for the target by `use` at the end of `path`; None without any."""
    graph, premises = walk.premises.graph, walk.premises
    worker = graph.workers[path[-1].name]
    authority = premises.authority(walk.entry, walk.layers(path))
    decisions = [
        decide(raised, declared, authority).decision
        for name, tool in _named_tools(graph, worker, use)
        if target.tool in (None, name)
        for row, raised, declared in premises.shapes.of_tool(
            tool, delegation=use.name in graph.workers, is_ours=worker.format is None
        )
        if target.means(row)
    ]
    if not decisions:
        return None
    return strictest([min(decisions, key=STRICTNESS.__getitem__), *(hop.decision for hop in path)])


def _onwards(walk: Walk, graph: Graph, path: tuple[Hop, ...]) -> Iterator[tuple[Hop, ...]]:
    visited = {hop.name for hop in path}
    caller, nodes = path[-1].name, walk.premises.workers.nodes
    for name in graph.edges[caller]:
        if name not in visited:
            yield (*path, Hop(name, graph.use(caller, name), walk.gate(nodes[caller], nodes[name])))
