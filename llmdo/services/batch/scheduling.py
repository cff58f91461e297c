"""The items of a batch one after the other, so many at a time, until there are no more or something says to stop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal  # noqa: TC003  # a field's type
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llmdo.journal.batches import BatchStore
    from llmdo.journal.items import BatchItem, Result

    Work = Callable[[BatchItem], Awaitable[Result | None]]
    """What becomes of an item that was taken; None where another process works on its run."""
    OnResult = Callable[[BatchItem, Result], None]


MOST_TRIES = 5
"""How often an item is taken whose run the store interrupts, before nothing more is begun."""

UNPRICED = (
    "a model that was called has no known price, so `--budget-usd` cannot be kept: without it, the `limits` of the "
    "entry bound what each run uses"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBounds:
    """What ends a batch early; what has begun by then is finished."""

    jobs: int = 8
    """Items that are worked on at a time."""
    items: int | None = None
    """Items that are begun."""
    failures: int | None = None
    """Items of the batch that may have failed before nothing more begins."""
    budget_usd: Decimal | None = None
    """What the batch may have cost before nothing more begins."""


@dataclass(slots=True)
class Draining:
    """Whether nothing more begins, and why."""

    reason: str | None = None
    interrupted: bool = False

    def __call__(self, reason: str) -> bool:
        """Has nothing more begin; whether that was news."""
        is_first = self.reason is None
        self.reason = self.reason or reason
        return is_first

    def by_person(self, reason: str) -> bool:
        """The same, for a person who interrupts the batch."""
        self.interrupted = True
        return self(reason)


@dataclass(slots=True)
class _AtWork:
    tasks: dict[asyncio.Task[Result | None], BatchItem] = field(default_factory=dict)
    begun: int = 0


async def work_off(
    store: BatchStore, work: Work, bounds: BatchBounds, draining: Draining, on_result: OnResult
) -> None:
    """Returns when no item is queued any more, or `draining` says why nothing more begins and all that had is over.

    `on_result` is called with each item once its outcome is on record.
    """
    running = _AtWork()
    try:
        while True:
            _begin(store, work, bounds, draining, running)
            if not running.tasks:
                return
            over, _ = await asyncio.wait(running.tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in over:
                item, result = running.tasks.pop(task), task.result()
                if result is None:
                    continue
                if ended := store.end(item, result):
                    on_result(ended, result)
                if result.out_of_quota or (result.state == "queued" and item.tries >= MOST_TRIES):
                    draining(f"{result.error}, so nothing more is begun")
    finally:
        for task in running.tasks:
            task.cancel()
        await asyncio.gather(*running.tasks, return_exceptions=True)


def _begin(store: BatchStore, work: Work, bounds: BatchBounds, draining: Draining, running: _AtWork) -> None:
    """Begins as many items as may be at work."""
    while len(running.tasks) < bounds.jobs and draining.reason is None:
        if reason := reached(store, bounds, running.begun):
            draining(reason)
            return
        item = store.take()
        if item is None:
            return
        running.begun += 1
        running.tasks[asyncio.create_task(_worked(work, item))] = item


async def _worked(work: Work, item: BatchItem) -> Result | None:
    return await work(item)


def reached(store: BatchStore, bounds: BatchBounds, begun: int = 0) -> str | None:
    """Which of the bounds is reached, in a sentence; None where none is."""
    if bounds.items is not None and begun >= bounds.items and store.counts().get("queued"):
        return f"{begun} items were begun, as `--limit` says"
    if bounds.failures is not None:
        failed = store.counts().get("failed", 0)
        if failed >= bounds.failures:
            return f"{failed} items failed, as many as `--max-failures` says"
    if bounds.budget_usd is not None:
        spent = store.spent()
        if spent.unpriced:
            return UNPRICED
        if spent.cost_usd >= bounds.budget_usd:
            return f"the batch has cost ${spent.cost_usd:.4f}, and `--budget-usd` is ${bounds.budget_usd}"
    return None
