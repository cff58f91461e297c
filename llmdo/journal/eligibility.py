"""The right to take a run: a person takes any free one, a worker none that is over, waits or is cancelled."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.entries import CANCELLED, JournalEntry, JournalError, NotOpenError, pack
from llmdo.journal.questions import waiting
from llmdo.journal.summary import COMPLETE, ending, summary
from llmdo.journal.unsettled import unsettled

if TYPE_CHECKING:
    from llmdo.journal.stored import JournalStore


def status_of(end: JournalEntry) -> str:
    """The status of a run with this end: `queued` if nothing prevents resuming it."""
    is_over = end.outcome != "interrupted" and not end.data.get("out_of_quota")
    return end.outcome if is_over else "queued"


def require_open(journal: JournalStore) -> None:
    """Checks that a worker may work on the run of `journal`, whether it began or not.

    Raises:
        NotOpenError: It is over, waits for answers, or a call may have taken effect.
    """
    last = ending(journal)
    status = status_of(last) if last is not None else "running"
    if status == "waiting" and not waiting(journal):
        status = "queued"
    if status in ("queued", "running"):
        if not unsettled(journal):
            return
        status = "unsure"
    raise NotOpenError(journal.run, status)


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


def end_process(why: str) -> None:
    """Ends this process at once, before any further action."""
    try:
        os.write(sys.stderr.fileno(), f"error: {why}; this process ends\n".encode())
    finally:
        os._exit(2)
