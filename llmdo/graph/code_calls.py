"""The tools that code may call, from the `calls` of its entry or toolset.

The runtime and reach both read this, so that the proved calls are the enforced ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from llmdo.graph import builtin
from llmdo.graph.toolkit import START, own_tool, tools_of
from llmdo.graph.worker import Use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.toolset import Tool, Toolset
    from llmdo.graph.worker import Worker


class CodeCall(NamedTuple):
    """One tool that some code may call."""

    named: Reference
    """TOOLSET.TOOL, where `calls` has it."""
    use: Use
    """The toolset, as configured for that code."""
    tool: Tool

    @property
    def name(self) -> str:
        """Its name in code and in reach: TOOLSET.TOOL."""
        return f"{self.use.name}.{self.tool.name}"


def uses_named(code: Entry | Toolset) -> Mapping[str, Use]:
    """The use of each toolset that the `calls` of `code` name, by toolset."""
    uses: dict[str, Use] = {}
    for call in code.calls:
        toolset, dot, _ = call.name.partition(".")
        if dot and toolset not in uses:
            config = cast("Mapping[str, Json]", code.configure.get(toolset, {}))
            uses[toolset] = Use(name=toolset, config=config, at=call.at)
    return uses


def calls_of(graph: Graph, code: Entry | Toolset) -> Mapping[str, CodeCall]:
    """The declared tools that `code` itself may call, by TOOLSET.TOOL; workers are not tools here."""
    uses = uses_named(code)
    calls: dict[str, CodeCall] = {}
    for call in code.calls:
        toolset, dot, name = call.name.partition(".")
        if dot and (toolset in graph.toolsets or toolset in builtin.NAMES):
            tool = tools_of(graph, None, uses[toolset]).get(name)
            if tool is not None:
                calls[call.name] = CodeCall(call, uses[toolset], tool)
    return calls


def calls_below(graph: Graph, codes: Iterable[Entry | Toolset]) -> tuple[CodeCall, ...]:
    """All calls that `codes` can lead to, also through the code of called tools, with the starts of MCP servers."""
    waiting = list(codes)
    seen = {(type(code), code.name) for code in waiting}
    calls: list[CodeCall] = []
    for code in waiting:  # which grows meanwhile
        if not code.calls:
            continue
        started: set[str] = set()
        for call in calls_of(graph, code).values():
            calls.append(call)
            toolset = graph.toolsets.get(call.use.name)
            if toolset is None:
                continue
            if toolset.kind == "mcp" and toolset.name not in started:
                started.add(toolset.name)
                calls.extend(CodeCall(call.named, call.use, tool) for tool in START.values())
            if (key := (type(toolset), toolset.name)) not in seen:
                seen.add(key)
                waiting.append(toolset)
    return tuple(calls)


def codes_of(graph: Graph, entry: Entry) -> tuple[Entry | Toolset, ...]:
    """The code that `entry` itself runs: its function, or its tool's toolset."""
    own = graph.toolsets.get(entry.use.name) if entry.use else None
    if entry.worker is not None:
        return ()
    return (entry, own) if own else (entry,)


def calls_by(graph: Graph, use: Use) -> tuple[CodeCall, ...]:
    """All calls that the code of the toolset in a use can lead to."""
    toolset = graph.toolsets.get(use.name)
    return calls_below(graph, [toolset]) if toolset and toolset.calls else ()


def tools_with_calls(graph: Graph, worker: Worker | None, use: Use) -> Iterator[Tool]:
    """The tools in a use of `worker`, and those that their code can lead to."""
    yield from tools_of(graph, worker, use).values()
    yield from (call.tool for call in calls_by(graph, use))


def uses_with_calls(graph: Graph, uses: Iterable[Use]) -> list[Use]:
    """`uses` with the uses that the code of these toolsets can lead to."""
    uses = list(uses)
    return [*uses, *(call.use for use in uses for call in calls_by(graph, use))]


def own_tools(graph: Graph, entry: Entry) -> Iterator[Tool]:
    """The tools that `entry` calls without a worker: its own, and those that its code can lead to."""
    if own := own_tool(graph, entry):
        yield own
    yield from (call.tool for call in calls_below(graph, codes_of(graph, entry)))


def own_uses(graph: Graph, entry: Entry) -> list[Use]:
    """The uses of toolsets by `entry` without a worker: its tool's, and those that its code can lead to."""
    own = [entry.use] if entry.use else []
    return [*own, *(call.use for call in calls_below(graph, codes_of(graph, entry)))]
