"""Workers of a fleet: each item once, whoever dies; nothing but reviewed code; and no effect twice."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.features.batch.conftest import MANIFEST, effects, inputs
from tests.features.batch.conftest import rows as written
from tests.features.batch.test_stores import copied_database
from tests.features.fleet.conftest import LONGEST, Rows, until
from tests.support import forking, postgres
from tests.support.commands import llmdo
from tests.support.locks import locked

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.fleet.worker import WorkerRequest, work
from llmdo.journal.opening import workers_of
from llmdo.workspace.trust import Consent, UntrustedError
from tests.features.fleet.working import Network, Worker, ending, process, working

pytestmark = pytest.mark.fleet

EXPIRE = (
    "UPDATE llmdo.run SET until = clock_timestamp() - interval '1 s'; "
    "UPDATE llmdo.worker SET beat = clock_timestamp() - interval '1 hour'"
)
STATES = "SELECT key, state FROM llmdo.item ORDER BY number"


def batch(root: Path, fleet: str, *words: str) -> tuple[int, str]:
    """A batch that is put in and followed: its exit code, and what was told."""
    ended = llmdo(root, "batch", "main", "--inputs", "in.jsonl", "--fleet", fleet, *words)
    return ended.returncode, ended.stderr


def put_in(root: Path, fleet: str, rows: Rows, *words: str) -> None:
    """A batch that is put in and left at once."""
    from llmdo.features.batch.commands import BatchRequest, Working
    from llmdo.features.batch.inputs import InputChoice
    from llmdo.features.fleet import batches
    from llmdo.services.run import EntryRequest

    class Leaving:
        consent = Consent()

        def tell(self, line: str) -> None: ...

        def following(self, store: object) -> object:
            from contextlib import nullcontext

            return nullcontext(lambda item, result: None)

        def wait_for(self, work: object, abandon: object, draining: object) -> None:
            work.close()  # type: ignore[attr-defined]

    environ = {**os.environ, "LLMDO_STORE": fleet}
    request = BatchRequest(
        start=EntryRequest(("main",), project=str(root), of_files=False, environ=environ),
        inputs=InputChoice(inputs=str(root / "in.jsonl"), key=None, template=None),
        working=Working(environ=environ),
    )
    batches.begin(request, batches.Handing(), Leaving())  # type: ignore[arg-type]


@pytest.mark.long
def test_a_worker_begins_with_nothing_that_nobody_answered_for(fleet: str, workspace: Path) -> None:
    host = Worker()
    host.consent = Consent({}, strict=True)
    environ = {**os.environ, "LLMDO_STORE": fleet}
    with pytest.raises(UntrustedError, match="nobody has answered for"):
        work(WorkerRequest(root=workspace, address=fleet, environ=environ), host)
    assert host.lines == []


UNFIT = "---\nname: main\ntoolsets: [effects]\ncompatible_models: ['openai:*']\n---\nGo.\n"


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        (
            {},
            ["--model", "python:other.py:rules"],
            "`python:other.py:rules` is asked for as a model, and no file",
        ),
        ({"main.worker": UNFIT}, [], "worker `main` does not work with `python:models.py:rules`"),
        ({"llmdo.toml": MANIFEST.replace('model = "python', '# "python')}, [], "worker `main` has no model"),
        ({}, ["--model", "nobody:at-all"], "nobody"),
    ],
)
def test_a_model_that_no_worker_could_ask_is_refused_where_it_is_put_in(
    fleet: str, workspace: Path, rows: Rows, files: dict[str, str], words: list[str], message: str
) -> None:
    for name, text in files.items():
        (workspace / name).write_text(text, encoding="utf-8")
    (workspace / "other.py").write_text(
        (workspace / "models.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    locked(workspace)
    inputs(workspace, "effect 1")
    code, stderr = batch(workspace, fleet, *words)
    assert (code, message in stderr) == (2, True), stderr
    assert rows("SELECT count(*) FROM llmdo.item") == [(0,)]


def test_a_key_of_a_fleet_is_looked_for_where_it_works(
    fleet: str, workspace: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    manifest = (workspace / "llmdo.toml").read_text(encoding="utf-8")
    (workspace / "llmdo.toml").write_text(manifest.replace("python:models.py:rules", "openai:gpt-5"))
    locked(workspace)
    inputs(workspace, "effect 1")
    put_in(workspace, fleet, rows)
    assert rows(STATES) == [("1", "queued")]


@pytest.mark.long
def test_a_batch_is_carried_out_by_workers_and_its_answers_are_waited_for(
    fleet: str, workspace: Path
) -> None:
    inputs(workspace, "effect a", "effect b", "hello", "careful c", "wrong d")
    with working(workspace, fleet) as worker:
        code, printed = batch(workspace, fleet, "--out", "out.jsonl")
        assert (code, "1 failed, 3 completed, 1 waiting" in printed) == (1, True), printed
        assert [(row["key"], row["state"], row["output"]) for row in written(workspace)] == [
            ("1", "completed", "did a"),
            ("2", "completed", "did b"),
            ("3", "completed", "echo hello"),
            ("5", "failed", None),
        ]
        shown = llmdo(
            workspace, "batch", "show", "last", "--state", "waiting", "--format", "json", "--store", fleet
        )
        run = json.loads(shown.stdout)["rows"][0]["run"]
        answered = llmdo(workspace, "approve", run, "--yes", "main/careful#1", "--store", fleet)
        assert "a worker of the fleet goes on" in answered.stderr, answered
        (workspace / "mended").touch()
        retried = llmdo(workspace, "batch", "retry", "last", "--fleet", fleet)
        assert (retried.returncode, "5 completed" in retried.stderr) == (0, True), retried
    assert effects(workspace) == ["a", "b", "c"]
    assert worker.outcome is not None
    assert worker.outcome.interrupted
    assert workers_of(fleet).all() == ()


@pytest.mark.long
def test_an_item_is_not_lost_where_llmdo_itself_fails(fleet: str, workspace: Path, rows: Rows) -> None:
    inputs(workspace, "effect a")
    put_in(workspace, fleet, rows)
    [(settings,)] = rows("SELECT settings::text FROM llmdo.batch")
    rows("UPDATE llmdo.batch SET settings = '{\"fleet\": true}'")  # no version of llmdo writes that
    with working(workspace, fleet) as worker:
        until(lambda: any("llmdo failed with KeyError" in line for line in worker.lines))
        rows(f"UPDATE llmdo.batch SET settings = '{settings}'")
        until(lambda: rows(STATES) == [("1", "completed")])
    assert effects(workspace) == ["a"]


@pytest.mark.long
def test_of_what_failed_only_items_that_are_named_are_put_in_again(fleet: str, workspace: Path) -> None:
    inputs(workspace, "wrong a", "wrong b", "wrong c")
    with working(workspace, fleet):
        assert "3 failed" in batch(workspace, fleet)[1]
        (workspace / "mended").touch()
        retried = llmdo(workspace, "batch", "retry", "last", "--item", "2", "--fleet", fleet)
        assert "2 failed, 1 completed" in retried.stderr, retried


def test_what_dead_workers_had_goes_on_and_calls_that_did_not_finish_are_unsure(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a", "slow b", "hello")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    with process(workspace, fleet, "--jobs", "2") as child:
        until(lambda: effects(workspace) == ["a"])
        until(lambda: rows("SELECT count(*) FROM llmdo.item WHERE state = 'running'") == [(2,)])
        child.kill()
    (workspace / "hold").unlink()
    with working(workspace, fleet):
        until(lambda: ("3", "completed") in rows(STATES))
        assert rows("SELECT count(*) FROM llmdo.item WHERE state = 'running'") == [(2,)], "they may be alive"
        rows(EXPIRE.partition(";")[0])
        rows(f"{EXPIRE.partition('; ')[2]} WHERE pid = {child.pid}")
        until(lambda: dict(rows(STATES)) == {"1": "unsure", "2": "completed", "3": "completed"})
        assert effects(workspace) == ["a"]
        decided = llmdo(workspace, "batch", "retry", "last", "--unsure", "give-up", "--fleet", fleet)
        assert (decided.returncode, "3 completed" in decided.stderr) == (0, True), decided
    assert effects(workspace) == ["a"]


@pytest.mark.long
def test_a_restart_of_the_database_loses_and_doubles_nothing(fleet: str, workspace: Path) -> None:
    del fleet  # where there is none, it is skipped
    import psycopg

    from llmdo.services.queue import migrate

    inputs(workspace, "effect a", "slow b", "effect c")
    (workspace / "hold").touch()
    with postgres.cluster() as own:
        address = own.new_database()
        migrate(address)

        def states() -> dict[str, str]:
            with psycopg.connect(address) as connection:
                return dict(connection.execute(STATES).fetchall())

        put_in(workspace, address, lambda _: [])
        with process(workspace, address):
            until(lambda: sorted(effects(workspace)) == ["a", "c"] and states()["2"] == "running")
            own.stop()
            own.start()
            (workspace / "hold").unlink()
            until(lambda: {*states().values()} == {"completed"})
    assert sorted(effects(workspace)) == ["a", "c"]


@pytest.mark.long
def test_a_worker_whose_store_was_put_back_ends_and_what_is_open_waits_for_a_person(
    fleet: str, cluster: postgres.Cluster, workspace: Path
) -> None:
    import psycopg

    def states() -> dict[str, str]:
        with psycopg.connect(fleet) as connection:
            return dict(connection.execute(STATES).fetchall())

    inputs(workspace, "effect a", "effect b")
    put_in(workspace, fleet, lambda _: [])
    backup = copied_database(cluster, fleet, None)
    with working(workspace, fleet):
        until(lambda: {*states().values()} == {"completed"})
    copied_database(cluster, backup, fleet)
    assert {*states().values()} == {"queued"}
    with working(workspace, fleet) as worker:
        until(lambda: worker.outcome)
    assert worker.outcome is not None
    assert not worker.outcome.interrupted
    assert "was put back to an earlier state" in worker.outcome.reason
    assert any("2 items wait for a person now" in line for line in worker.lines)
    assert {*states().values()} == {"unsure"}
    with working(workspace, fleet) as worker:
        retried = llmdo(workspace, "batch", "retry", "last", "--unsure", "give-up", "--fleet", fleet)
        assert "2 failed" in retried.stderr, retried
    assert effects(workspace) == ["a", "b"]


@pytest.mark.long
def test_a_worker_that_meets_newer_tables_ends_and_leaves_what_it_was_handed(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a")
    put_in(workspace, fleet, rows)
    queued = rows("SELECT workflow_uuid, queue_name FROM llmdo_queue.workflow_status")
    rows("UPDATE llmdo_queue.workflow_status SET queue_name = 'llmdo.none'")
    with working(workspace, fleet) as worker:
        until(lambda: any("takes up to" in line for line in worker.lines))
        rows("INSERT INTO llmdo.migration VALUES (99, clock_timestamp())")
        rows(f"UPDATE llmdo_queue.workflow_status SET queue_name = '{queued[0][1]}'")
        until(lambda: worker.outcome)
    assert worker.outcome is not None
    assert not worker.outcome.interrupted
    assert "is at migration 99, and this llmdo needs" in worker.outcome.reason
    assert effects(workspace) == []
    waiting = "SELECT count(*) FROM llmdo_queue.workflow_status WHERE status = 'ENQUEUED'"
    assert rows(waiting) == [(1,)]
    rows("DELETE FROM llmdo.migration WHERE number = 99")
    with working(workspace, fleet):
        until(lambda: rows(STATES) == [("1", "completed")])


@pytest.mark.long
def test_a_worker_that_sleeps_through_a_takeover_wakes_to_nothing(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "slow a")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    asked = "SELECT count(*) FROM llmdo.run WHERE owner IS NOT NULL"
    with process(workspace, fleet) as child:
        until(lambda: rows(asked) == [(1,)] and (workspace / "requests.log").exists())
        os.kill(child.pid, signal.SIGSTOP)
        rows(EXPIRE.partition(";")[0])
        rows(f"{EXPIRE.partition('; ')[2]} WHERE pid = {child.pid}")
        with working(workspace, fleet):
            (workspace / "hold").unlink()
            until(lambda: dict(rows(STATES)) == {"1": "completed"})
            before = rows("SELECT * FROM llmdo.entry ORDER BY seq"), rows("SELECT * FROM llmdo.item")
            os.kill(child.pid, signal.SIGCONT)
            child.terminate()
            child.wait(LONGEST)
    assert (rows("SELECT * FROM llmdo.entry ORDER BY seq"), rows("SELECT * FROM llmdo.item")) == before


@pytest.mark.long
def test_what_has_not_begun_is_cancelled_and_what_is_urgent_comes_first(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    (workspace / "hold").touch()
    inputs(workspace, "slow a", "effect b", "effect c")
    put_in(workspace, fleet, rows)
    urgent = [sys.executable, "-m", "llmdo", "batch", "main", "--inputs", "in.jsonl", "--fleet", fleet]
    with working(workspace, fleet, jobs=1):
        until(lambda: ("1", "running") in rows(STATES))
        assert llmdo(workspace, "batch", "cancel", "last", "--fleet", fleet).returncode == 0
        assert rows(STATES) == [("1", "running"), ("2", "cancelled"), ("3", "cancelled")]
        inputs(workspace, "effect usual")
        put_in(workspace, fleet, rows)
        inputs(workspace, "effect urgent")
        waiting = "SELECT count(*) FROM llmdo_queue.workflow_status WHERE status = 'ENQUEUED'"
        with ending(
            forking.Popen([*urgent, "--priority", "1"], cwd=workspace, stderr=PIPE, text=True)
        ) as child:
            until(lambda: rows(waiting) == [(2,)])
            (workspace / "hold").unlink()
            assert child.wait(LONGEST) == 0
        until(lambda: not rows("SELECT 1 FROM llmdo.item WHERE state IN ('queued', 'running')"))
    assert (workspace / "effects.log").read_text().split() == ["urgent", "usual"]


@pytest.mark.long
def test_a_batch_stops_once_as_much_has_failed_as_may(fleet: str, workspace: Path, rows: Rows) -> None:
    inputs(workspace, "wrong a", "effect b", "effect c")
    with working(workspace, fleet, jobs=1):
        code, printed = batch(workspace, fleet, "--max-failures", "1")
        assert (code, "1 items failed, as many as `--max-failures` says" in printed) == (1, True), printed
        until(lambda: rows(STATES) == [("1", "failed"), ("2", "queued"), ("3", "queued")])
        assert effects(workspace) == []
        resumed = llmdo(workspace, "batch", "resume", "last", "--fleet", fleet)
        assert "1 failed, 2 completed" in resumed.stderr, resumed
    assert effects(workspace) == ["b", "c"]


@pytest.mark.long
def test_a_worker_whose_network_hangs_ends_itself_and_another_goes_on(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "slow a")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    entries = "SELECT * FROM llmdo.entry ORDER BY seq"
    with Network(fleet) as network, process(workspace, network.address) as child:
        until(lambda: (workspace / "requests.log").exists())
        network.hang()
        until(lambda: child.poll() is not None)
        assert child.returncode == 2
        assert re.search(r"could not (report|be renewed) for \d+ s", child.stderr.read())
        before = rows(entries)
        (workspace / "hold").unlink()
        rows(EXPIRE)
        with working(workspace, fleet):
            until(lambda: rows(STATES) == [("1", "completed")])
        assert rows(entries)[: len(before)] == before
        assert rows("SELECT epoch > 1 FROM llmdo.run") == [(True,)]


@pytest.mark.long
def test_a_word_about_a_call_holds_for_one_more_attempt(fleet: str, workspace: Path, rows: Rows) -> None:
    inputs(workspace, "effect a")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    retry = [sys.executable, "-m", "llmdo", "batch", "retry", "last", "--unsure", "again", "--fleet", fleet]
    with ExitStack() as stack:
        for times in (1, 2):
            with process(workspace, fleet) as child:
                until(lambda: effects(workspace) == ["a"] * times)  # noqa: B023
                child.kill()
            rows(EXPIRE)
            with working(workspace, fleet):
                until(lambda: rows(STATES) == [("1", "unsure")] or len(effects(workspace)) > times)  # noqa: B023
                assert rows(STATES) == [("1", "unsure")], "nobody was asked about the second attempt"
            if times == 1:
                stack.enter_context(ending(forking.Popen(retry, cwd=workspace, stderr=PIPE, text=True)))
    assert effects(workspace) == ["a", "a"]


@pytest.mark.long
def test_all_workers_together_have_no_more_runs_of_an_entry_than_it_says(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    manifest = workspace / "llmdo.toml"
    manifest.write_text(manifest.read_text() + "concurrent-runs = 2\n")
    locked(workspace)
    inputs(workspace, *(f"slow {number}" for number in range(8)))
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    with process(workspace, fleet, "--jobs", "4"), process(workspace, fleet, "--jobs", "4"):
        until(lambda: len(workers_of(fleet).all()) == 2)
        until(lambda: rows("SELECT count(*) FROM llmdo.item WHERE state = 'running'")[0][0] >= 2)
        (workspace / "hold").unlink()
        until(lambda: {*dict(rows(STATES)).values()} == {"completed"})
    spans = rows("SELECT min(at), max(at) FROM llmdo.entry GROUP BY run")
    most = max(sum(begin <= at <= end for begin, end in spans) for at, _ in spans)
    assert (len(spans), most) == (8, 2)


def copied(workspace: Path, change: str) -> Path:
    """Another machine's checkout, with other code."""
    other = workspace.with_name("other")
    shutil.copytree(workspace, other, ignore=shutil.ignore_patterns(".llmdo"))
    (other / "main.worker").write_text((other / "main.worker").read_text() + change)
    return locked(other)


@pytest.mark.long
def test_a_worker_takes_what_was_put_in_with_its_own_lock_until_the_batch_is_moved(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "effect a", "slow b")
    put_in(workspace, fleet, rows)
    other = copied(workspace, "Please.\n")
    with working(other, fleet):
        status = llmdo(workspace, "fleet", "status", fleet).stdout
        assert "no worker has this lock" in status
        assert "another lock than what waits" in status
        assert dict(rows(STATES)) == {"1": "queued", "2": "queued"}
        moved = llmdo(other, "batch", "rebind", "last", "--fleet", fleet)
        assert (moved.returncode, "2 items moved" in moved.stderr) == (0, True), moved
        until(lambda: dict(rows(STATES)) == {"1": "completed", "2": "completed"})
    assert (effects(workspace), effects(other)) == ([], ["a"])


@pytest.mark.long
def test_what_has_begun_goes_on_with_another_lock_where_all_that_changed_is_named(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    inputs(workspace, "slow a", "careful b")
    (workspace / "hold").touch()
    put_in(workspace, fleet, rows)
    with process(workspace, fleet) as child:
        until(lambda: rows(STATES) == [("1", "running"), ("2", "waiting")])
        until(lambda: rows("SELECT count(*) FROM llmdo.entry WHERE kind = 'run'") == [(2,)])
        child.kill()
    rows(EXPIRE)
    (workspace / "hold").unlink()
    (workspace / "main.worker").write_text((workspace / "main.worker").read_text() + "Please.\n")
    locked(workspace)
    queued = "SELECT application_version FROM llmdo_queue.workflow_status WHERE status = 'ENQUEUED'"
    with working(workspace, fleet) as worker:
        until(
            lambda: rows(queued)
        )  # of the other as well, where it was killed before the engine knew of its end
        for words, why in [
            ((), "0 items moved to the lock of this checkout; 2 items began with another"),
            (("--allow-drift", "other"), "`other` is not among what changed"),
            (("--allow-drift", "main", "--allow-drift", "w"), "`w` is not among what changed"),
        ]:
            refused = llmdo(workspace, "batch", "rebind", "last", "--fleet", fleet, *words)
            assert why in refused.stderr, refused
        assert rows(STATES) == [("1", "running"), ("2", "waiting")]
        moved = llmdo(workspace, "batch", "rebind", "last", "--fleet", fleet, "--allow-drift", "main")
        assert (moved.returncode, "2 items moved" in moved.stderr) == (0, True), moved
        until(lambda: ("1", "completed") in rows(STATES))
        run = rows("SELECT run FROM llmdo.item WHERE key = '2'")[0][0]
        answered = llmdo(workspace, "approve", run, "--yes", "main/careful#1", "--store", fleet)
        assert answered.returncode == 0, answered
        until(lambda: len(worker.ends) == 2)
    assert worker.ends == [("1", "completed"), ("2", "waiting")], "the yes was about what ran before"


@pytest.mark.long
def test_no_worker_begins_with_code_that_nobody_reviewed(fleet: str, workspace: Path) -> None:
    (workspace / "main.worker").write_text((workspace / "main.worker").read_text() + "More.\n")
    refused = llmdo(workspace, "fleet", "worker", "--fleet", fleet)
    assert (refused.returncode, "run `llmdo lock`" in refused.stderr) == (1, True), refused
    (workspace / "llmdo.lock").unlink()
    refused = llmdo(workspace, "fleet", "worker", "--fleet", fleet)
    assert (refused.returncode, "`llmdo.lock` cannot be read" in refused.stderr) == (2, True), refused
    assert workers_of(fleet).all() == ()


@pytest.mark.long
@pytest.mark.parametrize("change", ["tools.py", "llmdo.lock"])
def test_a_worker_ends_when_its_code_changes(fleet: str, workspace: Path, rows: Rows, change: str) -> None:
    (workspace / "hold").touch()
    inputs(workspace, "slow a", "b")
    put_in(workspace, fleet, rows)
    with working(workspace, fleet, jobs=1) as worker:
        until(lambda: (workspace / "requests.log").exists())
        (workspace / "written.txt").touch()  # what runs write beside the code changes nothing
        with (workspace / change).open("a") as file:
            file.write("# changed\n")
        assert worker.draining is not None
        until(lambda: worker.draining and worker.draining.reason)
        (workspace / "hold").unlink()
        until(lambda: worker.outcome)
    assert worker.outcome is not None
    assert re.search("has changed", worker.outcome.reason)
    assert not worker.outcome.interrupted
    assert dict(rows(STATES)) == {"1": "completed", "2": "queued"}
    assert rows("SELECT count(*) FROM llmdo_queue.workflow_status WHERE status = 'ENQUEUED'") == [(1,)]


DEPLOY = "import pathlib\npathlib.Path(__file__).with_name('deployed').write_text('x')\nmodel = None\n"


@pytest.mark.parametrize("model", ["python:scripts/deploy.py:model", "replay:scripts/past.sqlite"])
def test_a_row_of_the_database_names_no_model_that_the_lock_does_not(
    fleet: str, workspace: Path, rows: Rows, model: str
) -> None:
    (workspace / "scripts").mkdir()
    (workspace / "scripts/deploy.py").write_text(DEPLOY)
    inputs(workspace, "effect a")
    put_in(workspace, fleet, rows)
    rows(
        f"UPDATE llmdo.batch SET settings = jsonb_set(settings::jsonb, '{{models,main}}', '\"{model}\"')::text"
    )
    with working(workspace, fleet):
        until(lambda: dict(rows(STATES)) == {"1": "refused"})
    shown = llmdo(workspace, "batch", "show", "last", "--store", fleet).stdout
    assert f"`{model}` is asked for as a model, and no file of the workspace names it" in shown
    assert not (workspace / "scripts/deployed").exists()
    assert effects(workspace) == []
