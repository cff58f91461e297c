"""What the manifest no longer keeps is removed by one worker of a fleet, once a day."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.features.batch.conftest import inputs
from tests.features.batch.test_retention import old_run
from tests.features.fleet.conftest import Rows, until
from tests.support import postgres

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.fleet.housekeeping import TURN, Housekeeper
from llmdo.features.fleet.queue import Queue
from llmdo.features.fleet.worker import WorkerRequest
from llmdo.journal.opening import workers_of
from llmdo.services.retention import DAY
from tests.features.fleet.test_worker import put_in
from tests.features.fleet.working import Worker, process, working

pytestmark = pytest.mark.fleet

OLDER = f"UPDATE llmdo.batch SET began = began - {8 * DAY}"
LEFT = "SELECT (SELECT count(*) FROM llmdo.batch), (SELECT count(*) FROM llmdo_queue.workflow_status)"


@pytest.fixture
def keeping(workspace: Path, fleet: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that keeps runs for a day, and batches for a week, whose journals are in the fleet's database."""
    manifest = workspace / "llmdo.toml"
    keys = 'name = "w"\nkeep-runs-days = 1\nkeep-batches-days = 7\n'
    manifest.write_text(manifest.read_text().replace('name = "w"\n', keys))
    monkeypatch.setenv("LLMDO_STORE", fleet)
    return workspace


def test_one_worker_removes_what_is_old_once_a_day(fleet: str, keeping: Path, rows: Rows) -> None:
    inputs(keeping, "hello")
    put_in(keeping, fleet, rows)
    with working(keeping, fleet):
        until(lambda: rows("SELECT state FROM llmdo.item") == [("completed",)])
    assert rows(LEFT) == [(1, 1)]
    rows(OLDER)
    old_run(keeping, "old", 2.0)
    old_run(keeping, "waits", 2.0, "waiting")
    host = Worker()
    request = WorkerRequest(root=keeping, address=fleet, environ=os.environ)
    queue, workers = Queue(fleet), workers_of(fleet)
    with Housekeeper(request, workers, queue, host.tell):
        until(lambda: len(host.lines) == 2)
    removed = [
        "removed 1 batch that llmdo.toml no longer keeps",
        "removed 1 run that llmdo.toml no longer keeps",
    ]
    assert host.lines == removed
    assert rows(LEFT) == [(0, 0)]
    assert "waits" in {run for (run,) in rows("SELECT run FROM llmdo.run")}
    assert not workers.has_turn(TURN, DAY)
    rows("UPDATE llmdo.pace SET tat = clock_timestamp()")
    assert workers.has_turn(TURN, DAY)
    queue.close()


@pytest.mark.long
def test_a_worker_with_schedules_removes_what_is_old(fleet: str, keeping: Path, rows: Rows) -> None:
    old_run(keeping, "old", 2.0)
    there = "SELECT run FROM llmdo.run"
    with process(keeping, fleet) as worker:
        until(lambda: "takes up to" in worker.stderr.readline())
    assert rows(there) == [("old",)], "nobody asked for it"
    with process(keeping, fleet, "--schedules"):
        until(lambda: rows(there) == [])


@pytest.mark.long
def test_a_manifest_with_errors_removes_nothing_and_is_told(fleet: str, keeping: Path, rows: Rows) -> None:
    old_run(keeping, "old", 2.0)
    manifest = keeping / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("keep-runs-days = 1", "keep-runs-days = 0"))
    host, queue = Worker(), Queue(fleet)
    request = WorkerRequest(root=keeping, address=fleet, environ=os.environ)
    with Housekeeper(request, workers_of(fleet), queue, host.tell):
        until(lambda: host.lines)
    assert "warning: what is old is not removed now: `llmdo.toml` has errors" in host.lines[0]
    assert rows("SELECT run FROM llmdo.run") == [("old",)]
    queue.close()
