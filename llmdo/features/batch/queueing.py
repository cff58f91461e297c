"""The items to retry: those a person names, those with new answers, and those nobody works on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt
from llmdo.journal import ClaimedError, JournalError
from llmdo.journal.eligibility import cancel
from llmdo.journal.questions import user, waiting
from llmdo.journal.summary import failed, unfinished
from llmdo.journal.unsettled import probing, unsettled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.journal.items import BatchItem, BatchStore
    from llmdo.journal.stored import RunIndex

Unsure = Literal["again", "give-up"]
"""The choices for calls that may have taken effect."""


def take_up(store: BatchStore, runs: RunIndex, items: Iterable[BatchItem] | None = None) -> None:
    """Queues the items, of these or of all of a batch, that resume by themselves.

    Those are items of a process that is gone, and waiting ones whose answers are there. A person's decision on calls
    held for the interrupted attempt only; the decision to retry stays.
    """
    for item in (*store.items("running", "waiting"),) if items is None else items:
        if item.state == "running" and not runs.is_claimed(item.run):
            with suppress(ClaimedError), runs.claim(item.run):  # by whoever took the item a moment ago
                store.queue([item], "resume" if item.retry else "")
        elif item.state == "waiting" and _is_answered(runs, item):
            store.queue([item])


def has(store: BatchStore, item: BatchItem) -> bool:
    """Whether an item that this process took is still its own."""
    return any(each.number == item.number and each.tries == item.tries for each in store.items("running"))


def queue_again(
    store: BatchStore, runs: RunIndex, *, failed: bool, unsure: Unsure | None, items: Sequence[str] = ()
) -> None:
    """Queues items again at the word of a person: with `failed` the failed, with `unsure` the unsure ones.

    Of the failed only `items`, by their keys, if some are named; otherwise also those that probes can settle.

    Raises:
        LlmdoError: One of these has not failed, or does not exist.
    """
    if items:
        require_failed(store.items(), items)
    if failed:
        again = (item for item in store.items("failed", "refused") if not items or item.key in items)
        store.queue(again, "resume")
        if unsure is None and not items:
            store.queue((item for item in store.items("unsure") if _has_probes(runs, item)), "resume")
    if unsure is not None:
        store.queue(store.items("unsure"), unsure)


def cancel_all(store: BatchStore, runs: RunIndex) -> None:
    """Cancels the queued and waiting items of a batch, then its runs that have begun.

    In that order nothing is taken up in between; if this process is killed there, cancelling again does the rest.
    A run that a process works on at that moment goes on to its end.
    """
    store.cancel()
    for item in store.items("cancelled"):
        if item.has_begun and runs.has(item.run):
            with suppress(ClaimedError), runs.claim(item.run), runs.open(item.run) as journal:
                if journal.last("run") is not None:
                    cancel(journal, user())


def _has_probes(runs: RunIndex, item: BatchItem) -> bool:
    """Whether the calls of an item that may have taken effect have probes, which may know by now."""
    try:
        with runs.read(item.run) as journal:
            unsure = {*unfinished(journal), *failed(journal)} & probing(journal, asks_again=True)
            return bool(unsure) and not unsettled(journal, asks_again=True)
    except JournalError:
        return False


def _is_answered(runs: RunIndex, item: BatchItem) -> bool:
    try:
        with runs.read(item.run) as journal:
            return not waiting(journal)
    except JournalError:  # which whoever takes the item hears of
        return True


def require_failed(items: Iterable[BatchItem], keys: Sequence[str]) -> None:
    """Requires that the items of these keys may be retried.

    Raises:
        LlmdoError: One has not failed, or does not exist.
    """
    states = {item.key: item.state for item in items}
    for key in keys:
        if key not in states:
            raise LlmdoError(f"there is no item `{excerpt(key)}`", hint=did_you_mean(key, states))
        if states[key] not in ("failed", "refused"):
            raise LlmdoError(
                f"item `{excerpt(key)}` is {states[key]}, and only one that failed is taken again"
            )
