"""`llmdo fleet status`: who is there, what waits, who has what, and what nobody can take."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.fleet.conftest import Rows
from tests.support import postgres
from tests.support.commands import llmdo

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.fleet.queue import Queue
from llmdo.features.fleet.worker import Presence
from llmdo.journal.opening import workers_of
from tests.features.fleet.test_queue import taken_by

pytestmark = pytest.mark.fleet

REVIEWED, OLD = "sha256:0123456789abcdef", "sha256:fedcba9876543210"


@pytest.fixture
def queue(fleet: str) -> Iterator[Queue]:
    queue = Queue(fleet)
    yield queue
    queue.close()


@pytest.mark.long
def test_an_empty_fleet_is_shown_as_that(fleet: str, root: Path) -> None:
    shown = llmdo(root, "fleet", "status", fleet)
    assert (shown.returncode, shown.stdout) == (0, "0 workers, 0 items at work, 0 waiting, 0.0 a minute\n"), (
        shown
    )


@pytest.mark.long
def test_who_has_what_and_what_nobody_can_take_is_shown(
    fleet: str, queue: Queue, rows: Rows, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a@1", "b@1", "c@1"):
        queue.enqueue(name, entry="main", lock=REVIEWED)
    queue.enqueue("d@1", entry="other", lock=OLD)
    with (
        Presence(workers_of(fleet), lock=REVIEWED, jobs=2) as worker,
        Presence(workers_of(fleet), lock="sha256:another", jobs=1) as idle,
        Presence(workers_of(fleet), lock=REVIEWED, jobs=1) as dead,
    ):
        rows(f"UPDATE llmdo.worker SET beat = beat - interval '1 hour' WHERE id = '{dead.id}'")
        taken_by(rows, "a@1", worker.id)
        taken_by(rows, "b@1", dead.id)
        text = llmdo(root, "fleet", "status", fleet).stdout
        monkeypatch.setenv("LLMDO_STORE", fleet)
        document = json.loads(llmdo(root, "fleet", "status", "--format", "json").stdout)
    assert "2 workers, 2 items at work, 2 waiting" in text
    lines = {line.split()[0]: line for line in text.splitlines()[1:]}
    assert "working  1 of 2 at work" in lines[worker.id]
    assert "another lock than what waits" in lines[idle.id]
    assert "dead" in lines[dead.id]
    assert "lock 0123456789ab" in lines["main"]
    assert "no worker has" not in lines["main"]
    assert lines["other"].endswith("for lock fedcba987654  no worker has this lock")
    assert f"left over: b, which `{dead.id}` had" in text
    assert document["schema"] == "llmdo.fleet/1"
    states = {
        each["id"]: (each["state"], each["takes_nothing"], [taken["run"] for taken in each["at_work"]])
        for each in document["workers"]
    }
    assert states == {
        worker.id: ("working", False, ["a"]),
        idle.id: ("working", True, []),
        dead.id: ("dead", False, ["b"]),
    }
    assert [(each["entry"], each["items"], each["nobody_has_the_lock"]) for each in document["waiting"]] == [
        ("main", 1, False),
        ("other", 1, True),
    ]
    assert document["left_over"] == [{"run": "b", "worker": dead.id}]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no fleet is named"),
        (("mysql://u:hunter2-long@x/y",), "is not in a database that llmdo knows"),
        (("postgresql://u:hunter2-long@127.0.0.1:1/x",), "cannot be reached"),
    ],
)
def test_what_is_no_fleet_is_refused_without_repeating_it(
    root: Path, words: tuple[str, ...], sentence: str
) -> None:
    shown = llmdo(root, "fleet", "status", *words, environ={})
    assert (shown.returncode, sentence in shown.stderr) == (2, True), shown
    assert "hunter2" not in shown.stderr


@pytest.mark.long
def test_the_tables_are_made_by_store_migrate(cluster: postgres.Cluster, root: Path) -> None:
    address = cluster.new_database()
    lacking = llmdo(root, "fleet", "status", address)
    assert (lacking.returncode, "llmdo fleet store migrate" in lacking.stderr) == (2, True), lacking
    assert llmdo(root, "fleet", "store", "migrate", "--store", address).returncode == 0
    assert llmdo(root, "fleet", "status", address).returncode == 0
    assert "up to date" in llmdo(root, "fleet", "store", "migrate", "--store", address).stderr


@pytest.mark.long
def test_check_and_run_load_nothing_of_a_fleet(workspace: Path) -> None:
    script = (
        "import sys; from llmdo.__main__ import main; code = main(); "
        "print(sorted({'dbos', 'psycopg', 'sqlalchemy'} & {*sys.modules}), code)"
    )
    for words in (["check"], ["run", "main", "hello"]):
        ended = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=workspace, capture_output=True, text=True, check=True
        )
        assert ended.stdout.splitlines()[-1] == "[] 0", ended
