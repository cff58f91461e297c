"""The project as a whole, and the reach of one entry: the graph below it, and the ways with their gates."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.endpoints import Endpoint, Inquiry, KeptAnswer
from llmdo.policy.authority import STRICTNESS, gravity
from llmdo.reach import depth_of
from llmdo.reach.flows import after_strangers
from llmdo.reach.selectors import closure
from llmdo.render import graph as drawings
from llmdo.render.reach import UNKNOWN, capability, path, row_danger, worst_danger
from llmdo.services import reach as service
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.features.page.subject import Subject
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.reach import Analysis, Row
    from llmdo.render.graph import Edge
    from llmdo.services.reach import GraphOutcome

WHOLE = "/api/project"
ONE = "/api/reach"
WORST = 3  # of what an entry reaches, as many as a line of a list has room for


def project(subject: Subject, inquiry: Inquiry) -> object:
    """The name of the project, its entries and its workers, for search and for the first views."""
    del inquiry
    notes: list[str] = []
    outcome = subject.graph(notes.append)
    graph = outcome.analysis.graph
    return {
        "version": __version__,
        "name": graph.settings.name,
        "read_from": graph.read_from,
        "files_of": graph.settings.files_of,
        "has_store": _has_store(subject),
        "notes": notes,
        "entries": [*_lines(outcome)],
        **_parts(graph, outcome.entries),
    }


def _has_store(subject: Subject) -> bool:
    """Whether its runs are in a database; also if its address cannot be resolved, as its views report that."""
    if subject.origin is not None:
        return False
    try:
        return subject.store is not None
    except LlmdoError:
        return True


def _parts(graph: Graph, entries: Sequence[Entry]) -> dict[str, object]:
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


def _lines(outcome: GraphOutcome) -> Iterator[object]:
    """The entries by name, each as a line of a list, with its place by gravity."""
    rows = {entry.name: outcome.analysis.of(entry) for entry in outcome.entries}
    by_gravity = sorted(rows, key=lambda name: (_gravity_of(rows[name]), name))
    for entry in outcome.entries:
        yield {"place": by_gravity.index(entry.name), **_line(outcome.analysis, entry, rows[entry.name])}


def _gravity_of(rows: Sequence[Row]) -> list[list[float]]:
    """A sort key of an entry by its rows: the places of unasked ones in the order of gravity, then of those that ask.

    Of equal beginnings the one with more is graver.
    """
    return [
        [*(gravity(row.capability)[0] for row in rows if row.decision == decision), inf]
        for decision in STRICTNESS
    ]


def _line(analysis: Analysis, entry: Entry, rows: Sequence[Row]) -> dict[str, object]:
    """An entry in a line of a list."""
    decisions = Counter(UNKNOWN if row.is_unseen else row.decision for row in rows)
    unasked = [row for row in rows if row.decision == "allowed" and not row.is_unseen]
    return {
        "name": entry.name,
        "workers": len(list(closure(analysis.graph.edges, _starts(analysis.graph, entry)))),
        "decisions": {"allowed": 0, "needs_approval": 0, "blocked": 0, **decisions},
        "danger": worst_danger(unasked),
        "worst": [
            {"capability": capability(row), "danger": row_danger(row), "way": path(row)}
            for row in unasked[:WORST]
        ],
        "reaches": {
            decision: [capability(row) for row in rows if row.decision == decision]
            for decision in ("allowed", "needs_approval")
        },
    }


def reach(subject: Subject, inquiry: Inquiry) -> object:
    """The reach of the requested entry."""
    notes: list[str] = []
    outcome = subject.graph(notes.append, inquiry.text("entry"))
    return {"notes": notes, **_entry(outcome.analysis, outcome.entries[0])}


def select(subject: Subject, inquiry: Inquiry) -> object:
    """The workers that a selector means, as on the command line."""
    outcome = subject.graph(lambda _: None, inquiry.text("entry"), (inquiry.text("select"),))
    return {"workers": outcome.workers or frozenset()}


def exported(subject: Subject) -> Iterator[KeptAnswer]:
    """The whole project and the reach of every entry, for a file."""
    yield KeptAnswer(path=WHOLE, data=project(subject, Inquiry()))
    notes: list[str] = []
    outcome = subject.graph(notes.append)
    for entry in outcome.entries:
        data = {"notes": notes, **_entry(outcome.analysis, entry)}
        yield KeptAnswer(path=ONE, parameters={"entry": entry.name}, data=data)


def _entry(analysis: Analysis, entry: Entry) -> dict[str, object]:
    """The reach of an entry, and the graph below it."""
    has_flows = service.states_flows(analysis.graph)
    return {
        "depth": depth_of(analysis, entry),
        "ceiling": None if entry.may is None else {"may": entry.may, "at": entry.may_at},
        "rows": analysis.of(entry),
        "after": after_strangers(analysis, entry) if has_flows else None,
        **drawn_below(analysis, entry),
    }


def drawn_below(analysis: Analysis, entry: Entry) -> dict[str, object]:
    """The graph below an entry."""
    drawn = drawings.drawing(analysis, [entry])
    return {
        "entry": entry.name,
        "at": entry.at,
        "uses": drawn.entries[0][1],
        "workers": [_worker(analysis.graph, name, edges) for name, edges in drawn.workers.items()],
    }


def _worker(graph: Graph, name: str, edges: Sequence[Edge]) -> object:
    worker = graph.workers[name]
    return {"name": name, "path": worker.path, "description": worker.description, "uses": edges}


ENDPOINTS = (
    Endpoint(path=WHOLE, answer=project),
    Endpoint(path=ONE, answer=reach, parameters=("entry",)),
    Endpoint(path="/api/select", answer=select, parameters=("entry", "select")),
)
