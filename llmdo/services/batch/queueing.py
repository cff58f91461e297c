"""Which items are taken once more: what a person names, what has its answers by now, and what nobody works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.journal import JournalError
from llmdo.journal.questions import waiting

if TYPE_CHECKING:
    from llmdo.journal.batches import BatchStore
    from llmdo.journal.items import BatchItem
    from llmdo.journal.ports import RunIndex

Unsure = Literal["again", "give-up"]
"""What becomes of calls that may have taken effect."""


def take_back(store: BatchStore, runs: RunIndex) -> None:
    """Queues what was at work in a process that is gone."""
    store.queue(item for item in store.items("running") if not runs.is_claimed(item.run))


def queue_again(store: BatchStore, runs: RunIndex, *, failed: bool, unsure: Unsure | None) -> None:
    """Queues what waited for answers that are there, and with `failed` or `unsure` what a person has tried again."""
    if failed:
        store.queue(store.items("failed", "refused"), "resume")
    if unsure is not None:
        store.queue(store.items("unsure"), unsure)
    store.queue(item for item in store.items("waiting") if _is_answered(runs, item))


def _is_answered(runs: RunIndex, item: BatchItem) -> bool:
    try:
        with runs.read(item.run) as journal:
            return not waiting(journal)
    except JournalError:  # which whoever takes the item hears of
        return True
