"""The lines above workers and entries: how much each reaches, and how much of that without a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.source import Span
    from llmdo.reach import Row
    from llmdo.workspace.project import Project


class Lens(NamedTuple):
    """A line above a place."""

    span: Span
    title: str


def lenses(project: Project, path: str) -> Iterator[Lens]:
    """The lenses of a file."""
    graph, analysis = project.graph, project.analysis
    for name, worker in graph.workers.items():
        if worker.at.document.source.path == path and (span := worker.at.location.span):
            yield Lens(span, title(analysis.of_worker(name)))
    for entry in graph.entries.values():
        if entry.declared and entry.at.document.source.path == path and (span := entry.at.location.span):
            yield Lens(span, title(analysis.of(entry)))


def title(rows: Iterable[Row]) -> str:
    """The number of reached capabilities, and of those without approval."""
    reached = [row for row in rows if row.decision != "blocked"]
    unasked = sum(row.decision == "allowed" for row in reached)
    noun = "capability" if len(reached) == 1 else "capabilities"
    return f"reaches {len(reached)} {noun}, {unasked} without approval"
