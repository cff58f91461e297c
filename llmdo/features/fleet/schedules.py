"""Entries that workers start by themselves: each at its times, once over all workers, whoever dies in between.

A time that comes is a batch with one item, and the ids of both say which time of which schedule it is: all workers put
it in, and one of them does. The last time that passed without a worker is made up for within the window that the
schedule states, or a line says that it was not. Entries put in for a lock that no worker has any more are moved to this
one, as long as nothing of them began.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from croniter import croniter  # type: ignore[import-untyped]

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.commands import BatchRequest, Working, lock_of, put_in
from llmdo.features.fleet.queue import first_name
from llmdo.journal.items import NewItem
from llmdo.journal.opening import batches_of
from llmdo.services.run import EntryRequest, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.features.batch.commands import PuttingHost
    from llmdo.features.fleet.intervals import Intervals
    from llmdo.features.fleet.queue import Queue
    from llmdo.graph.resolved import Graph
    from llmdo.graph.settings import Schedule
    from llmdo.journal.items import BatchStore
    from llmdo.journal.workers import FleetWorkers

RETRY = timedelta(seconds=5)
"""The delay of another attempt after putting in failed."""
LATE = timedelta(minutes=10)
"""The least period in which a time that nobody put in when it came is still put in."""
MINUTE = timedelta(minutes=1)


def now() -> datetime:
    """The time of this machine; schedules go by it and by how far the clock of the store is ahead of it."""
    return datetime.now(UTC)


def next_time(cron: str, after: datetime) -> datetime:
    """The next time of an expression."""
    upcoming: datetime = croniter(cron, after, max_years_between_matches=30).get_next(datetime)
    return upcoming


def last_time(cron: str, before: datetime) -> datetime:
    """The last time of an expression, that moment included."""
    past: datetime = croniter(
        cron, before + timedelta(milliseconds=1), max_years_between_matches=30
    ).get_prev(datetime)
    return past


def id_of(schedule: str, at: datetime) -> str:
    """The id of the batch, and of its run, for this time of the schedule: `weekly-20260302T0600Z`."""
    return f"{schedule}-{at:%Y%m%dT%H%MZ}"


class ScheduledRequest(Protocol):
    """The workspace, store and time of the schedules."""

    @property
    def root(self) -> Path:
        """The root of the workspace."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment, which names the store."""

    @property
    def intervals(self) -> Intervals:
        """How often the clock is looked at."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The time of this machine."""


class Timetable:
    """Puts in the due times, during the block, in its own thread."""

    def __init__(
        self,
        request: ScheduledRequest,
        graph: Graph,
        queue: Queue,
        lock: str,
        host: PuttingHost,
        *,
        workers: FleetWorkers,
        is_leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        """`lock` is the digest of the lock of the workspace, whose graph is `graph`; `workers` is used by nothing else.

        A worker that `is_leaving`, or has other code by now, puts in nothing: nobody with its lock would take it.
        """
        self._root, self._environ, self._host = request.root, request.environ, host
        self._clock, self._pause = request.clock, request.intervals.clock
        self._queue, self._lock, self._workers, self._is_leaving = queue, lock, workers, is_leaving
        self._skew = timedelta()
        """How far the clock of the store is ahead of that of this machine."""
        self._measure()
        began = self._now()
        self._due = {schedule: next_time(schedule.cron, began) for schedule in graph.schedules.values()}
        self._looked_at = dict(self._due)
        """The next look at each: at its time, or later if it could not be put in, so that it holds up no other."""
        self._others: set[tuple[Schedule, datetime]] = set()
        """The times that are in for workers with another lock, and of which nothing began so far."""
        self._began = began
        self._over = Event()
        self._thread = Thread(target=self._looking, name="llmdo timetable", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._workers.close()

    @property
    def is_due(self) -> bool:
        """Whether a time has come that is not processed."""
        return any(at <= self._now() for at in self._due.values())

    def _looking(self) -> None:
        pause, has_looked_back = 0.0, False
        while self._due and not self._over.wait(pause) and not self._is_leaving():
            self._measure()
            has_looked_back = has_looked_back or self._is_done(self._look_back)
            self._is_done(self._move)
            schedule, when = min(self._looked_at.items(), key=lambda item: (item[1], item[0].name))
            pause = max(0.0, min((when - self._now()).total_seconds(), self._pause))
            if pause:
                continue
            at = self._due[schedule]
            if self._is_through(schedule, at):
                at = next_time(schedule.cron, max(at, self._now() - MINUTE))
                self._due[schedule] = self._looked_at[schedule] = at
            else:
                self._looked_at[schedule] = self._now() + RETRY

    def _is_through(self, schedule: Schedule, at: datetime) -> bool:
        """Whether nothing more is to be done about a time that has come."""
        if self._now() >= at + max(LATE, _window(schedule)):
            self._host.tell(
                f"warning: `{schedule.name}` was not started at {at:%Y-%m-%d %H:%M}: that is too long ago"
            )
            return True
        try:
            self._put_in(schedule, at)
        except LlmdoError as error:
            self._host.tell(f"warning: `{schedule.name}` is started later: {error.message}")
            return False
        # A mistake of llmdo's own must not end the thread, and all schedules with it.
        except Exception as error:
            self._host.tell(
                f"warning: `{schedule.name}` is started later: llmdo failed with {type(error).__name__}"
            )
            return False
        return True

    def _now(self) -> datetime:
        return self._clock() + self._skew

    def _measure(self) -> None:
        with suppress(LlmdoError):  # as long as it is away, what was measured last counts
            here = datetime.now(UTC)
            self._skew = datetime.fromtimestamp(self._workers.now(), UTC) - here

    def _is_done(self, work: Callable[[], None]) -> bool:
        """Whether `work` was done; if the store fails, it is tried again later."""
        try:
            work()
        except Exception:  # nor must a mistake of llmdo's own end the thread
            return False
        return True

    def _look_back(self) -> None:
        """Processes the last time of each schedule that passed before this worker looked.

        A schedule without a time in the store has an unknown age: nothing is made up for.
        """
        names = batches_of(self._root, self._environ).names()
        for schedule in self._due:
            at = last_time(schedule.cron, self._began)
            known = [
                name for name in names if re.fullmatch(rf"{re.escape(schedule.name)}-\d{{8}}T\d{{4}}Z", name)
            ]
            if not known:
                continue
            if max(known) >= id_of(schedule.name, at):
                self._others.add((schedule, at))
            elif self._now() < at + _window(schedule):
                self._due[schedule] = self._looked_at[schedule] = at
            else:
                self._host.tell(
                    f"warning: `{schedule.name}` was not started at {at:%Y-%m-%d %H:%M}, as no worker looked; "
                    "`catch-up-minutes` of a schedule says for how long that is made up for"
                )

    def _move(self) -> None:
        """Moves to this worker's lock the times that are in for one that no worker has, and that did not begin."""
        if not self._others:
            return
        alive = {worker.lock for worker in self._workers.all() if worker.is_alive}
        batches = batches_of(self._root, self._environ)
        for schedule, at in tuple(self._others):
            name = id_of(schedule.name, at)
            if name not in batches.names():
                self._others.discard((schedule, at))
                continue
            with batches.open(name) as store:
                locked = store.batch.settings.get("locked")
                if locked == self._lock or any(
                    item.state != "queued" or item.has_begun for item in store.items()
                ):
                    self._others.discard((schedule, at))
                elif locked not in alive:
                    self._moved(schedule, store)
                    self._others.discard((schedule, at))
                    self._host.tell(
                        f"`{name}` waited for a lock that no worker has: it is started with this one"
                    )

    def _moved(self, schedule: Schedule, store: BatchStore) -> None:
        batch = store.batch
        start = EntryRequest(
            entry=schedule.entry.name, project=str(self._root), locked=True, environ=self._environ
        )
        graph = prepare(start, self._host.tell, self._host.consent).graph
        store.rebind(lock_of(graph, batch.entry, batch.settings["models"]))
        store.keep({**batch.settings, "locked": self._lock})
        waiting = [each for each in self._queue.waiting() if each.run == batch.id]
        for each in waiting:
            self._queue.rebind(each, self._lock)
        if not waiting:
            self._queue.enqueue_again(batch.id, entry=batch.entry, lock=self._lock, moved=self._lock)

    def _put_in(self, schedule: Schedule, at: datetime) -> None:
        """Returns when the run of that time is in the queue, whoever of the workers put it in.

        Raises:
            LlmdoError: The store is unusable.
        """
        name = id_of(schedule.name, at)
        batches = batches_of(self._root, self._environ)
        try:
            store = self._made(schedule, name)
        except LlmdoError:
            if name not in batches.names():
                raise
            store = batches.open(name)  # another worker was quicker
        with store:
            if (
                store.batch.settings.get("locked") == self._lock
            ):  # else a worker with that lock puts it in, if there is one
                self._queue.enqueue(first_name(name), entry=schedule.entry.name, lock=self._lock)
            else:
                self._others.add((schedule, at))

    def _made(self, schedule: Schedule, name: str) -> BatchStore:
        start = EntryRequest(
            entry=schedule.entry.name, project=str(self._root), locked=True, environ=self._environ
        )
        request = BatchRequest(
            start=start,
            inputs=(NewItem(key=name, place="llmdo.toml", input=schedule.input),),
            settings={"fleet": True, "approvals": None, "schedule": schedule.name, "locked": self._lock},
            working=Working(environ=self._environ),
            id=name,
            run=name,
        )
        return put_in(request, self._host)[1]


def _window(schedule: Schedule) -> timedelta:
    """How long after a time without a worker it is made up for."""
    return timedelta(minutes=schedule.catch_up_minutes or 0)
