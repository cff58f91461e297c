"""The calls of an entry that another tool runs: those that its hooks are asked about, and what it does unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.graph.toolkit import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.graph.resolved import Entry, Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """How far the decisions about an entry of another tool are obeyed: not at all before its hooks ask llmdo."""

    format: str
    asked: Mapping[str, tuple[str, ...]]
    """By agent, its tools: a call of one is decided here once `llmdo hook` is installed there."""
    unasked: Mapping[str, tuple[str, ...]]
    """By agent, what that tool does without asking anybody: starts of servers, and commands at events."""


def enforcement_of(graph: Graph, entry: Entry, granted: Mapping[str, Iterable[str]]) -> Enforcement | None:
    """How far the decisions about `entry` are obeyed; None for an entry of ours, whose every call the gate decides.

    `granted` are the tools of each agent: in the graph, one of several that can do the same stands for all of them.
    """
    if entry.format is None:
        return None
    events = {event.name for event in entry.events}
    asked: dict[str, tuple[str, ...]] = {}
    unasked: dict[str, tuple[str, ...]] = {}
    for name in reachable(graph, entry):
        toolsets = [
            graph.toolsets[use.name] for use in graph.workers[name].uses if use.name in graph.toolsets
        ]
        tools = tuple(sorted({*granted.get(name, (tool for toolset in toolsets for tool in toolset.tools))}))
        starts = tuple(f"start of {toolset.name}" for toolset in toolsets if toolset.kind == "mcp")
        own = {name: tools} if tools else {}
        if name in events:
            unasked |= own
        else:
            asked |= own
            unasked |= {name: starts} if starts else {}
    return Enforcement(format=entry.format, asked=asked, unasked=unasked)
