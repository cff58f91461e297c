"""`llmdo batch` over a database: the same as over files, and several machines may work on one batch."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmdo.journal.opening import batches_of, runs_of
from tests.cli.conftest import Done, Llmdo
from tests.support import commands, forking, postgres
from tests.support.waiting import waited_for

from .conftest import effects, inputs, rows

pytestmark = pytest.mark.fleet

COMMAND = [sys.executable, "-m", "llmdo", "batch"]
START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


@pytest.fixture
def llmdo() -> Llmdo:
    """Runs a command, whose `--store` holds for itself alone."""

    def run(*words: str, cwd: Path) -> Done:
        done = commands.llmdo(cwd, *words)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def expire(address: str) -> None:
    """Has all leases run out, as though the time had passed."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE llmdo.run SET until = clock_timestamp() - interval '1 s'")


def standing(llmdo: Llmdo, root: Path) -> dict[str, str]:
    shown = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=root).out)
    return {row["key"]: row["state"] for row in shown["rows"]}


@pytest.fixture
def kept(store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store, which all commands keep to."""
    monkeypatch.setenv("LLMDO_STORE", store)
    return store


def test_a_batch_and_its_runs_are_in_the_store(llmdo: Llmdo, root: Path, store: str) -> None:
    inputs(root, "effect a", "careful b", "wrong")
    done = llmdo(*START, "--store", store, cwd=root)
    assert done.code == 1, done.err
    assert not [*root.glob(".llmdo/batches/*"), *root.glob(".llmdo/runs/*")]
    assert [(row["key"], row["state"]) for row in rows(root)] == [("1", "completed"), ("3", "failed")]
    index, environ = runs_of(root, {"LLMDO_STORE": store}), {"LLMDO_STORE": store}
    batch = batches_of(root, environ).find("last")
    assert {batches_of(root, environ).of_run(run) for run in index.names()} == {batch}
    listed = llmdo("batch", "list", "--store", store, cwd=root)
    assert "1 completed" in listed.out
    assert llmdo("batch", "list", cwd=root).out == ""
    run = next(item.run for item in batches_of(root, environ).open(batch).items("waiting"))
    assert llmdo("approve", run, "--yes", "main/careful#1", "--store", store, cwd=root).code == 0
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", "--store", store, cwd=root).code == 0
    assert effects(root) == ["a", "b"]
    assert llmdo("batch", "resume", "last", "--store", store, cwd=root).code == 0
    assert effects(root) == ["a", "b"]


@contextmanager
def killed_within_effects(root: Path) -> Iterator[None]:
    """While the block runs, the runs of a killed process still seem to be at work."""
    (root / "hold").touch()
    process = forking.Popen([*COMMAND, *START[1:]], cwd=root, stdout=-3, stderr=-1)
    expected = len((root / "in.jsonl").read_text().splitlines())
    try:
        assert waited_for(lambda: len(effects(root)) == expected)
    finally:
        process.kill()
        process.communicate()
    (root / "hold").unlink()
    yield


@pytest.mark.long
def test_what_was_killed_within_an_effect_is_for_a_person_to_say(llmdo: Llmdo, root: Path, kept: str) -> None:
    inputs(root, "effect a", "effect b")
    with killed_within_effects(root):
        assert standing(llmdo, root) == {"1": "running", "2": "running"}
        resumed = llmdo("batch", "resume", "last", cwd=root)  # nobody knows yet that it is dead
        assert "2 items are at work in another process; where that was killed" in resumed.err
        assert standing(llmdo, root) == {"1": "running", "2": "running"}
    expire(kept)
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert standing(llmdo, root) == {"1": "unsure", "2": "unsure"}
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=root).code == 0
    assert standing(llmdo, root) == {"1": "completed", "2": "completed"}
    assert effects(root) == ["a", "b"]


@pytest.mark.long
def test_an_item_has_not_failed_where_the_store_does(llmdo: Llmdo, root: Path, kept: str) -> None:
    import psycopg

    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    (run,) = runs_of(root, {"LLMDO_STORE": kept}).names()
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    with psycopg.connect(kept, autocommit=True) as connection:
        connection.execute("ALTER TABLE llmdo.entry RENAME TO away")
        resumed = llmdo("batch", "resume", "last", cwd=root)
        connection.execute("ALTER TABLE llmdo.away RENAME TO entry")
    assert (resumed.code, "the store" in resumed.err) == (2, True), resumed
    assert standing(llmdo, root) == {"1": "running"}
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a"]


@pytest.mark.long
def test_machines_share_a_batch(llmdo: Llmdo, root: Path, kept: str) -> None:
    inputs(root, *(f"effect {number}" for number in range(16)))
    llmdo(*START, "--limit", "1", cwd=root)
    other = root.parent / "other"
    shutil.copytree(root, other)
    words = [*COMMAND, "resume", "last", "--jobs", "2"]
    processes = [forking.Popen(words, cwd=folder, stdout=-3, stderr=-1) for folder in (root, other)]
    errors = [process.communicate()[1] for process in processes]
    assert all(process.returncode in (0, 1) for process in processes), errors
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    happened = effects(root) + effects(other)[1:]  # the copy brought the first
    assert sorted(happened, key=int) == [*map(str, range(16))]
    assert len({row["key"] for row in rows(root)}) == 16


@pytest.mark.long
def test_files_go_along_to_other_machines(llmdo: Llmdo, root: Path, kept: str) -> None:
    (root / "main.worker").write_text("---\nname: main\nattachments: { max: 1 }\n---\nGo.\n")
    (root / "in").mkdir()
    for name in ("a.yaml", "b.yaml"):
        (root / "in" / name).write_text(f"of {name}")
    assert llmdo("lock", cwd=root).code == 0
    words = ("batch", "main", "--inputs", "in/*.yaml", "--input", "Read.", "--jobs", "1", "--limit", "1")
    assert llmdo(*words, cwd=root).code == 1
    other = root.parent / "other"
    shutil.copytree(root, other, ignore=shutil.ignore_patterns(".llmdo", "*.yaml"))
    assert llmdo("batch", "resume", "last", "--out", "out.jsonl", cwd=other).code == 0
    assert [str(row["output"]).rpartition("\n")[2] for row in rows(other)] == ["of a.yaml", "of b.yaml"]


def test_a_server_that_cannot_be_reached_is_reported_in_a_sentence(
    llmdo: Llmdo, root: Path, cluster: postgres.Cluster
) -> None:
    inputs(root, "effect a")
    done = llmdo(*START, "--store", "postgresql://u:hunter2-long@127.0.0.1:1/x", cwd=root)
    assert (done.code, "cannot be reached" in done.err, "hunter2" in done.err) == (2, True, False)
    done = llmdo(*START, "--store", cluster.new_database(), cwd=root)
    assert (done.code, "is at migration 0" in done.err) == (2, True)
    assert effects(root) == []


def test_items_of_a_store_that_was_put_back_wait_for_a_person(
    llmdo: Llmdo, root: Path, kept: str, cluster: postgres.Cluster
) -> None:
    inputs(root, "effect a", "effect b", "careful c")
    assert llmdo(*START, "--limit", "1", cwd=root).code == 1
    backup = copied_database(cluster, kept, None)
    assert llmdo("batch", "resume", "last", cwd=root).code == 3
    copied_database(cluster, backup, kept)
    resumed = llmdo("batch", "resume", "last", cwd=root)
    assert (resumed.code, "was put back to an earlier state" in resumed.err) == (2, True), resumed
    assert effects(root) == ["a", "b"]
    declared = llmdo("fleet", "store", "restored", cwd=root)
    assert "2 items and 0 runs are unsure now" in declared.err, declared
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert standing(llmdo, root) == {"1": "completed", "2": "unsure", "3": "unsure"}
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=root).code == 1
    assert standing(llmdo, root) == {"1": "completed", "2": "failed", "3": "failed"}
    assert effects(root) == ["a", "b"]
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=root).code == 3
    assert effects(root) == ["a", "b", "b"], "a person said so"


@pytest.mark.long
def test_a_run_that_did_more_than_the_store_has_goes_on_when_a_person_says_so(
    llmdo: Llmdo, root: Path, kept: str, cluster: postgres.Cluster
) -> None:
    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    (run,) = runs_of(root, {"LLMDO_STORE": kept}).names()
    backup = copied_database(cluster, kept, None)
    yes = ("approve", run, "--yes", "main/careful#1")
    assert llmdo(*yes, cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    for word, state, count in (("give-up", "failed", 1), ("again", "completed", 2)):
        copied_database(cluster, backup, kept)
        assert llmdo("fleet", "store", "restored", cwd=root).code == 0
        assert llmdo(*yes, cwd=root).code == 0
        llmdo("batch", "resume", "last", cwd=root)
        assert standing(llmdo, root) == {"1": "unsure"}
        assert len(effects(root)) == 1
        llmdo("batch", "retry", "last", "--unsure", word, cwd=root)
        assert (standing(llmdo, root), len(effects(root))) == ({"1": state}, count)


def copied_database(cluster: postgres.Cluster, address: str, to: str | None) -> str:
    """A copy of a database, in the place of the one at `to` or as a new one."""
    import psycopg

    with psycopg.connect(cluster.address(), autocommit=True) as connection:
        for each in filter(None, (address, to)):
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
                [each.rpartition("/")[2]],
            )
        if to is None:
            return cluster.new_database(like=address)
        name, template = to.rpartition("/")[2], address.rpartition("/")[2]
        connection.execute(f"DROP DATABASE {name}".encode())
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    return to
