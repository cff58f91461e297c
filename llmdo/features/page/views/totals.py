"""Runs over time: their usage by entry, worker, model and day, the deciding rules, and outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

from llmdo.base.visible import visible
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.journal.totals import By
from llmdo.render.totals import record
from llmdo.services import runs as service
from llmdo.services.runs import NotableCall, metrics

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject

SINCE = "30d"


def totals(subject: Subject, inquiry: Inquiry) -> Json:
    """The usage of the runs together."""
    by = inquiry.parameters.get("by", "day")
    if by not in get_args(By):
        raise RequestError(400, f"totals cannot be grouped by `{by}`", hint=", ".join(get_args(By)))
    notes: list[str] = []
    since = inquiry.parameters.get("since", SINCE)
    stats = service.stats(subject.with_runs, cast("By", by), since, notes.append)
    return {"totals": [record(total) for total in stats], "notes": notes}


def notable(subject: Subject, inquiry: Inquiry) -> Json:
    """Decisions by rule, and the slowest and the most expensive calls."""
    notes: list[str] = []
    since = service.moment(inquiry.parameters.get("since", SINCE))
    outcome = metrics(subject.with_runs, since, notes.append)
    return {
        "runs": outcome.runs,
        "decisions": [
            {
                "reason": visible(line.reason, prose=True),
                "decision": line.decision,
                "allowed": line.allowed,
                "denied": line.denied,
            }
            for line in outcome.decisions
        ],
        "slowest": [_call(call) for call in outcome.slowest],
        "dearest": [_call(call) for call in outcome.dearest],
        "notes": notes,
    }


def _call(call: NotableCall) -> dict[str, Json]:
    cost = None if call.cost_usd is None else str(call.cost_usd)
    return {"run": call.run, "path": call.path, "seconds": call.seconds, "cost_usd": cost}


ENDPOINTS = (
    Endpoint(path="/api/totals", answer=totals, parameters=("by", "since")),
    Endpoint(path="/api/notable", answer=notable, parameters=("since",)),
)
