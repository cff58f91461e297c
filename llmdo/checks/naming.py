"""Where a project names capabilities: in rules, flows, ceilings and declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import Related, finding
from llmdo.graph import servers
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Worker
    from llmdo.workspace.project import Project


def entry_collisions(graph: Graph) -> Iterator[Diagnostic]:
    """The entries with the name of a worker that is an entry itself, and that they do not start."""
    for name, entry in graph.entries.items():
        worker = graph.workers.get(name)
        if entry.declared and worker and worker.entry and (not entry.worker or entry.worker.name != name):
            yield finding(
                "LDO201",
                entry.at.location,
                f"the entry `{name}` starts something other than the worker `{name}`, which is an entry itself",
                hint="rename the entry, or remove `entry: true` from the worker",
                related=[Related(worker.at.location, f"the worker `{name}`")],
            )


def named_capabilities(project: Project) -> Iterator[tuple[Capability, Place]]:
    """Each capability that is written down, with its place."""
    graph = project.graph
    for rule in graph.rules:
        if rule.at:
            yield rule.capability, rule.at
    holders: tuple[Entry | Worker, ...] = (*graph.entries.values(), *graph.workers.values())
    for holder in holders:
        if holder.approvals:
            yield from ((rule.capability, rule.at) for rule in holder.approvals if rule.at)
        if holder.may:
            yield from _ceiling(holder.may, holder.may_at)
    yield from _in_flows(graph, holders)
    yield from declared_capabilities(project)
    yield from _read_only(project)


def declared_capabilities(project: Project) -> Iterator[tuple[Capability, Place]]:
    """Each that a tool declares and that is not its toolset's own, with its place."""
    document = project.workspace.document
    for name, table in project.workspace.tables("toolsets").items():
        for tool, texts in servers.declared_in(table).items():
            for number, text in enumerate(texts):
                capability = Capability.parse(text)
                if not capability.name.startswith(f"x.{name}."):
                    yield capability, Place(document, ("toolsets", name, "capabilities", tool, number))
    for toolset in project.graph.toolsets.values():
        for declared in toolset.tools.values():
            yield from _metadata(declared, toolset.name, toolset.at)


def _in_flows(graph: Graph, holders: Iterable[Entry | Worker]) -> Iterator[tuple[Capability, Place]]:
    """Those of flow rules and of labelled sources."""
    for flow in (rule for holder in (graph, *holders) for rule in holder.flows.rules):
        if flow.at:
            yield from ((capability, flow.at) for capability in (*flow.sources, flow.to))
    for source in graph.sources:
        if source.at:
            yield source.capability, source.at
            yield source.label, Place(source.at.document, source.at.route)


def _read_only(project: Project) -> Iterator[tuple[Capability, Place]]:
    """Those of which the manifest says that they only read."""
    document = project.workspace.document
    for name, table in project.workspace.tables("toolsets").items():
        for number, text in enumerate(parts.texts(table.get("reads"))):
            capability = Capability.parse(text)
            if Capability(f"x.{name}").covers_name(capability.name):  # another one is a mistake of its own
                yield capability, Place(document, ("toolsets", name, "reads", number))


def _metadata(tool: Tool, toolset: str, place: Place) -> Iterator[tuple[Capability, Place]]:
    for capability in tool.metadata or ():
        if not capability.name.startswith(f"x.{toolset}."):
            yield capability, place


def _ceiling(may: Iterable[Capability] | None, at: Place | None) -> Iterator[tuple[Capability, Place]]:
    if may is None or at is None:
        return
    known = {str(capability): capability for capability in may}
    for number, text in enumerate(parts.texts(at.data)):
        if text in known:
            yield known[text], Place(at.document, (*at.route, number))
