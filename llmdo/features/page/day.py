"""The first view: the waiting questions, the last failures and the changes since the lock, of services as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page import changes
from llmdo.features.page.endpoints import Endpoint, Inquiry
from llmdo.policy.authority import gravity
from llmdo.render import inbox as render
from llmdo.render.diff import capability, decision
from llmdo.services import runs
from llmdo.services.diff import WORKTREE
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.features.page.subject import Subject
    from llmdo.services.root import Tell

FEW = 3  # of what waits, and of what failed
LOOKED_AT = 100  # of the latest runs, among which are the last failures: each costs a reading of its journal
FAILED = frozenset({"failed", "stopped"})
MOST_ROWS = 12  # of what changed: the view of changes has all
_EFFECTS = ("widens", "unknown", "narrows", "none")


def day(subject: Subject, inquiry: Inquiry) -> object:
    """The parts of the first view, each with its own error; those of runs are None for another tool's project."""
    del inquiry
    has_runs = subject.origin is None
    return {
        "waiting": _part(lambda tell: _waiting(subject, tell)) if has_runs else None,
        "failed": _part(lambda tell: _failed(subject, tell)) if has_runs else None,
        "changed": _part(lambda tell: _changed(subject, tell)),
    }


def _part(answer: Callable[[Tell], dict[str, object]]) -> dict[str, object]:
    notes: list[str] = []
    try:
        return {**answer(notes.append), "notes": notes}
    except LlmdoError as error:
        return {"error": error.message, "hint": error.hint}


def _waiting(subject: Subject, tell: Tell) -> dict[str, object]:
    """The number of waiting questions, and the oldest of them."""
    pending = sorted(
        subject.desk.inbox(subject.with_runs).pending(tell), key=lambda each: each.question.entry.at
    )
    return {"number": len(pending), "oldest": render.listed(pending[:FEW])["waiting"]}


def _failed(subject: Subject, tell: Tell) -> dict[str, object]:
    """The last failures among the latest runs."""
    latest = runs.list_runs(runs.RunsRequest(root=subject.with_runs, limit=LOOKED_AT, turns=True), tell)
    failed = [run for run in latest if run.status in FAILED]
    return {"runs": failed[:FEW], "number": len(failed), "of": len(latest)}


def _changed(subject: Subject, tell: Tell) -> dict[str, object]:
    """The powers that the sources give entries and the lock does not; of another tool's project, the last commit."""
    before = LOCK if subject.origin is None else "HEAD"
    if subject.origin is None and not os.path.lexists(subject.root / LOCK):
        return {"before": before, "has_baseline": False}  # at once: the first view waits for it
    outcome = subject.difference(before, WORKTREE, tell)
    difference = outcome.difference
    if not outcome.sides.has_baseline:
        return {"before": before, "has_baseline": False}
    rows = [(each, row) for each in (*difference.entries, *difference.workers) for row in each.rows]
    rows.sort(key=lambda each: (_EFFECTS.index(each[1].effect), gravity(each[1].capability)))
    return {
        "before": before,
        "has_baseline": True,
        "verdict": difference.verdict,
        "accepted": difference.is_accepted,
        "rows": [
            {"entry": each.name, "capability": capability(row), "effect": row.effect, "words": decision(row)}
            for each, row in rows[:MOST_ROWS]
        ],
        "number": len(rows),
        "facts": [each for each in changes.facts(difference) if each["effect"] in ("widens", "unknown")],
    }


ENDPOINTS = (Endpoint(path="/api/day", answer=day),)
