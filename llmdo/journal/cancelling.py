"""A cancelled run: its journal says so, and neither a yes nor a worker nor `resume` continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.entries import CANCELLED, JournalEntry, JournalError, pack
from llmdo.journal.summary import COMPLETE, summary

if TYPE_CHECKING:
    from llmdo.journal.stored import JournalStore


def cancel(journal: JournalStore, by: str) -> bool:
    """Ends the run of `journal` for good, in the name of `by`; whether it was not over before.

    Raises:
        JournalError: It never began, or the journal cannot be written.
    """
    summed = summary(journal, is_running=False)
    if summed is None:
        raise JournalError(f"run `{journal.run}` never began")
    if summed.status in {*COMPLETE, "failed", CANCELLED}:
        return False
    last = journal.last("end")
    step = 1 + max(journal.counted().get("session", 0), last.step if last is not None else 0)
    used = {
        name: getattr(summed, name) for name in ("requests", "tool_calls", "input_tokens", "output_tokens")
    }
    cost = None if summed.cost_usd is None else str(summed.cost_usd)
    ending = {
        "run": journal.run,
        "entry": summed.entry,
        "output": None,
        "reached": None,
        "is_typed": False,
        "usage": {**used, "cost_usd": cost},
        "usage_by_worker": {},
        "frames": [],
        "denied": [],
        **(last.data if last is not None else {}),
        "status": CANCELLED,
        "error": f"called off by {by}",
        "hint": None,
    }
    journal.add(JournalEntry(path=summed.entry, kind="end", step=step, outcome=CANCELLED, body=pack(ending)))
    journal.commit()
    return True


def require_going(journal: JournalStore) -> None:
    """Checks that nobody cancelled the run.

    Raises:
        LlmdoError: Otherwise.
    """
    last = journal.last("end")
    if last is not None and last.outcome == CANCELLED:
        raise LlmdoError(
            f"run `{journal.run}` was {last.data.get('error') or 'called off'}, so nothing goes on with it"
        )
