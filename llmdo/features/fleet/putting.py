"""Unfinished items of batches that are in no queue, put in by whoever resumes the batch or by an idle worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.batch.fleets import PRIORITY
from llmdo.features.batch.queueing import take_up
from llmdo.features.batch.scheduling import reached
from llmdo.features.fleet.items import bounds_of
from llmdo.features.fleet.queue import first_name

if TYPE_CHECKING:
    from llmdo.features.fleet.queue import Queue
    from llmdo.journal.items import Batch, Batches, BatchItem, BatchStore
    from llmdo.journal.stored import RunIndex


def put_in_lost(queue: Queue, batches: Batches, runs: RunIndex) -> None:
    """Puts in the unfinished items of all fleet batches that are in no queue because their process died."""
    for name in batches.unfinished():
        with batches.open(name) as store:
            batch = store.batch
            if batch.settings.get("fleet") and not reached(store, bounds_of(batch)):
                put_in_left(queue, store, runs)


def put_in_left(queue: Queue, store: BatchStore, runs: RunIndex, lock: str | None = None) -> None:
    """Puts in the unfinished items of a batch that are in no queue.

    The lock is that of their last entry, or the one they moved to; for items never put in that of the batch, or
    `lock` if that is unknown.
    """
    batch = store.batch
    open_runs = {item.first for item in store.items("queued", "running")}
    lost = open_runs - queue.runs()  # in this order: what was put in or taken in between is in the queue
    take_up(store, runs, (item for item in store.items("running") if item.first in lost))
    if not (lock := batch.settings.get("locked", lock)):
        return
    left = [item for item in store.items("queued") if item.first in lost]
    earlier = queue.earlier([item.first for item in left])
    for item in left:
        if item.first in earlier:
            enqueue_again(queue, batch, item, lock)
        else:
            queue.enqueue(first_name(item.first), entry=batch.entry, lock=lock, priority=priority_of(batch))


def enqueue_again(queue: Queue, batch: Batch, item: BatchItem, lock: str) -> None:
    """Puts an item in once more; a begun one for the lock to which `rebind` moved it, if it did."""
    moved = batch.settings.get("moved") if item.has_begun else None
    queue.enqueue_again(item.first, entry=batch.entry, lock=lock, moved=moved, priority=priority_of(batch))


def priority_of(batch: Batch) -> int:
    """The priority that a batch was put in with."""
    return int(batch.settings.get("priority", PRIORITY))
