"""The status of a fleet, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.colour import Screen
    from llmdo.base.values import Json
    from llmdo.features.fleet.status import FleetStatus
    from llmdo.features.fleet.worker import WorkerOutcome
    from llmdo.journal.items import BatchItem, Result
    from llmdo.journal.workers import FleetWorker


def as_text(status: FleetStatus, screen: Screen = PAPER) -> str:
    """The workers with their runs, the waiting entries, and the obstacles."""
    alive = status.alive
    waiting = sum(each.runs for each in status.waiting)
    at_work = counted(len(status.at_work), "item")
    lines = [
        f"{counted(len(alive), 'worker')}, {at_work} at work, {waiting:,} waiting, {status.per_minute:.1f} a minute"
    ]
    for worker in status.workers:
        lines += _worker(status, worker, screen)
    if status.waiting:
        lines.append("waiting:")
    for each in status.waiting:
        unclaimed = screen.paint("bad", "  no worker has this lock") if each in status.unclaimed else ""
        lines.append(
            f"  {shown(each.entry)}  {counted(each.runs, 'item')}, the first for {_span(each.longest)}, "
            f"for lock {short(each.lock)}{unclaimed}"
        )
    if status.unclaimed:
        lines.append("`llmdo batch rebind BATCH` moves what has not started to the lock of this checkout")
    for taken in status.orphans:
        lines.append(
            f"left over: {shown(taken.run)}, which `{shown(taken.worker or '')}` had: a worker takes it up soon"
        )
    return "".join(f"{line}\n" for line in lines)


def _worker(status: FleetStatus, worker: FleetWorker, screen: Screen) -> Iterator[str]:
    if not worker.is_alive:
        state = screen.paint("bad", "dead")
    elif status.takes_nothing(worker):
        state = screen.paint("asks", "another lock than what waits")
    else:
        state = screen.paint("good" if worker.state == "working" else "asks", shown(worker.state))
    taken = status.has(worker)
    yield (
        f"  {shown(worker.id)}  {state}  {len(taken)} of {worker.jobs} at work, {worker.ended} done in "
        f"{_span(worker.age)}, heard from {_span(worker.silent)} ago, lock {short(worker.lock)}"
    )
    for each in taken if worker.is_alive else ():
        yield f"    {shown(each.run)}  {shown(each.entry)}  for {_span(status.now - each.since)}"


def short(lock: str) -> str:
    """The digest of a lock, shortened for people."""
    return shown(lock.rpartition(":")[2][:12])


def as_json(status: FleetStatus) -> str:
    """The document `llmdo.fleet/1`."""
    return document("llmdo.fleet/1", record(status))


def record(status: FleetStatus) -> dict[str, Json]:
    """The same as plain data."""
    unclaimed, orphans = status.unclaimed, status.orphans
    return {
        "per_minute": round(status.per_minute, 3),
        "workers": [
            {
                "id": worker.id,
                "host": worker.host,
                "pid": worker.pid,
                "lock": worker.lock,
                "jobs": worker.jobs,
                "state": worker.state if worker.is_alive else "dead",
                "takes_nothing": status.takes_nothing(worker),
                "age_s": round(worker.age, 3),
                "silent_s": round(worker.silent, 3),
                "ended": worker.ended,
                "per_minute": round(worker.per_minute, 3),
                "at_work": [
                    {
                        "run": each.run,
                        "entry": each.entry,
                        "for_s": round(max(status.now - each.since, 0.0), 3),
                    }
                    for each in status.has(worker)
                ],
            }
            for worker in status.workers
        ],
        "waiting": [
            {
                "entry": each.entry,
                "lock": each.lock,
                "items": each.runs,
                "longest_s": round(each.longest, 3),
                "nobody_has_the_lock": each in unclaimed,
            }
            for each in status.waiting
        ],
        "left_over": [{"run": each.run, "worker": each.worker} for each in orphans],
    }


def _span(seconds: float) -> str:
    """Such as `12 s`, `3 min` or `5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def item_line(batch: str, item: BatchItem, result: Result) -> str:
    """The result of an item, as a line for the log of a worker."""
    why = f": {shown(result.error)}" if result.error else ""
    return f"{result.state} {shown(item.key)}, run {item.run} of batch {shown(batch)}{why}"


def worker_ended(outcome: WorkerOutcome) -> str:
    """Why a worker ended."""
    return f"this worker ends after {counted(outcome.ended, 'item')}: {outcome.reason}"
