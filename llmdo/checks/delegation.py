"""3xx: the delegation graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.checking import reports
from llmdo.base.diagnostic import Related, finding
from llmdo.graph.code_calls import calls_below, own_uses
from llmdo.reach import depth_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Use
    from llmdo.workspace.project import Project


@reports("LDO301", "error")
def delegation_cycle(project: Project) -> Iterator[Diagnostic]:
    """Workers delegate in a circle, and none of them says that it may.

    Such a run ends only when a limit stops it. Recursion is a legitimate pattern, so say that it is meant:
    with `recursive: true` in one worker of the circle its depth is bounded by `max-depth`. Otherwise remove an
    edge; the hint names one whose removal opens the circle.

    Fails: `planner` uses `critic` and `critic` uses `planner`.

        name: planner
        toolsets: [critic]

    Fixed:

        name: planner
        recursive: true
        toolsets: [critic]
    """
    if project.analysis.height is not None:
        return
    graph = project.graph
    ending = {name: graph.edges[name] for name, worker in graph.workers.items() if not worker.recursive}
    edges = {name: [other for other in others if other in ending] for name, others in ending.items()}
    for component in topology.strongly_connected_components(edges):
        cycle = topology.shortest_cycle(edges, component)
        around = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        steps = [(name, graph.use(name, other)) for name, other in around]
        yield _cycle(steps, topology.opening_edge(edges, component, cycle))


def _cycle(steps: list[tuple[str, Use]], opening: tuple[str, str] | None) -> Diagnostic:
    names = [name for name, _ in steps]
    (first, edge), *rest = steps
    if not rest:
        message = f"`{first}` delegates to itself"
        hint = "remove it, or set `recursive: true` in its header"
    else:
        message = f"delegation runs in a circle: {' > '.join([*names, first])}"
        hint = "set `recursive: true` in one of them, or remove an edge"
        if opening:
            hint = f"remove `{opening[1]}` from `{opening[0]}`, or set `recursive: true` in one of them"
    related = [Related(use.at.location, f"`{name}` delegates to `{use.name}`") for name, use in rest]
    return finding("LDO301", edge.at.location, message, hint=hint, related=related)


@reports("LDO302", "error")
def depth_exceeded(project: Project) -> Iterator[Diagnostic]:
    """A chain of delegations is longer than `max-depth`.

    The run would refuse the last call of the chain, after all the others were paid for. Shorten the chain, or raise
    `max-depth`. A chain that runs through declared recursion is bounded by `max-depth` on purpose, and no finding.

    Fails: with a chain `main > planner > writer`.

        [workspace]
        max-depth = 1

    Fixed:

        [workspace]
        max-depth = 2
    """
    graph = project.graph
    height = project.analysis.height
    if height is not None and height <= graph.settings.max_depth:
        return
    for entry in graph.entries.values():
        depth = depth_of(project.analysis, entry)
        if entry.format is None and depth.is_exceeded(graph.settings.max_depth):
            path = depth.longest
            last = graph.workers[path[-2]]
            edge = next(use for use in last.uses if use.name == path[-1])
            yield finding(
                "LDO302",
                edge.at.location,
                f"the chain {' > '.join(path)} takes {len(path) - 1} delegations, and `max-depth` is "
                f"{graph.settings.max_depth}",
                hint=f"shorten it, or set `max-depth = {len(path) - 1}`",
                subject=entry.name,
            )


@reports("LDO303", "warning")
def unreachable_worker(project: Project) -> Iterator[Diagnostic]:
    """No entry can reach a worker.

    It is never run. Delegate to it, make it an entry, or remove it. Where nothing can be started at all, as in a
    collection of workers for others, there is nothing to say.
    """
    graph = project.graph
    if not graph.entries or project.gaps.contents:
        return
    edges = graph.edges
    waiting = [start.name for entry in graph.entries.values() for start in entry.starts]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached and name in edges:
            reached.add(name)
            waiting.extend(edges[name])
    for name, worker in graph.workers.items():
        if name not in reached:
            yield finding(
                "LDO303",
                worker.at.location,
                f"no entry can reach the worker `{name}`",
                hint="name it in the `toolsets` of a worker, or set `entry: true`",
            )


@reports("LDO304", "warning")
def unused_toolset(project: Project) -> Iterator[Diagnostic]:
    """No worker uses a toolset of the workspace.

    A class beside a toolset that is used may be what that one is made of, so it is not counted.
    Name it in the `toolsets` of a worker, or remove it.
    """
    graph = project.graph
    if project.gaps.contents:
        return
    used = {use.name for worker in graph.workers.values() for use in worker.uses}
    used |= {use.name for entry in graph.entries.values() for use in own_uses(graph, entry)}
    called = calls_below(graph, [toolset for name, toolset in graph.toolsets.items() if name in used])
    used |= {call.use.name for call in called}
    modules = {_module(toolset) for name, toolset in graph.toolsets.items() if name in used}
    for name, toolset in graph.toolsets.items():
        if name not in used and not (toolset.is_class and _module(toolset) in modules):
            yield finding("LDO304", toolset.at.location, f"no worker uses the toolset `{name}`")


def _module(toolset: Toolset) -> str:
    return (toolset.python or "").rpartition(":")[0]


@reports("LDO305", "warning")
def unused_path(project: Project) -> Iterator[Diagnostic]:
    """Nothing mentions an alias of the path map.

    Neither a prompt, nor a description, nor the input of an entry holds it, so no model will ever say it. Where a
    prompt is made by code, nobody knows, and nothing is reported. Mention it, or remove it from `[paths]`.
    """
    graph = project.graph
    unused = {} if project.gaps.contents else {alias: alias.rstrip("/") for alias in graph.paths}
    for text in _texts(project):
        if text is None or not unused:
            return
        for alias in [alias for alias, name in unused.items() if name in text]:
            del unused[alias]
    for alias in graph.paths:
        if alias in unused:
            yield finding(
                "LDO305",
                project.workspace.document.key("paths", alias),
                f"nothing mentions the alias `{alias}`",
            )


def _texts(project: Project) -> Iterator[str | None]:
    """What models may read, one text at a time; None for a prompt that code makes."""
    for file in project.workspace.workers:
        yield file.prompt
    for worker in project.graph.workers.values():
        yield worker.description or ""
    for entry in project.graph.entries.values():
        yield entry.input or ""
