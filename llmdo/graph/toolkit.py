"""The possible calls of the workers of a graph: every tool and its declarations, from the graph alone.

The gate and `llmdo run --all-tools` both read this, so that the list shown is the one enforced.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.graph import builtin, servers
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability
from llmdo.policy.protection import declared_by_change, is_change, protected, protected_within
from llmdo.policy.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Set

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.toolset import Facts, Toolset
    from llmdo.graph.worker import Use, Worker

DELEGATE = Capability("agent.delegate")
READ = Capability("fs.read")
NO_TOOLS: Mapping[str, Tool] = {}
START: Mapping[str, Tool] = {"(start)": Tool(name="(start)", capabilities=(Capability("mcp.start"),))}
"""The effect of using an MCP server before any tool is called; a reserved name."""


def delegating(callee: str) -> Capability:
    """The capability of a call of the worker `callee`: its name is the scope."""
    return Capability(DELEGATE.name, callee)


def delegation(graph: Graph, caller: Worker | None, callee: Worker) -> Tool:
    """`callee` as a tool of `caller`; None is the function of an entry.

    If the callee takes attachments, the tool declares the reads of files that the caller may pass: those of the path
    map and of the caller's own `filesystem`. A caller with neither can name no file.
    """
    if callee.attachments.are_refused:
        return Tool(name=callee.name, capabilities=(DELEGATE,), hook=True)
    declared: set[Capability] = set()
    for alias, target in graph.paths.items():
        scope = f"{target}**" if target.endswith("/") else target
        declared |= {Capability(READ.name, scope), *protected_within(scope), *protected(alias, scope)}
    for use in caller.uses if caller else ():
        if use.name == "filesystem":
            reads = builtin.tools(use.name, use.config).get("read_file")
            declared.update(reads.capabilities if reads else ())
    return Tool(name=callee.name, capabilities=(DELEGATE, *sorted(declared)), hook=True)


def hands_over(delegate: Tool) -> bool:
    """Whether a call of `delegate`, as `delegation` made it, can pass files."""
    return any(capability.name == READ.name for capability in delegate.capabilities)


def tools_of(graph: Graph, worker: Worker | None, use: Use) -> Mapping[str, Tool]:
    """The declared tools of one line of `worker`'s `toolsets`; none for an unknown name."""
    if use.name in graph.workers:
        return {use.name: delegation(graph, worker, graph.workers[use.name])}
    if use.name in graph.toolsets:
        toolset = graph.toolsets[use.name]
        tools = _prefixed(toolset) if toolset.prefix else toolset.tools
        if not (graph.read_from or toolset.format):  # whose calls no gate of ours stands before
            tools = {name: _with_changes(tool) for name, tool in tools.items()}
        return {**tools, **START} if toolset.kind == "mcp" else tools
    if use.name in builtin.NAMES or use.name == builtin.PROVIDER_SIDE:
        return builtin.tools(use.name, use.config, graph.shell)
    return NO_TOOLS


def _with_changes(tool: Tool) -> Tool:
    """`tool` with the capabilities that the gate adds for the files that a call changes, as its hook says."""
    if not tool.hook:
        return tool
    changed = [each.scope for each in tool.capabilities if is_change(each)]
    more = {implied for scope in changed for implied in declared_by_change(scope, may_be_folder=True)}
    return replace(tool, capabilities=tuple(sorted({*tool.capabilities, *more}, key=str))) if more else tool


def sends(graph: Graph, toolset: str, tool: str, *, given: bool = False) -> bool:
    """Whether calls of a tool send anything; not if it takes nothing, or has no target by the manifest.

    As far as the graph tells: of a tool in Python that takes nothing, only the manifest says so. `*` is any tool.
    `given`: whether a call has arguments, as a server may get some that its schema does not name.
    """
    own = graph.toolsets.get(toolset)
    if own is None:
        return True
    if tool == "*":
        return all(own.targets.values())
    name = tool.removeprefix(f"{own.prefix}_") if own.prefix else tool
    definition = own.tools[name].definition if name in own.tools else None
    takes_nothing = (
        not given and definition is not None and not json.loads(definition.input).get("properties")
    )
    return not takes_nothing and bool(own.targets.get(name, True))


def _prefixed(toolset: Toolset) -> dict[str, Tool]:
    names = {name: name if name == "*" else f"{toolset.prefix}_{name}" for name in toolset.tools}
    return {names[name]: replace(tool, name=names[name]) for name, tool in toolset.tools.items()}


def reachable(graph: Graph, entry: Entry, beyond: Set[str] = frozenset()) -> tuple[str, ...]:
    """The workers that `entry` can reach by any chain of delegations, itself included, sorted.

    Without `beyond`, and not through those.
    """
    reached = {start.name for start in entry.starts if start.name in graph.workers} - beyond
    waiting = list(reached)
    while waiting:
        new = set(graph.edges[waiting.pop()]) - reached - beyond
        reached |= new
        waiting.extend(new)
    return tuple(sorted(reached))


def own_tool(graph: Graph, entry: Entry) -> Tool | None:
    """The tool that `entry` itself calls; None for none, or one that nothing declares."""
    return tools_of(graph, None, entry.use).get(entry.tool_name) if entry.use else None


def known_capabilities(graph: Graph) -> frozenset[str]:
    """Every name that a rule or ceiling may use: the vocabulary, those of extensions and of the project, and families.

    A toolset of ours declares capabilities below its own name; for graphs from another format, any tool's count.
    """
    names = set(VOCABULARY)
    names.update(graph.families)
    for toolset in graph.toolsets.values():
        names.add(f"x.{toolset.name}.any")
        prefix = "x." if graph.read_from or toolset.format else f"x.{toolset.name}."
        for tool in toolset.tools.values():
            names.update(
                capability.name for capability in tool.capabilities if capability.name.startswith(prefix)
            )
    for name in list(names):
        labels = name.split(".")
        names.update(".".join(labels[:length]) for length in range(1, len(labels)))
    return frozenset(names)


_WIDEST = {"write": ["**"]}
"""The configuration with which built-in toolsets have all their tools."""


def tool_hint(name: str, graph: Graph) -> str | None:
    """The hint where `name` stands for a capability and is the name of a tool: what that raises; None of another."""
    tools = [toolset.tools[name] for toolset in graph.toolsets.values() if name in toolset.tools]
    tools += [own[name] for kind in builtin.BUILT_IN if name in (own := builtin.tools(kind, _WIDEST))]
    raised = sorted({capability.name for tool in tools for capability in tool.capabilities})
    return (
        f"`{name}` is a tool: name what it raises, {' or '.join(f'`{each}`' for each in raised)}"
        if raised
        else None
    )


def known_toolsets(graph: Graph) -> frozenset[str]:
    """Every toolset, used or not."""
    used = {use.name for worker in graph.workers.values() for use in worker.uses}
    return frozenset({*graph.toolsets, *builtin.NAMES, *used} - graph.workers.keys())


ANY = "(not known)"
"""The tool for the unseen ones; no toolset can have one of that name."""


def unseen(graph: Graph, facts: Facts, readable: Collection[str]) -> frozenset[str]:
    """The toolsets of `graph`, made with these `facts`, whose tools are not known.

    `readable` are the Python references of toolsets whose tools are all known from the text of a module.
    """
    known = {*facts, *readable}
    return frozenset(
        name
        for name, toolset in graph.toolsets.items()
        if toolset.format is None and _key(toolset) not in known
    )


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
