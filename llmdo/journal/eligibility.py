"""The right to take a run: a person takes any free one, a worker none that is over or waits for a person."""

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
