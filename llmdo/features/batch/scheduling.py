"""The items of a batch one after the other, so many at a time, until none is left or a bound is reached."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.features.batch.queueing import has
from llmdo.journal.items import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llmdo.journal.items import BatchItem, BatchStore

    Work = Callable[[BatchItem], Awaitable[Result | None]]
    """The work on a taken item; None if another process has it by now, or its run."""
    OnResult = Callable[[BatchItem, Result], None]


LATER = 1.0  # seconds until an item is looked at again whose run another process has
MOST_TRIES = 5
"""How often an item is taken whose run the store interrupts, before nothing more is begun."""

UNPRICED = (
    "a model that was called has no known price, so `--budget-usd` cannot be kept: without it, the `limits` of the "
    "entry bound what each run uses"
)


JOBS = option("How many items are worked on at a time.", least=1, most=1000)


def budget(text: str | None) -> Decimal | None:
    """The cost that a person allows, if one is named.

    Raises:
        LlmdoError: It is not a number above 0.
    """
    if text is None:
        return None
    try:
        most = Decimal(text)
    except InvalidOperation:
        most = Decimal(0)
    if not (most.is_finite() and most > 0):
        raise LlmdoError(f"`--budget-usd {text}` is not a number above 0")
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBounds:
    """The bounds that end a batch early; items that have begun are finished."""

    jobs: int = field(default=8, metadata=JOBS)
    budget_usd: Decimal | None = field(
        default=None,
        metadata=option(
            "Begin nothing more once the batch has cost that; what has begun may add `--jobs` times an entry's limit.",
            metavar="X",
            by=budget,
        ),
    )
    failures: int | None = field(
        default=None,
        metadata=option(
            "Begin nothing more once N items have failed.", "--max-failures", metavar="N", least=1
        ),
    )
    items: int | None = field(
        default=None,
        metadata=option(
            "Begin at most N items now; with 1, show what its model is given.",
            "--limit",
            metavar="N",
            least=1,
        ),
    )


@dataclass(slots=True)
class Draining:
    """Whether nothing more begins, and why."""

    reason: str | None = None
    interrupted: bool = False

    def __call__(self, reason: str) -> bool:
        """Lets nothing more begin; whether that was news."""
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
    failure: Exception | None = None
    """The first error because of which nothing more is begun."""

    def fail(self, error: Exception, draining: Draining) -> None:
        """Lets nothing more begin; items that have begun are not cut off within their calls."""
        self.failure = self.failure or error
        draining(str(error))


async def work_off(
    store: BatchStore,
    work: Work,
    bounds: BatchBounds,
    draining: Draining,
    on_result: OnResult,
    look: Callable[[], None],
) -> None:
    """Returns when no item is queued any more, or `draining` says why nothing more begins and all that had is over.

    `on_result` is called with each item once its outcome is on record. `look` queues the items that others have left,
    when there is nothing else to do.

    Raises:
        Exception: An error of the store or of `work`, once all begun items are over.
    """
    running, has_looked = _AtWork(), False
    try:
        while True:
            try:
                _begin(store, work, bounds, draining, running)
                if not running.tasks and draining.reason is None and not has_looked:
                    await asyncio.to_thread(look)
                    has_looked = True
                    continue
            except Exception as error:
                running.fail(error, draining)
            if not running.tasks:
                break
            has_looked = False
            over, _ = await asyncio.wait(running.tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in over:
                item = running.tasks.pop(task)
                try:
                    _end(store, item, task.result(), draining, on_result)
                except Exception as error:
                    running.fail(error, draining)
    finally:
        for task in running.tasks:
            task.cancel()
        await asyncio.gather(*running.tasks, return_exceptions=True)
    if running.failure is not None:
        raise running.failure


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
        running.tasks[asyncio.create_task(_worked(store, work, item, draining))] = item


async def _worked(store: BatchStore, work: Work, item: BatchItem, draining: Draining) -> Result | None:
    """Works on an item; None if another process has taken it since.

    An item whose run another process has is polled until that process is through with it.
    """
    while (result := await work(item)) is None and await asyncio.to_thread(has, store, item):
        if draining.reason is not None:
            return Result(state="queued", error=f"another process has run `{item.run}`")
        await asyncio.sleep(LATER)
    return result


def _end(
    store: BatchStore, item: BatchItem, result: Result | None, draining: Draining, on_result: OnResult
) -> None:
    """Keeps the result of an item, and lets nothing more begin if it says so."""
    if result is None:
        return
    if ended := store.end(item, result):
        on_result(ended, result)
    if result.out_of_quota or (result.state == "queued" and item.tries >= MOST_TRIES):
        draining(f"{result.error}, so nothing more is begun")


def reached(store: BatchStore, bounds: BatchBounds, begun: int = 0) -> str | None:
    """The bound that is reached, in a sentence; None if none is."""
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
