"""Scripts: workers and tools that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding, only_match
from llmdo.graph import builtin, toolkit
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.worker import Worker
    from llmdo.workspace.project import Project


def unknown_workers(project: Project) -> Iterator[Diagnostic]:
    """Findings about steps of what is no worker."""
    known = project.graph.workers
    for script in project.workspace.scripts if not project.gaps.names else ():
        for name in script.steps:
            if name not in known:
                at, meant = Place(script.document, (name,), of_key=True), only_match(name, known)
                yield finding(
                    "LDO203",
                    at.location,
                    f"`{script.path}` has steps of `{excerpt(name)}`, which is not a worker",
                    hint=did_you_mean(name, known),
                    fix=at.respelt(name, meant, safe=True) if meant else None,
                )


def unknown_tools(project: Project) -> Iterator[Diagnostic]:
    """Findings about calls of tools that their worker does not have."""
    for script in project.workspace.scripts if not project.gaps.names else ():
        for worker, steps in script.steps.items():
            if (offered := _offered(project, project.graph.workers.get(worker))) is None:
                continue
            for step in steps:
                for call in (call for call in step.calls if call.tool not in offered):
                    yield finding(
                        "LDO208",
                        call.place.location,
                        f"`{worker}` has no tool `{excerpt(call.tool)}`",
                        hint=did_you_mean(call.tool, offered) or _listed(offered),
                    )


def _offered(project: Project, worker: Worker | None) -> frozenset[str] | None:
    """The tools that a worker's model is offered; None if some are known in a run alone."""
    if worker is None:
        return None
    graph, tools = project.graph, {builtin.OUTPUT_TOOL} if worker.schema_out or worker.agent else set()
    for use in worker.uses:
        offered = toolkit.tools_of(graph, worker, use)
        if not offered or use.name in project.gaps.toolsets or any("*" in name for name in offered):
            return None
        tools.update(offered.keys() - toolkit.START.keys())
    return frozenset(tools)


def _listed(offered: frozenset[str]) -> str:
    return f"it has {', '.join(f'`{name}`' for name in sorted(offered)[:8]) or 'none'}"
