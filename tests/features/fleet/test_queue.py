"""The queue of a fleet: who takes what, when, and what is never read."""

from __future__ import annotations

import base64
import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.features.fleet.conftest import Rows, until
from tests.support import postgres

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.fleet import queue as engine
from llmdo.features.fleet.housekeeping import reap
from llmdo.features.fleet.queue import Queue, number_of, run_of
from llmdo.features.fleet.worker import Presence
from llmdo.journal.opening import workers_of
from tests.support.losing import LosingReplies

pytestmark = pytest.mark.fleet

LOCK = "sha256:reviewed"
STATES = "SELECT workflow_uuid, status FROM llmdo_queue.workflow_status ORDER BY workflow_uuid"


@pytest.fixture
def queue(fleet: str) -> Iterator[Queue]:
    queue = Queue(fleet)
    yield queue
    queue.close()


@contextmanager
def working(
    fleet: str, execute: Callable[[str], None], *, lock: str = LOCK, jobs: int = 1, most: int | None = None
) -> Iterator[None]:
    with engine.work(
        fleet, worker="h:1:a", lock=lock, jobs=jobs, entries=[("main", most)], seconds=0.05, execute=execute
    ) as stop:
        yield
        stop()


def put(queue: Queue, *names: str, lock: str = LOCK, priority: int = engine.PRIORITY) -> None:
    for name in names:
        queue.enqueue(name, entry="main", lock=lock, priority=priority)


@pytest.mark.long
def test_what_is_put_in_is_taken_once_by_priority_then_in_order(fleet: str, queue: Queue) -> None:
    put(queue, "a@1", "b@1", "a@1")
    put(queue, "urgent@1", priority=1)
    taken: list[str] = []
    with working(fleet, taken.append):
        until(lambda: len(taken) == 3)
        until(lambda: not queue.at_work())
        put(queue, "a@1")
        queue.enqueue_again("a", entry="main", lock="sha256:any")
        until(lambda: len(taken) == 4)
    assert taken == ["urgent@1", "a@1", "b@1", "a@2"]
    assert (run_of("a@2"), number_of("a@2")) == ("a", 2)
    queue.enqueue_again("c", entry="main", lock=LOCK)
    assert [each.name for each in queue.waiting()] == ["c@1"]


@pytest.mark.long
def test_a_worker_with_another_lock_takes_nothing(fleet: str, queue: Queue) -> None:
    put(queue, "old@1", lock="sha256:old")
    put(queue, "new@1")
    taken: list[str] = []
    with working(fleet, taken.append):
        until(lambda: taken)
        put(queue, "later@1")
        until(lambda: len(taken) == 2)
    assert taken == ["new@1", "later@1"]
    assert [(each.run, each.lock, each.worker) for each in queue.waiting()] == [("old", "sha256:old", None)]


@pytest.mark.long
def test_what_was_taken_out_is_not_taken(fleet: str, queue: Queue) -> None:
    put(queue, "a@1", "b@1")
    queue.cancel(["a@1"])
    taken: list[str] = []
    with working(fleet, taken.append):
        until(lambda: taken)
    assert taken == ["b@1"]


@pytest.mark.long
@pytest.mark.parametrize(("jobs", "most"), [(2, None), (8, 2)], ids=["jobs", "entry"])
def test_no_more_are_at_work_than_may_be(fleet: str, queue: Queue, jobs: int, most: int | None) -> None:
    put(queue, *(f"r{number}@1" for number in range(6)))
    at_work, seen, lock = 0, [0], threading.Lock()

    def execute(name: str) -> None:
        nonlocal at_work
        with lock:
            at_work += 1
            seen.append(at_work)
        time.sleep(0.1)
        with lock:
            at_work -= 1

    with working(fleet, execute, jobs=jobs, most=most):
        until(lambda: len(seen) == 7)
    assert max(seen) == 2


class Exploit:
    """What runs code where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return (exec, (f"open({str(self.path)!r}, 'w').close()",))


def test_a_pickled_row_is_refused_by_whoever_sees_it(
    fleet: str, queue: Queue, rows: Rows, tmp_path: Path
) -> None:
    mark = tmp_path / "unpickled"
    put(queue, "bad@1", "good@1")
    row = base64.b64encode(pickle.dumps({"args": (Exploit(mark),), "kwargs": {}})).decode()
    rows("UPDATE llmdo_queue.workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = 'bad@1'")
    rows(f"UPDATE llmdo_queue.workflow_input SET inputs = '{row}' WHERE workflow_uuid = 'bad@1'")
    queue.waiting()
    queue._client.list_workflows()  # even where the content is asked for
    taken: list[str] = []
    with working(fleet, taken.append):
        until(lambda: ("bad@1", "ERROR") in rows(STATES))
        until(lambda: taken)
    assert taken == ["good@1"]
    assert not mark.exists()


@pytest.mark.long
def test_a_row_that_names_another_run_than_its_own_is_refused(fleet: str, queue: Queue, rows: Rows) -> None:
    put(queue, "a@1", "b@1")
    rows("UPDATE llmdo_queue.workflow_input SET inputs = replace(inputs, 'a@1', 'b@1')")
    taken: list[str] = []
    with working(fleet, taken.append):
        until(lambda: taken)
        until(lambda: not queue.at_work())
    assert taken == ["b@1"]
    assert dict(rows(STATES)) == {"a@1": "ERROR", "b@1": "SUCCESS"}


def taken_by(rows: Rows, name: str, worker: str) -> None:
    rows(
        f"UPDATE llmdo_queue.workflow_status SET status = 'PENDING', executor_id = '{worker}', "
        f"owner_xid = 'x' WHERE workflow_uuid = '{name}'"
    )


@pytest.mark.long
def test_what_dead_workers_had_is_reaped_and_nothing_else(fleet: str, queue: Queue, rows: Rows) -> None:
    put(queue, "a@1", "b@1", "c@1", "d@1", "e@1")
    with (
        Presence(workers_of(fleet), lock=LOCK, jobs=1) as alive,
        Presence(workers_of(fleet), lock=LOCK, jobs=1) as silent,
    ):
        rows(f"UPDATE llmdo.worker SET beat = clock_timestamp() - interval '31 s' WHERE id = '{silent.id}'")
        for name, worker in [("a@1", "gone:1:x"), ("b@1", alive.id), ("c@1", silent.id)]:
            taken_by(rows, name, worker)
        rows("UPDATE llmdo_queue.workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = 'd@1'")
        workers = workers_of(fleet)
        assert [each.run for each in reap(queue, workers)] == ["a", "c"]
        assert reap(queue, workers) == ()
        assert [each.run for each in queue.at_work()] == ["b"]
        assert sorted(each.run for each in queue.waiting()) == ["a", "c", "e"]
    assert {each.id for each in workers.all()} == set()


@pytest.mark.long
def test_of_two_reapers_one_reaps(fleet: str, queue: Queue, rows: Rows) -> None:
    put(queue, "a@1")
    taken_by(rows, "a@1", "gone:1:x")
    first, second = workers_of(fleet), workers_of(fleet)
    with first.reaping() as is_alone, ThreadPoolExecutor(1) as another:  # which has a connection of its own
        assert is_alone
        assert another.submit(reap, queue, second).result() == ()
        assert [each.run for each in queue.at_work()] == ["a"]
    assert [each.run for each in reap(queue, second)] == ["a"]


@pytest.mark.long
def test_a_worker_is_known_while_it_is_there_and_beats(fleet: str, rows: Rows) -> None:
    workers = workers_of(fleet)
    with Presence(workers_of(fleet), lock=LOCK, jobs=3, seconds=0.6) as presence:
        (worker,) = workers.all()
        assert (worker.id, worker.lock, worker.jobs, worker.is_alive) == (presence.id, LOCK, 3, True)
        presence.ended = 5
        until(lambda: workers.all()[0].ended == 5)
    assert workers.all() == ()


@pytest.mark.long
@pytest.mark.parametrize("how", ["forgotten", "silent"])
def test_a_worker_ends_itself_once_others_may_take_it_for_dead(fleet: str, rows: Rows, how: str) -> None:
    why: list[str] = []
    with Presence(workers_of(fleet), lock=LOCK, jobs=1, seconds=0.6, end=why.append):
        if how == "forgotten":
            rows("DELETE FROM llmdo.worker")
        else:
            rows("ALTER TABLE llmdo.worker RENAME TO away")
        until(lambda: why)
    assert ("is not known" if how == "forgotten" else "could not report") in why[0]


def test_without_tables_the_hint_says_how_to_make_them(cluster: postgres.Cluster) -> None:
    from llmdo.journal.opening import migrate

    address = cluster.new_database()
    migrate(address)
    with pytest.raises(LlmdoError, match="the queue failed") as error:
        Queue(address)
    assert error.value.hint == "`llmdo fleet store migrate` makes its tables"


def test_an_address_with_a_password_is_not_repeated(cluster: postgres.Cluster) -> None:
    with pytest.raises(LlmdoError) as error:
        Queue("postgresql://u:hunter2-long@127.0.0.1:1/x")
    assert "hunter2" not in f"{error.value}{error.value.hint}"


def test_what_is_held_of_a_run_is_forgotten(queue: Queue, rows: Rows) -> None:
    for name in ("a@1", "a@2", "ab@1"):
        queue.enqueue(name, entry="main", lock="x")
    queue.cancel(["a@1", "a@2"])
    queue.forget(["a"])
    assert rows("SELECT workflow_uuid FROM llmdo_queue.workflow_status") == [("ab@1",)]


def test_what_is_put_in_for_later_is_taken_when_the_store_says_so(
    fleet: str, queue: Queue, rows: Rows
) -> None:
    taken: list[str] = []
    with closing(workers_of(fleet)) as delays, working(fleet, taken.append):
        delays.delay("a@1", 0)
        assert queue.release(delays.due()) == (), "it has not been put in yet"
        queue.enqueue("a@1", entry="main", lock=LOCK, is_later=True)
        delays.delay("b@1", 3600)
        queue.enqueue("b@1", entry="main", lock=LOCK, is_later=True)
        queue.enqueue("c@1", entry="main", lock=LOCK)
        until(lambda: taken == ["c@1"])
        delays.released(queue.release(delays.due()))
        until(lambda: taken == ["c@1", "a@1"])
        assert rows("SELECT name FROM llmdo.delayed") == [("b@1",)]
        rows("UPDATE llmdo.delayed SET due = clock_timestamp()")
        delays.released(queue.release(delays.due()))
        until(lambda: taken == ["c@1", "a@1", "b@1"])
        assert (delays.due(), abs(delays.now() - time.time()) < 60) == ((), True)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What the engine writes meanwhile."""

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    records: list[logging.LogRecord] = []
    kept, logger = Kept(), logging.getLogger("dbos")
    logger.addHandler(kept)
    yield records
    logger.removeHandler(kept)


@pytest.mark.long
def test_a_worker_begins_although_a_connection_breaks_as_it_does(
    cluster: postgres.Cluster, fleet: str, queue: Queue, logged: list[logging.LogRecord]
) -> None:
    between = LosingReplies(cluster.port, 3)
    through = fleet.replace(f":{cluster.port}/", f":{between.port}/")
    put(queue, "a@1")
    taken: list[str] = []
    between.loses.set()
    with closing(Queue(through)):
        assert not between.loses.is_set()
    workers = workers_of(through)
    between.loses.set()
    workers.register("h:1:a", lock=LOCK, jobs=1)
    assert [worker.id for worker in workers.all()] == ["h:1:a"]
    between.loses.set()
    with working(through, taken.append):
        assert not between.loses.is_set()
        until(lambda: taken)
    between.close()
    assert logged == []


def test_a_server_that_gives_too_few_connections_is_named_with_what_a_worker_needs(
    fleet: str, rows: Rows, logged: list[logging.LogRecord]
) -> None:
    user = f"none_{fleet.rpartition('/')[2]}"
    rows(f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 0")
    try:
        with (
            pytest.raises(LlmdoError, match="too many connections") as error,
            working(fleet.replace("postgres@", f"{user}@"), lambda _: None),
        ):
            pass
        assert error.value.hint == f"a worker needs at least {engine.LEAST} connections"
        assert (
            f"A worker needs at least {engine.LEAST}."
            in (Path(__file__).parents[3] / "docs/fleet.md").read_text()
        )
        assert logged == []
    finally:
        rows(f"DROP ROLE {user}")
