"""The conditions for running a workspace, and the graph that then runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, joined, shown
from llmdo.base.values import replace
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.graph.toolkit import with_unseen
from llmdo.reach import Analysis
from llmdo.services import locking
from llmdo.services.invalid import InvalidTeamError, require_extensions
from llmdo.services.relocking import behind, unreviewed
from llmdo.workspace.stale import told_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Graph
    from llmdo.services.relocking import StaleLock
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project
    from llmdo.workspace.trust import Consent


def tell_nobody(line: str) -> None:
    """Ignores a line: a program asks for the facts that it wants."""


def require_sound(
    project: Project, tell: Tell = tell_nobody, *, locked: bool = False, reviewed: Graph | None = None
) -> None:
    """Check that nothing hinders a run; tells what the run will block. `reviewed` is another lock that counts.

    Raises:
        InvalidTeamError: `check` finds errors that do.
        LlmdoError: Something outside the workspace has effect, and no lock holds it; or an extension that the
            workspace names is not loaded.
    """
    require_extensions(project.workspace.problems)
    errors = [finding for finding in checks.check(project, locked=locked) if finding.severity == "error"]
    if hindering := [finding for finding in errors if finding.code not in ACCEPTABLE]:
        sentences = (f"{each.at.path}: {each.message} [{each.code}]" for each in told_once(hindering))
        raise InvalidTeamError(
            "; ".join(sentences),
            hint=hindering[0].hint if len(hindering) == 1 else None,
            findings=hindering,
            root=project.workspace.root,
        )
    for finding in errors:
        tell(f"warning: {finding.message} [{finding.code}]: the run blocks it")
    if not project.workspace.has_lock:
        return
    if waiting := [*unreviewed(project.graph, project.locked.graph, reviewed)]:
        raise LlmdoError(
            f"nothing runs: `llmdo lock` alone takes in {joined(waiting, by=', ')}",
            hint="look at it, then run `llmdo lock`; `llmdo diff` says what it changed",
        )


def resolved(project: Project, tell: Tell = tell_nobody, consent: Consent | None = None) -> Graph:
    """The graph to run: the locked one if it is current, else the sources resolved again, and a note says so.

    Raises:
        UntrustedError: `consent` refuses an import.
    """
    graph, stale = resolved_with_lock(project, consent)
    if stale:
        tell(stale.note)
    return graph


def resolved_with_lock(project: Project, consent: Consent | None = None) -> tuple[Graph, StaleLock | None]:
    """The graph to run, and the lock if it differs from that.

    Raises:
        UntrustedError: `consent` refuses an import.
    """
    if project.is_current:
        return project.graph, None
    graph = locking.derive(project, consent=consent)
    return graph, behind(project, graph)


_READING = ("LDO1", "LDO2")
"""The prefixes of codes whose findings keep sources out of the graph: syntax and names."""


def shown_as_unknown(project: Project) -> Project:
    """The project, its graph with one tool for all unseen parts of a toolset."""
    graph = with_unseen(project.graph, project.unseen | project.gaps.toolsets)
    return project if graph is project.graph else replace(project, graph=graph, analysis=Analysis(graph))


def unread_in(findings: Iterable[Diagnostic]) -> int:
    """The number of errors among these that keep sources out of the graph."""
    return sum(finding.severity == "error" and finding.code.startswith(_READING) for finding in findings)


def notes_on(project: Project) -> Iterator[str]:
    """A sentence for each toolset that nobody has seen yet, with the way to learn about its tools."""
    for name in sorted(project.unseen):
        toolset = project.graph.toolsets[name]
        if toolset.server:
            how = "it was never asked, or another one was"
        elif toolset.python:
            how = f"only importing `{shown(toolset.python.partition(':')[0])}` tells that"
        yield f"warning: what the tools of `{shown(name)}` do is not known: {how} (run `llmdo lock`)"
