"""The status of a fleet: its workers and their runs, the waiting entries and their age, and those nobody can take."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.features.fleet.queue import Queue
from llmdo.journal.opening import workers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.features.fleet.queue import QueuedRun
    from llmdo.journal.workers import FleetWorker


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRuns:
    """The waiting runs of one entry, for workers with one lock."""

    entry: str
    lock: str
    runs: int
    longest: float
    """Seconds for which the first of them has waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStatus:
    """The current status of a fleet."""

    workers: tuple[FleetWorker, ...]
    waiting: tuple[WaitingRuns, ...]
    at_work: tuple[QueuedRun, ...]
    now: float
    """Seconds since 1970."""

    @property
    def alive(self) -> tuple[FleetWorker, ...]:
        """The workers heard from lately."""
        return tuple(worker for worker in self.workers if worker.is_alive)

    @property
    def per_minute(self) -> float:
        """The items a minute that the live workers finish, each since it began."""
        return sum(worker.per_minute for worker in self.alive)

    @property
    def unclaimed(self) -> tuple[WaitingRuns, ...]:
        """The waiting runs for a lock that no live worker has."""
        locks = {worker.lock for worker in self.alive}
        return tuple(each for each in self.waiting if each.lock not in locks)

    def takes_nothing(self, worker: FleetWorker) -> bool:
        """Whether runs wait, none of them for the lock of this worker."""
        return bool(self.waiting) and all(each.lock != worker.lock for each in self.waiting)

    def has(self, worker: FleetWorker) -> tuple[QueuedRun, ...]:
        """The runs of a worker."""
        return tuple(each for each in self.at_work if each.worker == worker.id)

    @property
    def orphans(self) -> tuple[QueuedRun, ...]:
        """The runs of dead workers; a live worker takes them up soon."""
        alive = {worker.id for worker in self.alive}
        return tuple(each for each in self.at_work if each.worker not in alive)


def status(address: str) -> FleetStatus:
    """The status of the fleet with the store at `address`.

    Raises:
        LlmdoError: It cannot be asked.
    """
    with closing(workers_of(address)) as workers, closing(Queue(address)) as queue:
        now = time.time()
        return FleetStatus(
            workers=workers.all(), waiting=_grouped(queue.waiting(), now), at_work=queue.at_work(), now=now
        )


def _grouped(waiting: tuple[QueuedRun, ...], now: float) -> tuple[WaitingRuns, ...]:
    counts = Counter((each.entry, each.lock) for each in waiting)
    first: Mapping[tuple[str, str], float] = {
        (each.entry, each.lock): each.since for each in sorted(waiting, key=lambda each: -each.since)
    }
    return tuple(
        WaitingRuns(entry=entry, lock=lock, runs=runs, longest=max(now - first[entry, lock], 0.0))
        for (entry, lock), runs in sorted(counts.items())
    )
