"""Batches that workers execute: put in, followed, resumed, and moved to another lock."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.commands import (
    BatchOutcome,
    lock_of,
    outcome_of,
    put_in,
    require_batch_models,
    rows_of,
)
from llmdo.features.batch.fleets import Handing, RebindOutcome
from llmdo.features.batch.queueing import cancel_all, queue_again, take_up
from llmdo.features.batch.scheduling import Draining, reached
from llmdo.features.fleet import queue as tables
from llmdo.features.fleet.items import bounds_of
from llmdo.features.fleet.opening import require
from llmdo.features.fleet.putting import enqueue_again, put_in_left
from llmdo.features.fleet.queue import Queue, first_name
from llmdo.features.fleet.worker import lock_digest
from llmdo.journal.binding import binding_of, differences
from llmdo.journal.items import ENDED
from llmdo.journal.opening import STORE, batches_of, runs_of, workers_of
from llmdo.journal.secrets import Known
from llmdo.services.basis import require_accepted
from llmdo.services.run import EntryRequest, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.features.batch.commands import BatchHost, BatchRequest, ContinuedBatch
    from llmdo.features.batch.rows import Rows
    from llmdo.features.batch.scheduling import BatchBounds
    from llmdo.graph.resolved import Graph
    from llmdo.journal.items import BatchItem, BatchStore, Result
    from llmdo.journal.stored import RunIndex

__all__ = [
    "begin",
    "cancel",
    "follow",
    "forget",
    "go_on",
    "make_tables",
    "put_in_answered",
    "rebind",
    "require",
]

LOOK = 0.5  # seconds between two looks at a batch that is followed


def begin(request: BatchRequest, handing: Handing, host: BatchHost) -> BatchOutcome:
    """Puts a batch in, all of it or nothing, and follows it.

    Raises:
        InvalidTeamError: `check` finds errors, or the lock is not current.
        LlmdoError: It cannot be put in.
    """
    working = request.working
    with closing(Queue(working.environ[STORE])) as queue:
        bounds = _bounds_kept(working.bounds)
        start = replace(request.start, locked=True)
        in_fleet = replace(request, settings={"fleet": True})
        prepared = request.prepared or prepare(
            start, host.tell, host.consent, partial(require_batch_models, in_fleet)
        )
        lock = lock_digest(prepared.root)
        kept = {"fleet": True, "approvals": handing.approvals, "priority": handing.priority, "locked": lock}
        _, store = put_in(replace(request, start=start, settings={**kept, **bounds}, prepared=prepared), host)
        with store:
            for item in store.items("queued"):
                queue.enqueue(
                    first_name(item.first), entry=prepared.entry, lock=lock, priority=handing.priority
                )
            return _followed(store, working.out, working.environ, host)


def _bounds_kept(bounds: BatchBounds) -> dict[str, Json]:
    """The bounds after which nothing more begins, checked by each worker.

    Raises:
        LlmdoError: A bound counts the work of one process.
    """
    if bounds.items is not None:
        raise LlmdoError("`--limit` counts the items of one process", hint="leave it out with `--fleet`")
    budget = bounds.budget_usd
    return {"max_failures": bounds.failures, "budget_usd": None if budget is None else str(budget)}


def go_on(request: ContinuedBatch, approvals: Json, host: BatchHost) -> BatchOutcome:
    """Puts the rest of a batch, and the items to retry, in again and follows it.

    Earlier settings for its questions and bounds no longer hold.

    Raises:
        LlmdoError: There is no such batch.
    """
    environ = request.working.environ
    batches = batches_of(request.root, environ)
    with (
        closing(Queue(environ[STORE])) as queue,
        batches.open(batches.find(request.batch)) as store,
    ):
        _require_handed(store)
        store.keep({**store.batch.settings, "approvals": approvals, **_bounds_kept(request.working.bounds)})
        runs = runs_of(request.root, environ)
        queue_again(store, runs, failed=request.failed, items=request.keys, unsure=request.unsure)
        take_up(store, runs, store.items("waiting"))
        put_in_left(queue, store, runs, lock_digest(request.root))
        return _followed(store, request.working.out, environ, host)


def follow(
    root: Path, batch: str, out: str | None, environ: Mapping[str, str], host: BatchHost
) -> BatchOutcome:
    """Follows a batch to its end, or until a person leaves it."""
    batches = batches_of(root, environ)
    with batches.open(batches.find(batch)) as store:
        return _followed(store, out, environ, host)


def cancel(root: Path, batch: str, environ: Mapping[str, str]) -> BatchOutcome:
    """Cancels all items that have not begun or wait; running ones go on."""
    batches = batches_of(root, environ)
    with closing(Queue(environ[STORE])) as queue, batches.open(batches.find(batch)) as store:
        cancel_all(store, runs_of(root, environ))
        cancelled = {item.first for item in store.items("cancelled")}
        queue.cancel([each.name for each in queue.waiting() if each.run in cancelled])
        return outcome_of(store, Draining())


def rebind(
    root: Path, batch: str, environ: Mapping[str, str], host: BatchHost, allow_drift: tuple[str, ...] = ()
) -> RebindOutcome:
    """Moves all of a batch that has not started to the current workspace.

    Started runs move too if `allow_drift` names all that changed since they began.

    Raises:
        InvalidTeamError: `check` finds errors, or the lock is not current.
        DriftError: A change is not named; nothing was moved.
        LlmdoError: There is no such batch, or something is named that has not changed.
    """
    batches = batches_of(root, environ)
    with closing(Queue(environ[STORE])) as queue, batches.open(batches.find(batch)) as store:
        _require_handed(store)
        which = store.batch
        start = EntryRequest(entry=which.entry, project=str(root), locked=True, environ=environ)
        prepared = prepare(start, host.tell, host.consent)
        lock = lock_digest(root)
        runs = runs_of(root, environ)
        left = {item.first: item for item in store.items("queued", "running", "waiting", "unsure")}
        started = {first for first, item in left.items() if item.has_begun or item.state != "queued"}
        settings = {**which.settings, "locked": lock}
        if allow_drift:
            _require_accepted(
                runs, (left[first].run for first in started), prepared.graph, environ, allow_drift
            )
            at_work = {each.run for each in queue.at_work()}
            started &= at_work
            settings |= {"allow_drift": [*allow_drift], "moved": lock}
        store.keep(settings)
        store.rebind(lock_of(prepared.graph, which.entry, which.settings["models"]))
        moved = left.keys() - started
        for each in queue.waiting():
            if each.run in moved and each.lock != lock:
                queue.rebind(each, lock)
        return RebindOutcome(batch=which.id, moved=len(moved), started=len(started))


def _require_accepted(
    runs: RunIndex,
    started: Iterable[str],
    graph: Graph,
    environ: Mapping[str, str],
    accepted: tuple[str, ...],
) -> None:
    """Requires that exactly the changes since these runs began were accepted."""
    changed: dict[str, str] = {}
    known = Known.of(environ)
    for run in started:
        if runs.has(run):
            with runs.read(run) as journal:
                if journal.last("run") is not None:
                    journal.know(known)
                    changed |= differences(binding_of(journal), graph)
    require_accepted(changed, accepted, ["accept it: {flags}"])


def put_in_answered(store: BatchStore, root: Path, run: str, environ: Mapping[str, str]) -> None:
    """Puts a waiting run of a batch in again, once its answers are there."""
    items = [item for item in store.items("queued", "running", "waiting") if item.run == run]
    take_up(store, runs_of(root, environ), items)
    with closing(Queue(environ[STORE])) as queue:
        for item in items:  # where it is still at work, whoever takes it next finds that it goes on
            enqueue_again(queue, store.batch, item, lock_digest(root))


def _require_handed(store: BatchStore) -> None:
    if not store.batch.settings.get("fleet"):
        raise LlmdoError(
            f"batch `{store.batch.id}` was not put in for workers",
            hint="`llmdo batch resume` without `--fleet`",
        )


def _followed(
    store: BatchStore, out: str | None, environ: Mapping[str, str], host: BatchHost
) -> BatchOutcome:
    """Follows the batch until nothing of it is queued or at work, or a person leaves it."""
    draining = Draining()
    with ExitStack() as stack:
        workers = stack.enter_context(closing(workers_of(environ[STORE])))
        if not any(worker.is_alive for worker in workers.all()):
            host.tell("no worker is running yet: `llmdo fleet worker --fleet URL` starts one")
        rows = stack.enter_context(rows_of(store, out or store.batch.settings["out"]))
        tell = stack.enter_context(host.following(store))
        host.wait_for(_following(store, rows, tell, draining), lambda: None, draining)
    return outcome_of(store, draining)


async def _following(
    store: BatchStore, rows: Rows | None, tell: Callable[[BatchItem, Result], None], draining: Draining
) -> None:
    bounds = bounds_of(store.batch)
    seen = {item.run: (item.state, item.tries) for item in await asyncio.to_thread(list, store.items())}
    counts = None
    while draining.reason is None:
        before, counts = counts, await asyncio.to_thread(store.counts)
        if counts != before:
            for item in await asyncio.to_thread(list, store.items(*ENDED, "waiting")):
                if seen.get(item.run) != (item.state, item.tries):
                    seen[item.run] = (item.state, item.tries)
                    if rows is not None:
                        rows.add(item, item.result)
                    tell(item, item.result)
        if not (counts.get("queued") or counts.get("running")):
            return
        if not counts.get("running") and (reason := await asyncio.to_thread(reached, store, bounds)):
            draining(reason)
        await asyncio.sleep(LOOK)


def make_tables(address: str) -> None:
    """Brings the tables of the queue up to date."""
    tables.make_tables(require(address))


def forget(address: str, runs: list[str]) -> None:
    """Removes the records of these runs from the queue of the database at `address`."""
    with closing(Queue(address)) as queue:
        queue.forget(runs)
