"""Who may take a run: a person any that no process has, a worker none that is over or that waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import NotOpenError
from llmdo.journal.questions import waiting
from llmdo.journal.summary import ending
from llmdo.journal.unsettled import unsettled

if TYPE_CHECKING:
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore


def status_of(end: JournalEntry) -> str:
    """How a run stands that ended so: `queued` where nothing stands in the way of going on."""
    is_over = end.outcome != "interrupted" and not end.data.get("out_of_quota")
    return end.outcome if is_over else "queued"


def require_open(journal: JournalStore) -> None:
    """Nothing, where a worker may go on with the run of `journal`, whether it began or not.

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
