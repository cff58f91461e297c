"""The reach of one entry, the graph below it, and the way to each capability with its gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.features.page.endpoints import Endpoint, Inquiry, KeptAnswer
from llmdo.policy.authority import STRICTNESS
from llmdo.reach import depth_of
from llmdo.reach.flows import after_strangers
from llmdo.render import graph as drawings
from llmdo.render.reach import UNKNOWN, capability
from llmdo.services import reach as service

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject
    from llmdo.graph.resolved import Entry
    from llmdo.policy.authority import Reason
    from llmdo.reach import Analysis, Hop, Row
    from llmdo.reach.flows import FlowRow
    from llmdo.render.graph import Edge
    from llmdo.syntax.document import Place

PATH = "/api/reach"
LONGEST_LINE = 240  # characters of a source that are shown beside its place; the file has all of it


def answer(subject: Subject, inquiry: Inquiry) -> Json:
    """The reach of the requested entry."""
    notes: list[str] = []
    outcome = service.graph(subject.asking(inquiry.text("entry")), notes.append)
    return {"notes": notes, **entry_data(outcome.analysis, outcome.entries[0])}


def select(subject: Subject, inquiry: Inquiry) -> Json:
    """The workers that a selector means, as on the command line."""
    request = replace(subject.asking(inquiry.text("entry")), select=(inquiry.text("select"),))
    return {"workers": sorted(service.graph(request, lambda _: None).workers or ())}


def exported(subject: Subject) -> Iterator[KeptAnswer]:
    """The reach of every entry, for a file."""
    notes: list[str] = []
    outcome = service.graph(subject.asking(), notes.append)
    for entry in outcome.entries:
        data = {"notes": notes, **entry_data(outcome.analysis, entry)}
        yield KeptAnswer(path=PATH, parameters={"entry": entry.name}, data=data)


def entry_data(analysis: Analysis, entry: Entry) -> dict[str, Json]:
    """The reach of an entry, and the graph below it."""
    drawn = drawings.drawing(analysis, [entry])
    workers = analysis.graph.workers
    return {
        "entry": entry.name,
        "depth": str(depth_of(analysis, entry)),
        "at": place_data(entry.at),
        "ceiling": None
        if entry.may is None
        else {"may": [str(each) for each in entry.may], "at": place_data(entry.may_at)},
        "rows": [row_data(row) for row in analysis.of(entry)],
        "after": [flow_data(row) for row in after_strangers(analysis, entry)]
        if service.states_flows(analysis.graph)
        else None,
        "uses": edges_data(drawn.entries[0][1]),
        "workers": [
            {
                "name": name,
                "path": workers[name].path,
                "description": workers[name].description,
                "uses": edges_data(edges),
            }
            for name, edges in drawn.workers.items()
        ],
    }


def row_data(row: Row) -> dict[str, Json]:
    """A row of reach, with the decision along each step of its path and the rules that made it."""
    path = row.path
    return {
        "capability": capability(row),
        "name": row.capability.name,
        "decision": UNKNOWN if row.is_unseen else row.decision,
        "assurance": UNKNOWN if row.is_unseen else row.assurance,
        "tool": row.tool,
        "attachment": row.is_attachment,
        "delegation": not row.shape.toolset,
        "through": row.takes_delegation,
        "path": [
            *(_hop(hop, hop.decision) for hop in path[:-1]),
            # What a path ends with is decided by the call there; a delegation is one as well.
            _hop(path[-1], max(path[-1].decision, row.verdict.decision, key=STRICTNESS.__getitem__)),
        ],
        "reasons": [_reason(reason) for reason in row.reasons],
    }


def flow_data(row: FlowRow) -> dict[str, Json]:
    """The reach after a stranger's words, with both legs of the way; no way in if the input brings them."""
    legs = {"source": row.source, "path": row.path}
    return {
        "capability": str(row.capability),
        "decision": row.decision,
        "tools": [row.source_tool, row.tool],
        **{name: [_hop(hop, hop.decision) for hop in leg] for name, leg in legs.items()},
        "reasons": [_reason(reason) for reason in row.reasons],
    }


def _hop(hop: Hop, decision: str) -> Json:
    return {"name": hop.name, "decision": decision, "at": place_data(hop.use.at if hop.use else None)}


def _reason(reason: Reason) -> Json:
    if reason.rule is None or reason.ceiling is not None:
        return {"text": str(reason), "at": place_data(reason.ceiling.at if reason.ceiling else None)}
    return {"text": str(reason.rule), "by": reason.rule.origin, "at": place_data(reason.rule.at)}


def place_data(at: Place | None) -> Json:
    """File, line and text of something that a person wrote, or None."""
    location = at.location if at else None
    if location is None:
        return None
    if location.span is None:
        return {"path": location.path, "line": None}
    text = at.document.source.line(location.span.line).strip() if at else ""
    return {"path": location.path, "line": location.span.line, "text": text[:LONGEST_LINE]}


def edges_data(edges: Sequence[Edge]) -> list[Json]:
    """The uses of a worker or an entry, with the decisions on them and the capabilities they raise, by decision."""
    data: list[Json] = []
    for edge in edges:
        raised: dict[str, Json] = {
            decision: names
            for decision in STRICTNESS
            if (names := [capability(row) for row in edge.calls if row.decision == decision])
        }
        data.append({"name": edge.target, "kind": edge.kind, "decision": edge.decision, "raised": raised})
    return data


ENDPOINTS = (
    Endpoint(path=PATH, answer=answer, parameters=("entry",)),
    Endpoint(path="/api/select", answer=select, parameters=("entry", "select")),
)
