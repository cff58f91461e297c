"""Entries that workers start by themselves."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from llmdo.base.values import replace
from llmdo.workspace import project
from tests.features.batch.conftest import effects
from tests.features.fleet.conftest import LONGEST, Rows, until
from tests.support import forking, postgres
from tests.support.commands import llmdo
from tests.support.locks import locked

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.fleet import schedules
from llmdo.features.fleet.queue import Queue
from llmdo.features.fleet.worker import WorkerRequest, lock_digest
from llmdo.graph.resolved import Graph
from llmdo.journal.opening import workers_of
from tests.features.fleet.working import QUICK, Worker, ending

pytestmark = pytest.mark.fleet

OFTEN = """
[schedules.often]
entry = "main"
cron = "*/2 * * * *"
input = "effect tick"
"""
HURRIED = """
import os, sys, time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from llmdo.features.fleet.intervals import Intervals
from llmdo.features.fleet.terminal import WorkerTerminal, report
from llmdo.features.fleet.worker import WorkerRequest, work

began, fleet, schedules = float(sys.argv[1]), sys.argv[2], "--schedules" in sys.argv
start = datetime(2026, 3, 1, 23, 55, 30, tzinfo=UTC)
request = WorkerRequest(
    root=Path.cwd(), address=fleet, schedules=schedules, environ={**os.environ, "LLMDO_STORE": fleet},
    intervals=Intervals(queue=0.05, code=0.05, dead=0.05, clock=0.05),
    clock=lambda: start + timedelta(minutes=time.time() - began),
)
raise SystemExit(report(work(request, WorkerTerminal())))
"""
"""A worker for whom a minute takes a second."""

RUNS = "SELECT run FROM llmdo.item ORDER BY run"
STATES = "SELECT state, count(*) FROM llmdo.item GROUP BY state"


def worker(root: Path, fleet: str, began: float, *words: str) -> AbstractContextManager[Any]:
    command = [sys.executable, "-c", HURRIED, str(began), fleet, *words]
    return ending(forking.Popen(command, cwd=root, stderr=PIPE, text=True))


def stop(*workers: Any) -> None:
    """Returns once they ended as they were asked to."""
    for each in workers:
        os.kill(each.pid, signal.SIGTERM)
    outputs = [each.communicate(timeout=LONGEST)[1] for each in workers]
    assert [each.returncode for each in workers] == [0] * len(workers), outputs


@pytest.fixture
def scheduled(workspace: Path) -> Path:
    manifest = workspace / "llmdo.toml"
    manifest.write_text(manifest.read_text() + OFTEN)
    return locked(workspace)


class Clock:
    """The time by which schedules go, which stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
        self.looks = 0

    def __call__(self) -> datetime:
        self.looks += 1
        return self.time

    def is_looked_at(self) -> None:
        """Returns once whoever goes by it has looked several times, and what was due then is seen to."""
        wanted = self.looks + 20
        until(lambda: self.looks >= wanted)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def request_of(root: Path, fleet: str, clock: Clock) -> WorkerRequest:
    environ = {**os.environ, "LLMDO_STORE": fleet}
    return WorkerRequest(root=root, address=fleet, environ=environ, intervals=QUICK, clock=clock)


def timetable(
    request: WorkerRequest, graph: Graph, queue: Queue, host: Worker, **more: Any
) -> schedules.Timetable:
    lock = lock_digest(request.root)
    return schedules.Timetable(request, graph, queue, lock, host, workers=workers_of(request.address), **more)


@pytest.mark.long
def test_each_time_is_one_run_over_all_workers(fleet: str, scheduled: Path, rows: Rows) -> None:
    began = time.time()
    with ExitStack() as stack:
        both = [stack.enter_context(worker(scheduled, fleet, began, "--schedules")) for _ in range(2)]
        until(lambda: all("takes up to" in each.stderr.readline() for each in both))
        until(lambda: len(rows(RUNS)) >= 4)
        stop(*both)
    runs = [run for (run,) in rows(RUNS)]
    first = datetime.strptime(runs[0], "often-%Y%m%dT%H%MZ").replace(tzinfo=UTC)
    times = [first + timedelta(minutes=2 * number) for number in range(len(runs))]
    assert runs == [schedules.id_of("often", at) for at in times], "every time is there, and none twice"
    with worker(scheduled, fleet, began) as last:
        until(lambda: rows(STATES) == [("completed", len(runs))])
        stop(last)
    assert len(rows(RUNS)) == len(runs), "a worker starts nothing that was not asked to"
    assert effects(scheduled) == ["tick"] * len(runs)
    listed = llmdo(scheduled, "batch", "list", "--store", fleet)
    assert re.search(r"often-\d{8}T\d{4}Z", listed.stdout), listed


def test_what_cannot_be_put_in_holds_up_no_other_schedule(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock
) -> None:
    graph, host = project.read(scheduled).graph, Worker()
    often = graph.schedules["often"]
    gone = replace(often, name="gone", entry=replace(often.entry, name="gone"))
    nothing: Any = None  # as a mistake of llmdo's own would leave it
    broken = replace(often, name="broken", entry=nothing)
    graph = replace(graph, schedules={"broken": broken, "gone": gone, "often": often})
    request = request_of(scheduled, fleet, clock)

    def warnings(name: str) -> list[str]:
        return [line for line in host.lines if f"`{name}` is started later" in line]

    with (
        closing(Queue(fleet)) as queue,
        timetable(request, graph, queue, host),
    ):
        clock.time += timedelta(minutes=2)
        until(lambda: rows(RUNS) == [("often-20260302T0000Z",)])
        clock.time += schedules.RETRY
        until(lambda: len(warnings("broken")) == len(warnings("gone")) == 2)
        clock.time += timedelta(minutes=2)
        until(lambda: len(rows(RUNS)) == 2)
    assert all("llmdo failed with AttributeError" in line for line in warnings("broken"))


def test_a_time_is_put_in_by_whoever_comes_first_and_by_nobody_twice(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock
) -> None:
    graph, host = project.read(scheduled).graph, Worker()
    request = request_of(scheduled, fleet, clock)
    with closing(Queue(fleet)) as queue, ExitStack() as stack:
        timetables = [timetable(request, graph, queue, host) for _ in range(3)]
        for each in timetables:
            stack.enter_context(each)
        for number in range(3):
            clock.time += timedelta(minutes=2)
            until(lambda: len(rows(RUNS)) == number + 1)  # noqa: B023
            until(lambda: all(not each.is_due for each in timetables))
        clock.time += timedelta(hours=5)
        until(lambda: all(not each.is_due for each in timetables))
    assert [run for (run,) in rows(RUNS)] == [
        "often-20260302T0000Z",
        "often-20260302T0002Z",
        "often-20260302T0004Z",
    ], "times that passed while nobody looked are not made up for"
    assert sum("`often` was not started at 2026-03-02 00:06" in line for line in host.lines) == len(
        timetables
    )
    assert len(rows("SELECT workflow_uuid FROM llmdo_queue.workflow_status")) == 3


LOCKS = "SELECT workflow_uuid, application_version, status FROM llmdo_queue.workflow_status ORDER BY 1"


def test_who_leaves_puts_in_nothing_and_what_it_put_in_before_is_moved_to_a_lock_that_is_there(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock
) -> None:
    graph, host, is_leaving = project.read(scheduled).graph, Worker(), [False]
    old = lock_digest(scheduled)
    request = request_of(scheduled, fleet, clock)
    fleet_workers = workers_of(fleet)
    fleet_workers.register("a:1:old", lock=old, jobs=1)
    with closing(Queue(fleet)) as queue:
        with timetable(request, graph, queue, host, is_leaving=lambda: is_leaving[0]):
            clock.time += timedelta(minutes=2)
            until(lambda: rows(RUNS) == [("often-20260302T0000Z",)])
            is_leaving[0] = True
        asked: list[datetime] = []

        def leaves() -> bool:
            clock.time += timedelta(minutes=2)
            asked.append(clock.time)
            return True

        with timetable(request, graph, queue, host, is_leaving=leaves):
            until(lambda: asked)
        assert rows(RUNS) == [("often-20260302T0000Z",)]
        clock.time -= timedelta(minutes=2)
        (scheduled / "main.worker").write_text((scheduled / "main.worker").read_text() + "Please.\n")
        locked(scheduled)
        new = lock_digest(scheduled)
        assert new != old
        with timetable(request, project.read(scheduled).graph, queue, host):
            clock.is_looked_at()
            assert [row[1] for row in rows(LOCKS)] == [old], "a worker has that lock"
            fleet_workers.leave("a:1:old")
            until(lambda: len(rows(LOCKS)) == 2)
    assert rows(LOCKS) == [
        ("often-20260302T0000Z@1", old, "CANCELLED"), ("often-20260302T0000Z@2", new, "ENQUEUED"),
    ]  # fmt: skip
    assert any("waited for a lock that no worker has" in line for line in host.lines)
    assert '"locked": "' + new in rows("SELECT settings FROM llmdo.batch")[0][0]
    from tests.features.fleet.working import working

    with working(scheduled, fleet):
        until(lambda: rows(STATES) == [("completed", 1)])


def test_what_began_is_not_moved_to_another_lock(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock
) -> None:
    graph, host, request = project.read(scheduled).graph, Worker(), request_of(scheduled, fleet, clock)
    with closing(Queue(fleet)) as queue:
        with timetable(request, graph, queue, host):
            clock.time += timedelta(minutes=2)
            until(lambda: rows(RUNS))
        rows("UPDATE llmdo.item SET begun = true")
        before = rows(LOCKS)
        (scheduled / "main.worker").write_text((scheduled / "main.worker").read_text() + "Please.\n")
        locked(scheduled)
        with timetable(request, project.read(scheduled).graph, queue, host):
            clock.is_looked_at()
    assert rows(LOCKS) == before


@pytest.mark.parametrize("window", [None, 10])
def test_a_time_that_passed_while_no_worker_looked_is_made_up_for_within_its_window_or_told(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock, window: int | None
) -> None:
    graph, host, request = project.read(scheduled).graph, Worker(), request_of(scheduled, fleet, clock)
    often = replace(graph.schedules["often"], catch_up_minutes=window)
    graph = replace(graph, schedules={"often": often})

    def looks(until_then: Any) -> None:
        with closing(Queue(fleet)) as queue, timetable(request, graph, queue, host):
            until(until_then)

    clock.time += timedelta(seconds=2)
    with closing(Queue(fleet)) as queue, timetable(request, graph, queue, host):
        clock.is_looked_at()
    assert rows(RUNS) == [], "of a schedule that is new nothing is made up for"
    with closing(Queue(fleet)) as queue, timetable(request, graph, queue, host):
        clock.time += timedelta(minutes=2)
        until(lambda: len(rows(RUNS)) == 1)
    clock.time += timedelta(minutes=9)  # 00:11:01, of which 00:10 is the last time
    if window:
        looks(lambda: len(rows(RUNS)) == 2)
        assert rows(RUNS)[1] == ("often-20260302T0010Z",)
    else:
        looks(
            lambda: any(
                "was not started at 2026-03-02 00:10, as no worker looked" in line for line in host.lines
            )
        )
        assert len(rows(RUNS)) == 1
    clock.time += timedelta(hours=5, seconds=-1)
    before = len(host.lines)
    looks(lambda: len(host.lines) > before or len(rows(RUNS)) > 2)


def test_schedules_go_by_the_clock_of_the_store(
    fleet: str, scheduled: Path, rows: Rows, clock: Clock
) -> None:
    class Ahead:
        """The workers of a store whose clock is two minutes ahead of that of this machine."""

        def __getattr__(self, name: str) -> Any:
            return getattr(workers_of(fleet), name)

        def now(self) -> float:
            return time.time() + 120

    graph, host, request = project.read(scheduled).graph, Worker(), request_of(scheduled, fleet, clock)
    with (
        closing(Queue(fleet)) as queue,
        schedules.Timetable(request, graph, queue, lock_digest(scheduled), host, workers=Ahead()),
    ):
        clock.time += timedelta(minutes=2)
        until(lambda: rows(RUNS))
    assert rows(RUNS)[0] == ("often-20260302T0002Z",), "by the clock of this machine it is 00:01"
