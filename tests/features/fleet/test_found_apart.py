"""The row of the queue, the item, the row of the run and the journal, found apart: a worker brings them together."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.features.batch.conftest import effects, inputs
from tests.features.fleet.conftest import Rows, until
from tests.support import postgres
from tests.support.commands import llmdo

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

import psycopg

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.features.fleet.queue import Queue
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import Answers, give
from tests.features.batch.test_stores import copied_database
from tests.features.fleet.test_worker import STATES, put_in
from tests.features.fleet.working import QUICK, working

pytestmark = pytest.mark.fleet

NEVER_IDLE = replace(QUICK, unqueued=3600)
"""No worker finds by itself what is in no queue."""

QUEUED = (
    "SELECT workflow_uuid, application_version FROM llmdo_queue.workflow_status WHERE status = 'ENQUEUED'"
)


def answered(root: Path, fleet: str, run: str) -> None:
    """Answers the question of a run, as a process does that is killed before it puts the run in again."""
    runs = runs_of(root, {"LLMDO_STORE": fleet})
    with runs.claim(run), runs.open(run) as journal:
        give(journal, Answers(by="ada", yes=("main/careful#1",)))


def test_what_was_never_put_in_or_taken_out_of_the_queue_is_put_in_by_an_idle_worker(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a", "effect b", "effect c", "effect d")
    put_in(workspace, fleet, rows)
    first, second, third, _ = (run for (run,) in rows("SELECT run FROM llmdo.item ORDER BY number"))
    rows(f"DELETE FROM llmdo_queue.workflow_status WHERE workflow_uuid IN ('{first}@1', '{second}@1')")
    rows(f"UPDATE llmdo.item SET state = 'running', tries = 1 WHERE run = '{second}'")
    rows(f"UPDATE llmdo_queue.workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = '{third}@1'")
    with working(workspace, fleet):
        until(lambda: {state for _, state in rows(STATES)} == {"completed"})
    assert effects(workspace) == ["a", "b", "c", "d"]


def test_a_batch_that_stopped_at_its_bound_is_not_put_in_again(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a", "effect b")
    put_in(workspace, fleet, rows)
    rows("UPDATE llmdo.item SET state = 'failed' WHERE number = 1")
    rows("UPDATE llmdo.batch SET settings = (settings::jsonb || '{\"max_failures\": 1}')::text")
    with working(workspace, fleet):
        until(lambda: rows("SELECT tries FROM llmdo.item WHERE number = 2") == [(1,)])
        inputs(workspace, "effect c")
        put_in(workspace, fleet, rows)
        [(last,)] = rows(
            "SELECT run FROM llmdo.item JOIN llmdo.batch USING (batch) ORDER BY batch.number DESC LIMIT 1"
        )
        rows(f"UPDATE llmdo_queue.workflow_status SET status = 'CANCELLED' WHERE workflow_uuid = '{last}@1'")
        until(lambda: effects(workspace) == ["c"])  # after it was looked at what is left of the first
    assert rows("SELECT tries FROM llmdo.item WHERE number = 2") == [(1,)]


def test_an_answer_that_came_before_its_item_waited_is_not_lost(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "careful a")
    put_in(workspace, fleet, rows)
    with working(workspace, fleet):
        until(lambda: rows(STATES) == [("1", "waiting")])
        [(run, entry, lock)] = rows("SELECT run, entry, lock FROM llmdo.run")
        answered(workspace, fleet, run)
        with closing(Queue(fleet)) as queue:  # as whoever answers does while the item is still at work
            queue.enqueue_again(run, entry="main", lock=lock)
        until(lambda: rows(STATES) == [("1", "completed")])
    assert (entry, effects(workspace)) == ("main", ["a"])


def test_whoever_answers_once_more_puts_in_what_was_answered_and_left(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "careful a")
    put_in(workspace, fleet, rows)
    with working(workspace, fleet):
        until(lambda: rows(STATES) == [("1", "waiting")])
        [(run,)] = rows("SELECT run FROM llmdo.run")
        answered(workspace, fleet, run)
        asked = llmdo(workspace, "approve", run, "--store", fleet)
        assert "a worker of the fleet goes on" in asked.stderr, asked
        until(lambda: rows(STATES) == [("1", "completed")])
    assert effects(workspace) == ["a"]


def test_an_item_of_which_the_store_lost_that_it_was_taken_is_ended_all_the_same(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "slow a")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    with working(workspace, fleet, intervals=NEVER_IDLE):
        until(lambda: (workspace / "requests.log").exists())
        rows("UPDATE llmdo.item SET state = 'queued', tries = 0")
        (workspace / "hold").unlink()
        until(lambda: rows(STATES) == [("1", "completed")])
    assert (workspace / "requests.log").read_text() == "x"


def test_what_is_moved_to_another_lock_is_never_in_no_queue(fleet: str, workspace: Path, rows: Rows) -> None:
    inputs(workspace, "effect a")
    put_in(workspace, fleet, rows)
    rows(
        "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.status = 'CANCELLED' THEN RAISE 'as where the process is killed'; END IF; RETURN NEW; END $$"
    )
    rows(
        "CREATE TRIGGER stop BEFORE UPDATE ON llmdo_queue.workflow_status FOR EACH ROW EXECUTE FUNCTION stop()"
    )
    with closing(Queue(fleet)) as queue:
        (waiting,) = queue.waiting()
        with pytest.raises(LlmdoError):
            queue.rebind(waiting, "sha256:other")
    assert (f"{waiting.run}@2", "sha256:other") in rows(QUEUED)


def test_a_worker_that_cannot_say_that_its_store_was_put_back_leaves_what_it_was_handed(
    fleet: str, cluster: postgres.Cluster, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a")
    put_in(workspace, fleet, rows)
    backup = copied_database(cluster, fleet, None)
    with working(workspace, fleet, intervals=NEVER_IDLE):
        until(lambda: _states(fleet) == [("1", "completed")])
    copied_database(cluster, backup, fleet)
    with psycopg.connect(fleet, autocommit=True) as connection:
        connection.execute("ALTER TABLE llmdo.restored ADD CONSTRAINT none CHECK (number < 0) NOT VALID")
    with working(workspace, fleet, intervals=NEVER_IDLE) as worker:
        until(lambda: worker.outcome)
    with psycopg.connect(fleet, autocommit=True) as connection:
        assert len(connection.execute(QUEUED.encode()).fetchall()) == 1
        connection.execute("ALTER TABLE llmdo.restored DROP CONSTRAINT none")
    with working(workspace, fleet, intervals=NEVER_IDLE) as worker:
        until(lambda: worker.outcome)
    assert _states(fleet) == [("1", "unsure")]
    assert effects(workspace) == ["a"]


def _states(fleet: str) -> list[tuple[object, ...]]:
    with psycopg.connect(fleet) as connection:
        return connection.execute(STATES).fetchall()
