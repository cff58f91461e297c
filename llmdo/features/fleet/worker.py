"""A worker: a process that takes items for as long as its code is the reviewed one."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol, Self

from llmdo.base import digest
from llmdo.base.cache import Fingerprint
from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.scheduling import Draining
from llmdo.features.fleet import queue as engine
from llmdo.features.fleet.housekeeping import Housekeeper, Reaper
from llmdo.features.fleet.intervals import USUAL, Intervals
from llmdo.features.fleet.items import FleetItems
from llmdo.features.fleet.putting import put_in_lost
from llmdo.features.fleet.queue import Queue, next_name, run_of
from llmdo.features.fleet.schedules import Timetable, now
from llmdo.journal import JournalError
from llmdo.journal.eligibility import end_process
from llmdo.journal.entries import OtherTablesError, PutBackError
from llmdo.journal.opening import declare_restored, workers_of
from llmdo.journal.workers import ALIVE
from llmdo.services.soundness import require_sound
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.features.fleet.items import CarriedOut
    from llmdo.features.fleet.queue import QueuedRun
    from llmdo.graph.resolved import Graph
    from llmdo.journal.items import BatchItem, Result
    from llmdo.journal.workers import FleetWorkers
    from llmdo.services.plan import Approving
    from llmdo.services.root import Tell
    from llmdo.workspace.trust import Consent


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


def lock_digest(root: Path) -> str:
    """The digest of the lock of a workspace, by which workers and queued runs find each other.

    Raises:
        LlmdoError: There is none.
    """
    try:
        return digest.of_bytes((root / LOCK).read_bytes())
    except OSError as error:
        raise LlmdoError(
            f"`{LOCK}` cannot be read: {error.strerror}", hint="a fleet runs what `llmdo lock` recorded"
        ) from error


class ReviewedCode:
    """A workspace whose lock is current, watched."""

    def __init__(self, root: Path, tell: Tell) -> None:
        """Checks all of it, as `check --locked` does.

        Raises:
            InvalidTeamError: There are errors, or the lock is not current.
            LlmdoError: There is no lock.
        """
        self.root, self._tell = root, tell
        self.lock = lock_digest(root)
        self._seen = self._read()

    def _read(self) -> Fingerprint:
        seen = Fingerprint()
        require_sound(projects.read(self.root, seen=seen.seen), self._tell, locked=True)
        return seen

    def change(self) -> str | None:
        """The change since the beginning, or None. Costs a look at the times of files."""
        if self._seen.holds(str(self.root)):
            return None
        try:
            if lock_digest(self.root) != self.lock:
                return f"`{LOCK}` has changed"
            self._seen = self._read()
        except LlmdoError as error:
            return f"the workspace has changed: {error.message}"
        return None


_RETRY = 5.0  # seconds until a run goes on after the store failed


class WorkerHost(Protocol):
    """The program around a worker."""

    @property
    def consent(self) -> Consent:
        """The consent to execute code of the workspace."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""

    def approving(self, graph: Graph, stored: Json) -> Approving:
        """The approver of a batch that was put in with these approvals."""

    def ended(self, batch: str, item: BatchItem, result: Result) -> None:
        """Called with each item once its outcome is on record."""

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does, which `draining` ends early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRequest:
    """The workspace of a worker, and how many items it takes at a time."""

    root: Path
    address: str
    jobs: int = 8
    schedules: bool = False
    """Whether it starts entries at the times of `[schedules]`, and removes runs older than is kept."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    intervals: Intervals = USUAL
    clock: Callable[[], datetime] = now
    """The time that schedules go by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOutcome:
    """Why a worker takes nothing any more."""

    reason: str
    interrupted: bool
    """Whether a person or the system stopped it."""
    ended: int
    """The number of finished items."""


def work(request: WorkerRequest, host: WorkerHost) -> WorkerOutcome:
    """Takes items until it is stopped or the code changes, and returns when all its items are over.

    Raises:
        InvalidTeamError: There are errors in the workspace, or its lock is not current.
        UntrustedError: The host refuses code that its runs would execute.
        LlmdoError: There is no such fleet.
    """
    personal.read(request.environ)  # first: what it might forbid must not begin
    code = ReviewedCode(request.root, host.tell)
    graph = projects.read(request.root).graph
    host.consent.require(graph, request.root)
    hide_from_children()
    draining = Draining()
    with ExitStack() as stack:
        queue = stack.enter_context(closing(Queue(request.address)))
        reaping = stack.enter_context(closing(workers_of(request.address)))
        delays = stack.enter_context(closing(workers_of(request.address)))
        presence = stack.enter_context(
            Presence(workers_of(request.address, is_renewing=True), lock=code.lock, jobs=request.jobs)
        )
        items = FleetItems(
            *(request.root, host.approving, host.consent, request.environ), busy=request.intervals.busy
        )
        stack.enter_context(closing(items))
        serving = _Serving(host, queue, presence, items, code, draining, request, delays)
        stack.enter_context(
            Reaper(
                *(queue, reaping, serving.report_taken),
                own=serving.strays,
                delays=delays,
                put_in_lost=partial(put_in_lost, queue, items.batches, items.runs),
                intervals=request.intervals,
            )
        )
        if request.schedules:
            stack.enter_context(Housekeeper(request, workers_of(request.address), queue, host.tell))
            stack.enter_context(
                Timetable(
                    *(request, graph, queue, code.lock, host),
                    workers=workers_of(request.address),
                    is_leaving=lambda: draining.reason is not None or code.change() is not None,
                )
            )
        host.tell(f"worker {presence.id} takes up to {request.jobs} items at a time")
        taking = partial(
            engine.work, request.address, entries=_entries(graph), seconds=request.intervals.queue
        )
        host.wait_for(serving.serve(taking), lambda: None, draining)
    return WorkerOutcome(reason=draining.reason or "", interrupted=draining.interrupted, ended=presence.ended)


def _entries(graph: Graph) -> list[tuple[str, int | None]]:
    """The entries of a workspace, with how many runs of each the whole fleet may have at work."""
    return [(name, entry.concurrent_runs) for name, entry in graph.entries.items()]


class _Serving:
    """One process as a worker."""

    def __init__(
        self,
        host: WorkerHost,
        queue: Queue,
        presence: Presence,
        items: FleetItems,
        code: ReviewedCode,
        draining: Draining,
        request: WorkerRequest,
        delays: FleetWorkers,
    ) -> None:
        self._delays = delays
        self._host, self._queue, self._presence, self._items = host, queue, presence, items
        self._code, self._draining, self._jobs, self._address = code, draining, request.jobs, request.address
        self._intervals = request.intervals
        self._slots, self._looking = asyncio.Semaphore(request.jobs), asyncio.Lock()
        self._at_work: set[str] = set()
        self._has_declared = False
        """Whether this worker said that the store was put back."""
        self._strays: frozenset[str] = frozenset()

    async def serve(self, engine_of: Callable[..., AbstractContextManager[Callable[[], None]]]) -> None:
        """Takes items until `draining` says why no longer, and returns when all taken ones are over."""
        loop = asyncio.get_running_loop()

        def execute(name: str) -> None:
            asyncio.run_coroutine_threadsafe(self._item(name), loop).result()

        taking = engine_of(worker=self._presence.id, lock=self._code.lock, jobs=self._jobs, execute=execute)
        with taking as stop:
            await self._drained()
            self._presence.state = "leaving"
            self._host.tell(f"nothing more is taken: {self._draining.reason}")
            await asyncio.to_thread(stop)

    async def _drained(self) -> None:
        """Returns when nothing more is to be taken."""
        while True:
            if await self._is_draining():
                return
            await asyncio.sleep(self._intervals.code)

    async def _is_draining(self) -> bool:
        async with self._looking:
            if self._draining.reason is None and (change := await asyncio.to_thread(self._code.change)):
                self._draining(change)
        return self._draining.reason is not None

    async def _item(self, name: str) -> None:
        """Returns when the item is over, or is in the queue again."""
        self._at_work.add(name)
        try:
            async with self._slots:
                again = await self._carried_out(name)
            if again is not None:
                await self._put_in_again(name, again)
        finally:
            self._at_work.discard(name)

    async def _carried_out(self, name: str) -> float | None:
        """Seconds after which the item is to be taken once more, if at all."""
        if await self._is_draining():
            return 0.0
        try:
            done = await self._items.execute(run_of(name))
        except PutBackError as error:
            return await self._put_back(error)
        except OtherTablesError as error:
            self._draining(error.message)
            return 0.0
        except LlmdoError as error:
            self._host.tell(f"warning: run {run_of(name)} goes on later: {error.message}")
            return _RETRY
        except Exception as error:  # a mistake of llmdo's own: the engine would take the item for done
            self._host.tell(
                f"warning: run {run_of(name)} goes on later: llmdo failed with {type(error).__name__}"
            )
            return self._intervals.busy
        self._tell(done)
        return done.again

    async def _put_back(self, error: PutBackError) -> float | None:
        """Marks open items as unsure, once, and takes nothing more; as `_carried_out`."""
        self._draining(error.message)
        async with self._looking:
            if not self._has_declared:
                try:
                    items, _ = await asyncio.to_thread(declare_restored, self._address)
                except LlmdoError:  # another worker finds the same
                    return 0.0
                self._has_declared = True
                self._host.tell(f"warning: {error.message}; {items} items wait for a person now")
        return None  # it waits for a person now

    def _tell(self, done: CarriedOut) -> None:
        if done.item is None or done.result is None:
            return
        if done.again is None:
            self._presence.ended += 1
        self._host.ended(done.batch, done.item, done.result)

    async def _put_in_again(self, name: str, delay: float) -> None:
        """Returns when the run is in the queue once more: while the queue cannot be reached, this worker has it."""
        while True:
            try:
                return await asyncio.to_thread(self._follow, name, delay)
            except LlmdoError:
                await asyncio.sleep(_RETRY)

    def _follow(self, name: str, delay: float) -> None:
        if delay:
            self._delays.delay(next_name(name), delay)  # first: else nobody would know when it is due
        self._queue.follow(name, is_later=bool(delay))

    def report_taken(self, taken: QueuedRun) -> None:
        """Reports a run that was taken from a dead worker."""
        self._host.tell(f"run {taken.run} is taken up, which worker {taken.worker} left")

    def strays(self, taken: tuple[QueuedRun, ...]) -> tuple[QueuedRun, ...]:
        """The entries that this worker has by the queue only, at two looks in a row.

        The engine gives up entries if the database fails while it takes them.
        """
        missing = {
            each.name for each in taken if each.worker == self._presence.id and each.name not in self._at_work
        }
        strays = missing & self._strays
        self._strays = frozenset(missing - strays)
        return tuple(each for each in taken if each.name in strays)
