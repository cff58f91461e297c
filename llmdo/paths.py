"""Every call path by which a worker or an entry can raise a capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.authority import OUTSIDE_CEILINGS
from llmdo.inventory import own_tool, tools_of
from llmdo.reach import Hop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.authority import Capability
    from llmdo.graph import Entry, Graph
    from llmdo.reach import Analysis

MAX_PATHS = 1_000  # of one answer: a dense graph has more than anybody can read


def own_paths(analysis: Analysis, entry: Entry, wanted: Capability) -> Iterator[tuple[Hop, ...]]:
    """The path of one step to the tool that `entry` calls itself, where that declares `wanted`."""
    tool = own_tool(analysis.graph, entry)
    if entry.use and tool and any(_is_meant(wanted, one) for one in tool.capabilities):
        yield (Hop(entry.use.name, entry.tool),)


def paths_to(analysis: Analysis, starts: Iterable[str], wanted: Capability) -> Iterator[tuple[Hop, ...]]:
    """The paths from `starts` to a toolset that declares `wanted`, shortest first, ties by name.

    Within `max-depth`, without visiting a worker twice; at most `MAX_PATHS`. Decisions are left to `reach`.
    """
    graph = analysis.graph
    level: list[tuple[Hop, ...]] = [(Hop(name, None),) for name in sorted(starts) if name in graph.workers]
    found = 0
    for depth in range(graph.settings.max_depth + 1):
        following: list[tuple[Hop, ...]] = []
        for path in level:
            worker = graph.workers[path[-1].name]
            for use in worker.uses:
                tools = tools_of(graph, worker, use).values()
                if any(_is_meant(wanted, one) for tool in tools for one in tool.capabilities):
                    yield (*path, Hop(use.name, use))
                    found += 1
                    if found == MAX_PATHS:
                        return
            if depth < graph.settings.max_depth:
                following.extend(_onwards(graph, path))
        level = following[: 50 * MAX_PATHS]


def _is_meant(wanted: Capability, declared: Capability) -> bool:
    if declared.name in OUTSIDE_CEILINGS and wanted.name != declared.name:
        return False
    return wanted.touches(declared) or declared.touches(wanted)


def _onwards(graph: Graph, path: tuple[Hop, ...]) -> Iterator[tuple[Hop, ...]]:
    visited = {hop.name for hop in path}
    caller = path[-1].name
    for name in graph.edges[caller]:
        if name not in visited:
            yield (*path, Hop(name, graph.use(caller, name)))
