"""How a worker or an entry comes to a capability or to a toolset: rows of reach, and every call path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt
from llmdo.base.values import dataclass
from llmdo.graph.code_calls import own_uses, tools_with_calls, uses_with_calls
from llmdo.graph.inventory import known_capabilities, known_toolsets
from llmdo.graph.resolved import Entry
from llmdo.policy.authority import STRICTNESS, Capability, decide, strictest
from llmdo.reach import Hop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Use, Worker
    from llmdo.policy.authority import Decision
    from llmdo.reach import Analysis, Row, Walk

MAX_PATHS = 1_000  # of one answer: a dense graph has more than anybody can read


@dataclass(frozen=True, slots=True)
class CallPath:
    """One way to a capability."""

    hops: tuple[Hop, ...]
    decision: Decision
    """At its mildest: over the calls at its end that raise the capability, gates of the delegations included."""
    is_attachment: bool = False
    """Whether such a call hands a file to the worker at its end."""


@dataclass(frozen=True, slots=True)
class Target:
    """What somebody asks the way to."""

    capability: Capability | None = None
    """None: whatever `toolset` raises."""
    is_elsewhere: bool = False
    """Whether the row is meant that stands for what is left of the scope beside narrower rows."""
    toolset: str | None = None
    """Only what is raised by this toolset; None: by anything."""

    def __str__(self) -> str:
        words = [str(self.capability)] if self.capability else []
        words += ["elsewhere"] if self.is_elsewhere else []
        words += [f"by {self.toolset}" if words else self.toolset] if self.toolset else []
        return " ".join(words)

    def means(self, raised: Capability) -> bool:
        """Whether this row of reach, or something in it, is asked about."""
        if self.is_elsewhere:
            return raised == self.capability
        wanted = self.capability
        return wanted is None or wanted.touches(raised) or raised.touches(wanted)


def target_of(graph: Graph, text: str) -> Target:
    """The target that `text` names: a capability as reach prints it, or a toolset.

    Raises:
        LlmdoError: There is no such capability and no such toolset.
    """
    toolsets, known = known_toolsets(graph), known_capabilities(graph)
    spelt = text.removesuffix(" elsewhere")
    wanted = Capability.parse(spelt)
    if wanted.name in known:
        return Target(wanted, spelt != text)
    name = text.removeprefix("toolset:")
    if name in toolsets:
        return Target(toolset=name)
    if name in graph.workers:
        raise LlmdoError(
            f"`{name}` is a worker, and this asks for a capability or a toolset",
            hint=f"`llmdo graph --select {name}` draws the way to it",
        )
    raise LlmdoError(
        f"`{excerpt(text)}` is neither a capability nor a toolset",
        hint=did_you_mean(wanted.name, known | toolsets),
    )


def origins_of(graph: Graph, name: str) -> tuple[Entry | Worker, ...]:
    """The entry or the worker called `name`, or all that use the toolset of that name, sorted by theirs.

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
    """The rows of reach that are about `target`, the gravest first."""
    if isinstance(origin, Entry):
        rows = analysis.of(origin, toolset=target.toolset)
    else:
        rows = analysis.of_worker(origin.name, toolset=target.toolset)
    return [
        row for row in rows if target.means(row.capability) and (row.elsewhere or not target.is_elsewhere)
    ]


def every_path(analysis: Analysis, origin: Entry | Worker, target: Target) -> list[CallPath]:
    """Every path from `origin` to `target`, its own calls first, then as `paths_to` has them."""
    if not isinstance(origin, Entry):
        return list(paths_to(analysis.walk_below(origin.name), target))
    return [*own_paths(analysis, origin, target), *paths_to(analysis.walk(origin), target)]


def own_paths(analysis: Analysis, entry: Entry, target: Target) -> Iterator[CallPath]:
    """The paths of one step to what `entry` calls itself, where that can raise what is meant."""
    walk = analysis.walk(entry)
    mildest: dict[tuple[Hop, ...], CallPath] = {}
    for shape, called in analysis.calls_of(entry):
        if target.means(shape.row) and target.toolset in (None, shape.toolset):
            row = walk.row_of_call(shape, called)
            known = mildest.get(row.path)
            if known is None or STRICTNESS[row.decision] < STRICTNESS[known.decision]:
                mildest[row.path] = CallPath(row.path, row.decision, row.is_attachment)
    yield from mildest.values()


def paths_to(walk: Walk, target: Target) -> Iterator[CallPath]:
    """The paths from where `walk` starts to a toolset that can raise what is meant, shortest first, ties by name.

    Within `max-depth`, without visiting a worker twice; at most `MAX_PATHS`.
    """
    graph = walk.premises.graph
    level: list[tuple[Hop, ...]] = [(Hop(name, None),) for name in sorted(walk.starts)]
    number = 0
    for depth in range(graph.settings.max_depth + 1):
        following: list[tuple[Hop, ...]] = []
        for path in level:
            for use in graph.workers[path[-1].name].uses:
                if target.toolset not in (None, use.name):
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
            if depth < graph.settings.max_depth:
                following.extend(_onwards(walk, graph, path))
        level = following[: 50 * MAX_PATHS]


def _mildest(walk: Walk, path: tuple[Hop, ...], use: Use, target: Target) -> Decision | None:
    """The mildest decision over the calls by `use` at the end of `path` that are meant; None where none is."""
    graph, premises = walk.premises.graph, walk.premises
    worker = graph.workers[path[-1].name]
    authority = premises.authority(walk.entry, walk.layers(path))
    decisions = [
        decide(raised, declared, authority).decision
        for tool in tools_with_calls(graph, worker, use)
        for row, raised, declared in premises.shapes.of_tool(tool, delegation=use.name in graph.workers)
        if target.means(row)
    ]
    if not decisions:
        return None
    return strictest([min(decisions, key=STRICTNESS.__getitem__), *(hop.decision for hop in path)])


def _onwards(walk: Walk, graph: Graph, path: tuple[Hop, ...]) -> Iterator[tuple[Hop, ...]]:
    visited = {hop.name for hop in path}
    caller, places = path[-1].name, walk.premises.workers.places
    for name in graph.edges[caller]:
        if name not in visited:
            yield (*path, Hop(name, graph.use(caller, name), walk.gate(places[caller], places[name])))
