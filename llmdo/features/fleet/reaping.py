"""The entries of dead workers go to others, and unqueued items are put in: each worker looks for them now and then."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.features.fleet.intervals import Intervals
    from llmdo.features.fleet.queue import Queue, QueuedRun
    from llmdo.journal.workers import FleetWorkers

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
