"""Every call path by which a worker or an entry can raise a capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.authority import OUTSIDE_CEILINGS
from llmdo.inventory import tools_of
from llmdo.reach import Hop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.authority import Capability
    from llmdo.graph import Use
    from llmdo.reach import Analysis

MAX_PATHS = 1_000  # of one answer: a dense graph has more than anybody can read


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
                following.extend(_onwards(analysis, path, worker.uses))
        level = following[: 50 * MAX_PATHS]


def _is_meant(wanted: Capability, declared: Capability) -> bool:
    if declared.name in OUTSIDE_CEILINGS and wanted.name != declared.name:
        return False
    return wanted.touches(declared) or declared.touches(wanted)


def _onwards(analysis: Analysis, path: tuple[Hop, ...], uses: Iterable[Use]) -> Iterator[tuple[Hop, ...]]:
    visited = {hop.name for hop in path}
    for use in uses:
        if use.name in analysis.graph.workers and use.name not in visited:
            yield (*path, Hop(use.name, use))
