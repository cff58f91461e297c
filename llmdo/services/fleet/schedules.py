"""Entries that workers start by themselves: each at its times, once over all workers, whoever dies in between.

A time that comes is a batch with one item, and the ids of both say which time of which schedule it is: all workers put
it in, and one of them does. Times that pass while no worker looks are not made up for.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from croniter import croniter  # type: ignore[import-untyped]

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.items import NewItem
from llmdo.journal.opening import batches_of
from llmdo.services.batch.commands import BatchRequest, Working, put_in
from llmdo.services.run import EntryRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.graph.schedule import Schedule
    from llmdo.journal.batches import BatchStore
    from llmdo.services.batch.commands import PuttingHost
    from llmdo.services.fleet.queue import Queue

LONGEST = 30.0  # seconds until the clock is looked at again, which somebody may have set
RETRY = timedelta(seconds=5)
"""After so long, what could not be put in is tried again."""
LATE = timedelta(minutes=10)
"""For so long a time is still put in that nobody put in when it came."""
MINUTE = timedelta(minutes=1)


def now() -> datetime:
    """The time by which schedules go."""
    return datetime.now(UTC)


def next_time(cron: str, after: datetime) -> datetime:
    """The next time that an expression stands for."""
    upcoming: datetime = croniter(cron, after, max_years_between_matches=30).get_next(datetime)
    return upcoming


def id_of(schedule: str, at: datetime) -> str:
    """The id of the batch, and of its run, that this time of the schedule is: `weekly-20260302T0600Z`."""
    return f"{schedule}-{at:%Y%m%dT%H%MZ}"


class ScheduledRequest(Protocol):
    """Whose schedules are gone by."""

    @property
    def root(self) -> Path:
        """Of the workspace."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Names the store."""


class Timetable:
    """Puts in what is due, for as long as the block runs, in a thread of its own."""

    def __init__(
        self, request: ScheduledRequest, graph: Graph, queue: Queue, lock: str, host: PuttingHost
    ) -> None:
        """`lock` is the digest of the lock of the workspace, whose graph is `graph`."""
        self._root, self._environ, self._host = request.root, request.environ, host
        self._queue, self._lock = queue, lock
        began = now()
        self._due = {schedule: next_time(schedule.cron, began) for schedule in graph.schedules.values()}
        self._looked_at = dict(self._due)
        """When each is looked at: at its time, or later where it could not be put in, so that it holds up no other."""
        self._over = Event()
        self._thread = Thread(target=self._looking, name="llmdo timetable", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def is_due(self) -> bool:
        """Whether a time has come that was not seen to yet."""
        return any(at <= now() for at in self._due.values())

    def _looking(self) -> None:
        pause = 0.0
        while self._due and not self._over.wait(pause):
            schedule, when = min(self._looked_at.items(), key=lambda item: (item[1], item[0].name))
            pause = max(0.0, min((when - now()).total_seconds(), LONGEST))
            if pause:
                continue
            at = self._due[schedule]
            if self._is_through(schedule, at):
                at = next_time(schedule.cron, max(at, now() - MINUTE))
                self._due[schedule] = self._looked_at[schedule] = at
            else:
                self._looked_at[schedule] = now() + RETRY

    def _is_through(self, schedule: Schedule, at: datetime) -> bool:
        """Whether nothing more is to be done about a time that has come."""
        if now() >= at + LATE:
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

    def _put_in(self, schedule: Schedule, at: datetime) -> None:
        """Returns when the run of that time is in the queue, whoever of the workers put it in.

        Raises:
            LlmdoError: The store cannot be used.
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
            if store.batch.settings.get("locked") == self._lock:  # else a worker with that lock puts it in
                self._queue.enqueue(f"{name}@1", entry=schedule.entry.name, lock=self._lock)

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
