"""Two revisions: the widened and narrowed reach, the graph of both, and the lines responsible."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.base.jsonable import record
from llmdo.diff.difference import reason_of
from llmdo.features.page.endpoints import Endpoint, Inquiry, KeptAnswer
from llmdo.features.page.team import drawn_below
from llmdo.reach import Analysis
from llmdo.render import diff as render
from llmdo.render.facts import phrases
from llmdo.services import diff as service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.diff import Difference, EntryDifference, RowChange
    from llmdo.features.page.subject import Subject
    from llmdo.graph.resolved import Graph
    from llmdo.services.diff import DiffOutcome

PATH = "/api/diff"
GRAPH = "/api/diff/graph"


def answer(subject: Subject, inquiry: Inquiry) -> object:
    """The reach that entries gain and lose from the earlier revision to the later one."""
    notes: list[str] = []
    return {**_difference(_compared(subject, inquiry, notes)), "notes": notes}


def graph(subject: Subject, inquiry: Inquiry) -> object:
    """The graph below an entry on both sides; empty for a side without such an entry."""
    return _graphs(_compared(subject, inquiry, []), inquiry.text("entry"))


def exported(subject: Subject, before: str, after: str) -> Iterator[KeptAnswer]:
    """The difference for a file, with the graph of every changed entry."""
    sides = {"before": before, "after": after}
    notes: list[str] = []
    outcome = _compared(subject, Inquiry(parameters=sides), notes)
    yield KeptAnswer(path=PATH, parameters=sides, data={**_difference(outcome), "notes": notes})
    named = [each.name for each in outcome.difference.entries if each.verdict != "same"]
    named += [name for each in outcome.difference.workers for name in each.below[:1]]
    for name in dict.fromkeys(named):
        yield KeptAnswer(path=GRAPH, parameters={**sides, "entry": name}, data=_graphs(outcome, name))


def _compared(subject: Subject, inquiry: Inquiry, notes: list[str]) -> DiffOutcome:
    before = inquiry.parameters.get("before") or "HEAD"
    return subject.difference(before, inquiry.parameters.get("after") or service.WORKTREE, notes.append)


def _difference(outcome: DiffOutcome) -> dict[str, object]:
    difference, sides = outcome.difference, outcome.sides
    return {
        "before": sides.before,
        "after": sides.after,
        "has_baseline": sides.has_baseline,
        "verdict": difference.verdict,
        "accepted": difference.is_accepted,
        "entries": [_changed(each, outcome.before, outcome.after) for each in difference.entries],
        "workers": [_changed(each, outcome.before, outcome.after) for each in difference.workers],
        "facts": facts(difference),
        "renames": render.renames(difference, _ticks),
        "edits": [render.hand_edit(each, _ticks) for each in difference.hand_edits],
        "text": render.text(difference, sides),
    }


def facts(difference: Difference) -> list[dict[str, object]]:
    """All other facts that differ, in words."""
    return [
        {"effect": alike[0].effect, "words": words, "accepted": reason_of(alike[0].accepted)}
        for alike, words in phrases(difference.changes, _ticks)
    ]


def _ticks(name: str) -> str:
    return f"`{name}`"


def _changed(entry: EntryDifference, before: Graph, after: Graph) -> object:
    rows = [_row(row, before, after) for row in entry.rows]
    return {**record(replace(entry, rows=())), "below": entry.below, "rows": rows}


def _row(change: RowChange, before: Graph, after: Graph) -> object:
    """A change, with the path on the side that has it: steps that both sides have did not cause it."""
    is_lost = change.kind == "lost"
    side, other = (change.before, after) if is_lost else (change.after, before)
    return {
        "capability": f"{change.capability}{' elsewhere' if change.elsewhere else ''}",
        "change": change.kind,
        "effect": change.effect,
        "words": render.decision(change),
        "accepted": reason_of(change.accepted),
        "is_before": is_lost,
        "row": side,
        "steps": [_has(other, caller.name, step.name) for caller, step in pairwise(side.path)]
        if side
        else [],
    }


def _has(graph: Graph, caller: str, name: str) -> bool:
    """Whether the caller uses that in a graph."""
    return caller in graph.workers and any(use.name == name for use in graph.workers[caller].uses)


def _graphs(outcome: DiffOutcome, entry: str) -> object:
    was = next((each.was for each in outcome.difference.entries if each.name == entry), None)
    return {
        "entry": entry,
        "before": _drawn(outcome.before, was or entry),
        "after": _drawn(outcome.after, entry),
    }


def _drawn(side: Graph, name: str) -> object:
    return drawn_below(Analysis(side), side.entries[name]) if name in side.entries else None


ENDPOINTS = (
    Endpoint(path=PATH, answer=answer, parameters=("before", "after")),
    Endpoint(path=GRAPH, answer=graph, parameters=("before", "after", "entry")),
)
