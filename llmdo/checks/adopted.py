"""Projects of other tools that the manifest names: their formats, and the findings of these."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.codes import CODES
from llmdo.base.diagnostic import Related, did_you_mean, finding
from llmdo.base.values import replace
from llmdo.graph.toolset import Toolset
from llmdo.reach.risks import leaks
from llmdo.workspace.adopted import LIMITS, names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.graph.worker import Worker
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


def startable(project: Project) -> tuple[frozenset[str], str]:
    """The names of the workers that an entry may start, and what they are, in words."""
    graph = project.graph
    ours = {name for name, worker in graph.workers.items() if worker.format is None}
    if project.workspace.adoption is None:
        return frozenset(ours), "a worker"
    events = {event.name for entry in graph.entries.values() for event in entry.events}
    return frozenset(
        {*ours, *events, *project.workspace.adoption.agents}
    ), "a worker, nor an agent of another tool"


def started_by_ours(project: Project) -> Iterator[Diagnostic]:
    """The agents of other tools that functions of entries call."""
    workers = project.graph.workers
    for entry in project.graph.entries.values():
        for called in entry.delegates:
            if (worker := workers.get(called.name)) and worker.format:
                yield _not_run("LDO203", f"the entry `{entry.name}`", called.at, worker)


def used_by_ours(project: Project) -> Iterator[Diagnostic]:
    """The lines of our own workers that name agents or toolsets of other tools."""
    graph = project.graph
    if project.workspace.adoption is None:
        return
    for worker in (each for each in graph.workers.values() if each.format is None):
        for use in worker.uses:
            used = graph.workers.get(use.name) or graph.toolsets.get(use.name)
            if used and used.format:
                yield _not_run("LDO202", f"`{worker.name}`", use.at, used)


def _not_run(code: str, who: str, at: Place, used: Worker | Toolset) -> Diagnostic:
    kind = "a toolset" if isinstance(used, Toolset) else "an agent"
    message = f"{who} calls `{used.name}`, {kind} of {used.format}, which llmdo cannot run"
    return finding(code, at.location, message, hint="give it a worker or a toolset of its own")


def without_agent(project: Project) -> Iterator[Diagnostic]:
    """The tables of `[workers]` that name neither code nor an agent of another tool."""
    adoption = project.workspace.adoption
    agents = adoption.agents if adoption else {}
    workers = [worker for name in agents if (worker := project.graph.workers.get(name)) and worker.format]
    known = {name: worker.name for worker in workers for name in names_of(worker)}
    tables = project.workspace.tables("workers")
    for name, table in tables.items():
        at = project.workspace.document.key("workers", name)
        written = f'"{name}"' if "/" in name else name
        if "python" in table:
            if "/" in name:
                message = f"`{name}` is not a name (a letter, then up to 63 letters, digits, `_` and `-`)"
                yield finding("LDO103", at, message, hint="FORMAT/NAME is an agent of another tool")
        elif name not in known and not project.gaps.names:
            ends = ", ".join(f"`{each}`" for each in known if each.endswith(f"/{name}"))
            hint = did_you_mean(name, known) or 'add `python = "FILE.py:NAME"`, a pydantic-ai agent'
            hint = f"agents of this name are {ends}" if ends else hint
            yield finding("LDO104", at, f"`python` is missing in `[workers.{written}]`", hint=hint)
        elif known.get(name) != name and known.get(name) in tables:
            message = f"`[workers.{known[name]}]` is about the same agent, so nothing obeys this table"
            yield finding("LDO103", at, message, hint="write all of it in one table")


def without_effect(project: Project) -> Iterator[Diagnostic]:
    """The keys of `[workers.NAME]` that nothing obeys, as another tool runs the agent."""
    for name, table in project.workspace.tables("workers").items():
        for key in () if "python" in table else table:
            if key not in LIMITS:
                at = project.workspace.document.key("workers", name, key)
                message = f"`{key}` of an agent of another tool is what its own file says"
                yield finding(
                    "LDO103", at, message, hint=f"here are {', '.join(f'`{each}`' for each in LIMITS)}"
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
    started = {
        entry.worker.name: name
        for name, entry in sorted(project.graph.entries.items(), reverse=True)
        if entry.worker and entry.format
    }
    for each in every:
        if each.code not in _FLOWS or places.get(each.at) not in stopped:
            # The manifest knows an agent by its entry, where it has one.
            yield replace(each, subject=started.get(each.subject or "", each.subject))


def of_code(code: str, project: Project) -> Iterator[Diagnostic]:
    """The findings of formats with this code."""
    return (each for each in of_formats(project) if each.code == code)


OF_FORMATS: Mapping[str, Callable[[Project], Iterable[Diagnostic]]] = {
    code: partial(of_code, code) for code in CODES if code.startswith(("LDO35", "LDO55"))
}
"""The findings of formats that an acceptance can silence: those about what agents can do."""


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
