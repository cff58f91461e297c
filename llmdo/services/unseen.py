"""The parts of a workspace's sources that cannot be judged before something is mended, imported or started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.values import replace
from llmdo.graph.unseen import with_unseen
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.workspace.project import Project

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
