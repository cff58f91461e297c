"""Projects of other tools that the manifest names: their formats, and the findings of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import Related, finding
from llmdo.reach.risks import leaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.graph.resolved import Graph
    from llmdo.syntax.document import Place
    from llmdo.workspace.project import Project

_FLOWS = ("LDO552", "LDO555")
"""The findings of formats that flow rules and ceilings of a manifest can answer."""
_THEIRS = ("LDO502", "LDO504", "LDO510")
"""The findings about entries that formats have of their own, for those that their tools start."""


@reports("LDO214", "error")
def unknown_format(project: Project) -> Iterator[Diagnostic]:
    """`from` names a format of projects that llmdo does not read.

    `llmdo scan` says what of which tool is in a folder. The formats of an installed extension count where the manifest
    names it.

    Fails:

        [workspace]
        from = ["cluade"]

    Fixed:

        [workspace]
        from = ["claude"]
    """
    return (problem for problem in project.workspace.problems if problem.code == "LDO214")


def collisions(project: Project) -> Iterator[Diagnostic]:
    """The workers of ours with the name of an agent of another tool."""
    adoption = project.workspace.adoption
    if adoption is None:
        return
    agents = adoption.agents
    for file in project.workspace.workers:
        if agent := agents.get(file.name):
            yield finding(
                "LDO201",
                file.document.key("name"),
                f"the worker `{file.name}` has the name of an agent of {agent.format or adoption.team.format}",
                hint="rename one of them: workers and the agents of other tools share one namespace",
                related=[Related(agent.at.location, f"the other `{file.name}`")],
            )


def names(project: Project) -> frozenset[str]:
    """The names of the agents of other tools, but those of workers of ours."""
    adoption = project.workspace.adoption
    return frozenset(adoption.agents if adoption else ()) - {file.name for file in project.workspace.workers}


def used_by_ours(project: Project) -> Iterator[Diagnostic]:
    """The lines of our own workers that name agents or toolsets of other tools."""
    graph = project.graph
    if project.workspace.adoption is None:
        return
    for worker in (each for each in graph.workers.values() if each.format is None):
        for use in worker.uses:
            used = graph.workers.get(use.name) or graph.toolsets.get(use.name)
            if used and used.format:
                yield not_run(f"`{worker.name}`", use.name, use.at, graph)


def not_run(who: str, name: str, at: Place, graph: Graph) -> Diagnostic:
    """That something of ours calls what another tool alone can run."""
    used = graph.workers.get(name) or graph.toolsets[name]
    kind = "an agent" if name in graph.workers else "a toolset"
    return finding(
        "LDO203" if who.startswith("the entry") else "LDO202",
        at.location,
        f"{who} calls `{name}`, {kind} of {used.format}, which llmdo cannot run",
        hint="give it a worker or a toolset of its own",
    )


def of_formats(project: Project) -> Iterator[Diagnostic]:
    """The findings that `check --from` has of the adopted projects, but flows that this manifest stops."""
    adoption = project.workspace.adoption
    if adoption is None or not (adoption.team.agents or adoption.team.problems):
        return
    from llmdo.foreign import findings, foreign_of  # what most workspaces have no use for

    read: Foreign = foreign_of(project.workspace.root, adoption.team, adoption.teams)
    every = findings.check(read)
    stopped = _stopped(project) if any(each.code in _FLOWS for each in every) else frozenset()
    places = {agent.at.location: name for name, agent in adoption.agents.items()}
    for each in every:
        if each.code not in _FLOWS or places.get(each.at) not in stopped:
            yield each


def _stopped(project: Project) -> frozenset[str]:
    """The agents from which, as an entry, private data finds no way out on a stranger's word."""
    leak_of = leaks(project.analysis)
    entries = [entry for entry in project.graph.entries.values() if entry.format and entry.declared]
    return frozenset(entry.worker.name for entry in entries if entry.worker and not leak_of(entry))


def of_ours(project: Project, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of our own checks without the ones in files of other tools, whose formats have findings of their own."""
    graph = project.graph
    theirs = {name for name, entry in graph.entries.items() if entry.format}
    files = {worker.at.location.path for worker in graph.workers.values() if worker.format} | {*graph.adopted}
    for each in findings:
        is_about_lock = each.code.startswith("LDO4")
        if is_about_lock or not (each.at.path in files or (each.code in _THEIRS and each.subject in theirs)):
            yield each
