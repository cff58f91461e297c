"""The upkeep of a fleet: what is over is removed by age, and entries of dead workers go to others."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.pruning import BatchPruneRequest
from llmdo.features.batch.pruning import prune as prune_batches
from llmdo.services.retention import DAY, kept_days
from llmdo.services.runs import PruneRequest
from llmdo.services.runs import prune as prune_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.features.fleet.intervals import Intervals
    from llmdo.features.fleet.queue import Queue, QueuedRun
    from llmdo.journal.workers import FleetWorkers
    from llmdo.services.root import Tell

LOOK = 600.0  # seconds between two looks of one worker
TURN = "housekeeping"
LONGEST = 5.0  # seconds that a worker waits for it as it ends: what it leaves, the next one removes


class KeptRequest(Protocol):
    """The subject of the removal."""

    @property
    def root(self) -> Path:
        """The root of the workspace."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment, which names the store."""


class Housekeeper:
    """The removal of old runs, in its own thread for as long as the block runs."""

    def __init__(self, request: KeptRequest, workers: FleetWorkers, queue: Queue, tell: Tell) -> None:
        """`workers` is used by nothing else."""
        self._request, self._workers, self._queue, self._tell = request, workers, queue, tell
        self._over = Event()
        self._thread = Thread(target=self._looking, name="llmdo housekeeper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(LONGEST)

    def _looking(self) -> None:
        while True:
            try:
                if self._workers.has_turn(TURN, DAY):
                    remove_old(self._request, self._queue, self._tell)
            except LlmdoError as error:
                self._tell(f"warning: what is old is not removed now: {error.message}")
            if self._over.wait(LOOK):
                return


def remove_old(request: KeptRequest, queue: Queue, tell: Tell) -> None:
    """Removes the batches and runs older than the manifest keeps them; none if it does not say.

    Raises:
        LlmdoError: The manifest has errors, or the store cannot be used.
    """
    root, environ, days = request.root, request.environ, kept_days(request.root)
    if days["batches"] is not None:
        old_batches = BatchPruneRequest(root=root, older_than=days["batches"], keep=0, environ=environ)
        batches = prune_batches(old_batches, tell, queue.forget)
        _tell_removed(len(batches), "batch", "batches", tell)
    if days["runs"] is not None:
        old_runs = PruneRequest(root=root, older_than=days["runs"], keep=0, environ=environ)
        runs = prune_runs(old_runs, tell)
        _tell_removed(len(runs), "run", "runs", tell)


def _tell_removed(number: int, noun: str, plural: str, tell: Tell) -> None:
    if number:
        tell(f"removed {number} {noun if number == 1 else plural} that llmdo.toml no longer keeps")


RELEASE = 2.0  # seconds between two looks for what is due


def reap(queue: Queue, workers: FleetWorkers) -> tuple[QueuedRun, ...]:
    """The entries taken from dead workers; nothing if another process is doing that.

    The worker that has a run decides, never the age of a heartbeat: a worker that is alive keeps its own.
    """
    with workers.reaping() as is_alone:
        if not is_alone:
            return ()
        left = queue.reap({worker.id for worker in workers.all() if worker.is_alive})
    workers.forget()
    return left


class Reaper:
    """Reaps every few seconds during the block, in its own thread."""

    def __init__(
        self,
        queue: Queue,
        workers: FleetWorkers,
        on_reaped: Callable[[QueuedRun], None],
        own: Callable[[tuple[QueuedRun, ...]], tuple[QueuedRun, ...]],
        delays: FleetWorkers,
        put_in_lost: Callable[[], None],
        intervals: Intervals,
    ) -> None:
        """`on_reaped` gets each run taken from a dead worker; `own` picks the entries that this worker gives back.

        `delays` says which delayed entries are due, by the clock of the store; `put_in_lost` puts in the items that are
        in no queue.
        """
        self._delays, self._put_in_lost, self._intervals = delays, put_in_lost, intervals
        self._queue, self._workers, self._on_reaped, self._own = queue, workers, on_reaped, own
        self._over = Event()
        self._thread = Thread(target=self._reaping, name="llmdo reaper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _reaping(self) -> None:
        pause, idle = self._intervals.dead, self._intervals.unqueued
        last = looked = -idle
        while True:
            self._release()
            if self._over.wait(min(pause, RELEASE)):
                return
            now = time.monotonic()
            if now < last + pause:
                continue
            last = now
            try:
                for taken in reap(self._queue, self._workers):
                    self._on_reaped(taken)
                self._queue.give_back(self._own(self._queue.at_work()))
                if now >= looked + idle and self._queue.is_idle():
                    looked = now
                    self._put_in_lost()
            except LlmdoError:  # the database is away; whoever looks next finds the same
                pass

    def _release(self) -> None:
        with suppress(LlmdoError):  # as there
            self._delays.released(self._queue.release(self._delays.due()))
