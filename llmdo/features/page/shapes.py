"""The JSON of answers: of their fields, but for what the page shows otherwise than `--format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.jsonable import as_json
from llmdo.base.values import replace
from llmdo.policy.authority import STRICTNESS, Reason
from llmdo.reach import Hop, Row
from llmdo.reach.flows import FlowRow
from llmdo.render.flows import DANGERS
from llmdo.render.graph import Edge
from llmdo.render.reach import UNKNOWN, capability, row_danger, worst_danger
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.base.jsonable import Shapes
    from llmdo.base.values import Json

LONGEST_LINE = 240  # characters of a source that are shown beside its place; the file has all of it


def answered(data: object) -> Json:
    """The answer of an endpoint as plain data."""
    return as_json(data, shapes=_SHAPES)


def _row(row: Row) -> object:
    """A row of reach, with the decision along each step of its path and the rules that made it."""
    *steps, last = row.path
    # What a path ends with is decided by the call there; a delegation is one as well.
    decision = max(last.decision, row.verdict.decision, key=STRICTNESS.__getitem__)
    return {
        "capability": capability(row),
        "name": row.capability.name,
        "decision": UNKNOWN if row.is_unseen else row.decision,
        "danger": row_danger(row),
        "assurance": UNKNOWN if row.is_unseen else row.assurance,
        "tool": row.tool,
        "attachment": row.is_attachment,
        "delegation": not row.shape.toolset,
        "through": row.takes_delegation,
        "path": [*steps, replace(last, decision=decision)],
        "reasons": row.reasons,
    }


def _flow(row: FlowRow) -> object:
    """The reach after a stranger's words, with both legs of the way; no way in if the input brings them."""
    return {
        "capability": row.capability,
        "decision": row.decision,
        "danger": DANGERS[row.decision],
        "tools": [row.source_tool, row.tool],
        "source": row.source,
        "path": row.path,
        "reasons": row.reasons,
    }


def _hop(hop: Hop) -> object:
    return {"name": hop.name, "decision": hop.decision, "at": hop.use.at if hop.use else None}


def _reason(reason: Reason) -> object:
    if reason.rule is None or reason.ceiling is not None:
        return {"text": str(reason), "at": reason.ceiling.at if reason.ceiling else None}
    return {"text": str(reason.rule), "by": reason.rule.origin, "at": reason.rule.at}


def _place(at: Place) -> object:
    """File, line and text of something that a person wrote."""
    location = at.location
    if location.span is None:
        return {"path": location.path, "line": None}
    text = at.document.source.line(location.span.line).strip()
    return {"path": location.path, "line": location.span.line, "text": text[:LONGEST_LINE]}


def _edge(edge: Edge) -> object:
    """A use of a worker or an entry, its decision and danger, and the capabilities it raises, by decision."""
    raised = {
        decision: {capability(row): row_danger(row) for row in edge.calls if row.decision == decision}
        for decision in STRICTNESS
    }
    return {
        "name": edge.target,
        "kind": edge.kind,
        "decision": edge.decision,
        "danger": worst_danger(edge.calls),
        "raised": {decision: names for decision, names in raised.items() if names},
    }


_SHAPES: Shapes = {Row: _row, FlowRow: _flow, Hop: _hop, Reason: _reason, Place: _place, Edge: _edge}
