"""The presence of a worker: its row, and the heartbeat by which all others know that it is alive."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from secrets import token_hex
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from llmdo.journal import JournalError
from llmdo.journal.fencing import end_process
from llmdo.journal.workers import ALIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.journal.workers import FleetWorkers


class Presence:
    """This process as a worker of a fleet.

    A worker whose heartbeat fails for two thirds of the time ends itself: when others take it for dead, and take its
    runs, it is.
    """

    def __init__(
        self,
        workers: FleetWorkers,
        *,
        lock: str,
        jobs: int,
        end: Callable[[str], None] = end_process,
        seconds: float = ALIVE,
    ) -> None:
        """`workers` is used by nothing else: no statement holds up the beat."""
        self.id = f"{socket.gethostname()}:{os.getpid()}:{token_hex(4)}"
        self.state = "working"
        self.ended = 0
        """The number of finished items."""
        self._workers, self._end, self._seconds = workers, end, seconds
        self._lock, self._jobs = lock, jobs
        self._beaten = time.monotonic()
        self._over = Event()
        self._beats = Thread(target=self._beating, name=f"llmdo worker {self.id}", daemon=True)

    def __enter__(self) -> Self:
        """Registers the worker, before it takes anything.

        Raises:
            LlmdoError: It cannot.
        """
        self._beaten = time.monotonic()
        self._workers.register(self.id, lock=self._lock, jobs=self._jobs)
        for thread in (self._beats, Thread(target=self._watching, daemon=True)):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._beats.join(self._seconds / 3)
        with suppress(JournalError):  # else its beat runs out
            self._workers.leave(self.id)
        self._workers.close()

    def _beating(self) -> None:
        while not self._over.wait(self._seconds / 6):
            at = time.monotonic()
            try:
                is_known = self._workers.beat(self.id, state=self.state, ended=self.ended)
            except JournalError:  # the watch decides how long that may go on
                continue
            if is_known:
                self._beaten = at
            elif not self._over.is_set():
                self._end(f"worker `{self.id}` is not known any more")
                return

    def _watching(self) -> None:
        while not self._over.wait(max(0.01, self._left())):
            if self._left() <= 0:
                self._end(
                    f"worker `{self.id}` could not report for {self._seconds * 2 / 3:.0f} s that it is alive"
                )
                return

    def _left(self) -> float:
        return self._beaten + self._seconds * 2 / 3 - time.monotonic()
