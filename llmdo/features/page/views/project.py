"""The data of all views: the name of the project, its entries and its workers, for search and for the first view."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.endpoints import Endpoint, Inquiry, KeptAnswer
from llmdo.reach.selectors import closure
from llmdo.render.reach import UNKNOWN, capability
from llmdo.services import reach as service
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.reach import Analysis

GRAVEST = 3  # of what an entry reaches, as many as a line of a list has room for


EVERYTHING = Inquiry()
"""The inquiry about the whole project."""


def answer(subject: Subject, inquiry: Inquiry) -> Json:
    """The project as a whole."""
    del inquiry
    notes: list[str] = []
    outcome = service.graph(subject.asking(), notes.append)
    graph = outcome.analysis.graph
    return {
        "version": __version__,
        "name": graph.settings.name,
        "read_from": graph.read_from,
        "files_of": graph.settings.files_of,
        "has_store": _has_store(subject),
        "notes": notes,
        "entries": [_entry(outcome.analysis, entry) for entry in outcome.entries],
        **_parts(outcome.analysis.graph, outcome.entries),
    }


def _has_store(subject: Subject) -> bool:
    """Whether its runs are in a database; also if its address cannot be resolved, as its views report that."""
    if subject.origin is not None:
        return False
    try:
        return subject.store is not None
    except LlmdoError:
        return True


def _parts(graph: Graph, entries: Sequence[Entry]) -> dict[str, Json]:
    """The workers and toolsets, each with an entry that reaches it, if any does."""
    first: dict[str, str] = {}
    for entry in entries:
        for name in closure(graph.edges, _starts(graph, entry)):
            first.setdefault(name, entry.name)
    users: dict[str, str] = {}
    for worker in graph.workers.values():
        for use in worker.uses:
            if use.name not in graph.workers and (use.name not in users or users[use.name] not in first):
                users[use.name] = worker.name
    return {
        "workers": [
            {"name": worker.name, "path": worker.path, "entry": first.get(worker.name)}
            for worker in graph.workers.values()
        ],
        "toolsets": [
            {"name": name, "worker": worker, "entry": first.get(worker)}
            for name, worker in sorted(users.items())
        ],
    }


def _starts(graph: Graph, entry: Entry) -> list[str]:
    return [start.name for start in entry.starts if start.name in graph.workers]


def _entry(analysis: Analysis, entry: Entry) -> Json:
    rows = analysis.of(entry)
    decisions: dict[str, int] = Counter(UNKNOWN if row.is_unseen else row.decision for row in rows)
    return {
        "name": entry.name,
        "workers": len(list(closure(analysis.graph.edges, _starts(analysis.graph, entry)))),
        "decisions": {"allowed": 0, "needs_approval": 0, "blocked": 0, **decisions},
        "gravest": [
            capability(row) for row in rows[:GRAVEST] if row.decision == "allowed" and not row.is_unseen
        ],
    }


def exported(subject: Subject) -> Iterator[KeptAnswer]:
    """The whole project for a file."""
    yield KeptAnswer(path="/api/project", data=answer(subject, EVERYTHING))


ENDPOINTS = (Endpoint(path="/api/project", answer=answer),)
