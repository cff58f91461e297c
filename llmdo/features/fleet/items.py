"""The items of batches as a worker executes them: taken by their runs, each as on one machine."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.commands import lock_of, require_consent
from llmdo.features.batch.item_run import basis_of, execute
from llmdo.features.batch.queueing import take_up
from llmdo.features.batch.scheduling import BatchBounds, reached
from llmdo.journal import JournalError
from llmdo.journal.items import Result
from llmdo.journal.opening import batches_of, runs_of
from llmdo.services.run import EntryRequest, prepare
from llmdo.services.soundness import tell_nobody

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.features.batch.item_run import BatchBasis
    from llmdo.graph.resolved import Graph
    from llmdo.journal.items import Batch, BatchItem, BatchStore
    from llmdo.services.plan import Approving
    from llmdo.workspace.trust import Consent

    Answering = Callable[[Graph, Json], Approving]
    """The approver of a batch that was put in with these approvals."""

STORE = 5.0  # seconds until a run goes on that the store interrupted
QUOTA = 60.0  # seconds until a run goes on whose provider had enough


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOut:
    """The result of a worker's attempt at an item."""

    batch: str = ""
    item: BatchItem | None = None
    result: Result | None = None
    """None: there was nothing to do."""
    again: float | None = None
    """Seconds after which it is to be taken once more; None: it is over, or waits for a person."""


def bounds_of(batch: Batch) -> BatchBounds:
    """The bounds with which a batch was put in."""
    failures, budget = batch.settings.get("max_failures"), batch.settings.get("budget_usd")
    return BatchBounds(failures=failures, budget_usd=None if budget is None else Decimal(budget))


class FleetItems:
    """A worker's batches and their items."""

    def __init__(
        self,
        root: Path,
        answering: Answering,
        consent: Consent,
        environ: Mapping[str, str],
        *,
        busy: float,
    ) -> None:
        """`environ` names the store; a run that another process has is looked at again after `busy` seconds.

        Raises:
            LlmdoError: The store is unusable.
        """
        self._root, self._answering, self._consent, self._environ = root, answering, consent, environ
        self._busy = busy
        self.batches, self.runs = batches_of(root, environ), runs_of(root, environ)
        self._stores: dict[str, BatchStore] = {}
        self._at_work: set[str] = set()
        self._bases: dict[str, BatchBasis] = {}  # by batch, and what was said about its questions
        self._opening = asyncio.Lock()
        self._opened = ExitStack()

    def close(self) -> None:
        """Closes their stores."""
        self._opened.close()

    async def execute(self, run: str) -> CarriedOut:
        """Executes the item with that run; one that is over, or that another process has, is left alone.

        Raises:
            JournalError: The store is unusable now.
        """
        # A run may be in the queue twice. Until the first one has claimed it, the second would take it for one that a
        # dead process had, and what a person has said about its calls would be lost.
        if run in self._at_work:
            return CarriedOut(again=self._busy)
        self._at_work.add(run)
        try:
            return await self._executed(run)
        finally:
            self._at_work.discard(run)

    async def _executed(self, run: str) -> CarriedOut:
        batch = await asyncio.to_thread(self.batches.of_run, run)
        if batch is None:
            return CarriedOut()
        async with self._opening:
            store = await asyncio.to_thread(self._store, batch)
        item, is_others = await asyncio.to_thread(self._taken, store, run)
        if item is None:
            return CarriedOut(again=self._busy if is_others else None)
        paused = await asyncio.to_thread(reached, store, bounds_of(store.batch))
        result = Result(state="queued", error=paused) if paused else await self._result(store, item)
        if result is None:
            return CarriedOut(again=self._busy)
        ended = await asyncio.to_thread(store.end, item, result)
        if ended is None:  # somebody has taken it since, or the store has lost that this worker did
            return CarriedOut(again=self._busy)
        again = None
        if result.state == "queued" and not paused:
            again = QUOTA if result.out_of_quota else STORE
        return CarriedOut(batch=batch, item=ended, result=result, again=again)

    async def _result(self, store: BatchStore, item: BatchItem) -> Result | None:
        try:
            async with self._opening:
                basis = await asyncio.to_thread(self._basis, store)
        except JournalError:
            raise
        except LlmdoError as error:  # this machine cannot run it: its policy, its variables
            return Result(state="refused", error=error.message, hint=error.hint)
        return await execute(basis, item)

    def _store(self, batch: str) -> BatchStore:
        if batch not in self._stores:
            self._stores[batch] = self.batches.open(batch)
        return self._stores[batch]

    def _basis(self, store: BatchStore) -> BatchBasis:
        batch = store.batch
        approvals = batch.settings.get("approvals")
        key = f"{batch.id} {json.dumps(approvals)}"
        if key not in self._bases:
            start = EntryRequest(
                entry=batch.entry, project=str(self._root), locked=True, environ=self._environ
            )
            prepared = prepare(start, tell_nobody, self._consent)
            require_consent(prepared, batch.settings["models"], self._consent, is_fleet=True)
            answering = self._answering(prepared.graph, approvals)
            basis = self._opened.enter_context(
                basis_of(
                    prepared, store, answering, self._environ, self._consent, is_bound=True, is_fleet=True
                )
            )
            self._bases[key] = basis
        basis, lock = self._bases[key], batch.lock  # which may have been moved since
        plan = basis.plan
        return replace(
            basis,
            is_bound=lock_of(plan.basis.graph, plan.entry, plan.options.models.by_worker) == lock,
            allow_drift=tuple(batch.settings.get("allow_drift", ())),
        )

    def _taken(self, store: BatchStore, run: str) -> tuple[BatchItem | None, bool]:
        """The item, taken now, or None and whether another process has it."""
        if (item := store.take(run)) is None:
            open_items = (each for each in store.items("running", "waiting") if each.first == run)
            take_up(store, self.runs, open_items)
            item = store.take(run)
        is_others = item is None and any(each.first == run for each in store.items("running"))
        return item, is_others
