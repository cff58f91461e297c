"""Toolsets whose tools only an import of their module, or a start of their server, can tell.

Reach has to show each of them: with one more tool, for all that nobody has seen yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.graph import servers
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from llmdo.graph.facts import Facts
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset

ANY = "(not known)"
"""The tool for the unseen ones; no toolset can have one of that name."""


def unseen(graph: Graph, facts: Facts, readable: Collection[str]) -> frozenset[str]:
    """The toolsets of `graph`, made with these `facts`, whose tools are not known.

    `readable` are the Python references of toolsets whose tools are all known from the text of a module.
    """
    known = {*facts, *readable}
    return frozenset(name for name, toolset in graph.toolsets.items() if _key(toolset) not in known)


def _key(toolset: Toolset) -> str:
    return toolset.python or servers.key_of(toolset.name)


def with_unseen(graph: Graph, names: Iterable[str]) -> Graph:
    """The graph with the tool for unseen ones in each of these toolsets."""
    toolsets = dict(graph.toolsets)
    for name in sorted({*names} & toolsets.keys()):
        any_tool = Tool(name=ANY, capabilities=(Capability(f"x.{name}.any"),))
        toolsets[name] = replace(toolsets[name], tools={**toolsets[name].tools, ANY: any_tool})
    return graph if toolsets == graph.toolsets else replace(graph, toolsets=toolsets)


def without_unseen(graph: Graph) -> Graph:
    """The graph without these tools: the argument of `with_unseen`."""
    toolsets = {
        name: replace(toolset, tools={key: tool for key, tool in toolset.tools.items() if key != ANY})
        if ANY in toolset.tools
        else toolset
        for name, toolset in graph.toolsets.items()
    }
    return replace(graph, toolsets=toolsets) if unseen_in(graph) else graph


def unseen_in(graph: Graph) -> frozenset[str]:
    """The toolsets that have such a tool."""
    return frozenset(name for name, toolset in graph.toolsets.items() if ANY in toolset.tools)
