"""What is over is removed at the age that the manifest names; and whoever is killed as it removes leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL

import pytest

from llmdo.journal import JournalEntry
from llmdo.journal.entries import pack
from llmdo.journal.opening import batches_of, migrate, runs_of
from tests.cli.conftest import Llmdo
from tests.support import forking, postgres

from .conftest import MANIFEST, effects, inputs

DAY = 24 * 60 * 60  # seconds
START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.fleet)])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the store of this process; empty where that are files."""
    if request.param == "files":
        return ""
    address: str = request.getfixturevalue("cluster").new_database()
    migrate(address)
    monkeypatch.setenv("LLMDO_STORE", address)
    return address


def keeping(root: Path, *keys: str) -> None:
    """Has the manifest say so in `[workspace]`."""
    lines = "".join(f"{key}\n" for key in keys)
    (root / "llmdo.toml").write_text(MANIFEST.replace('name = "w"\n', f'name = "w"\n{lines}'))


def old_run(root: Path, run: str, days: float, outcome: str = "completed") -> None:
    """A run that began so many days ago."""
    runs, at = runs_of(root), time.time() - days * DAY
    runs.prepare()
    with runs.claim(run), runs.create(run) as journal:
        for kind, data, how in (
            ("run", {"continues": None}, ""),
            ("session", {"limits": {}}, ""),
            ("end", {}, outcome),
        ):
            journal.add(JournalEntry(path="main", kind=kind, step=1, at=at, body=pack(data), outcome=how))  # type: ignore[arg-type]
        journal.commit()


def older(root: Path, store: str, days: int) -> None:
    """Has all batches be so many days older."""
    statement = f"UPDATE batch SET began = began - {days * DAY}"
    if store:
        import psycopg

        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute(statement.replace("batch", "llmdo.batch").encode())
        return
    for path in root.glob(".llmdo/batches/*.sqlite"):
        with sqlite3.connect(path) as file:
            file.execute(statement)
        file.close()


def test_runs_are_removed_at_the_age_that_the_manifest_names(llmdo: Llmdo, root: Path, store: str) -> None:
    for run, days in (("old", 31.0), ("due", 30.1), ("young", 29.9), ("new", 0.0)):
        old_run(root, run, days)
    old_run(root, "stopped", 90.0, "interrupted")
    assert llmdo("runs", "prune", cwd=root).out == "", "the last 20 stay"
    keeping(root, "keep-runs-days = 30")
    assert llmdo("lock", "--check", cwd=root).code == 0, "no lock says for how long"
    assert llmdo("check", cwd=root).code == 0
    assert sorted(llmdo("runs", "prune", "--dry-run", cwd=root).out.split()) == ["due", "old"]
    assert sorted(llmdo("runs", "prune", cwd=root).out.split()) == ["due", "old"]
    assert llmdo("runs", "prune", "--older-than", "1", "--keep", "3", cwd=root).out == "", "options say all"
    assert llmdo("runs", "prune", "--older-than", "1", "--keep", "0", cwd=root).out == "young\n"
    assert llmdo("runs", "prune", "stopped", cwd=root).out == "stopped\n"


def test_batches_are_removed_at_the_age_that_the_manifest_names(llmdo: Llmdo, root: Path, store: str) -> None:
    keeping(root, "keep-batches-days = 7")
    inputs(root, "effect a")
    assert llmdo(*START, cwd=root).code == 0
    older(root, store, 6)
    assert llmdo("batch", "prune", cwd=root).out == ""
    older(root, store, 1)
    inputs(root, "effect b")
    assert llmdo(*START, "--out", "other.jsonl", cwd=root).code == 0
    old, _ = batches_of(root).names()
    assert llmdo("batch", "prune", cwd=root).out == f"{old}\n"
    assert len(runs_of(root).names()) == 2, "the journals of their runs stay"


@pytest.mark.parametrize("value", ["0", "-1", "1.5", '"30"', "true"])
def test_a_retention_that_is_none_is_found_and_removes_nothing(llmdo: Llmdo, root: Path, value: str) -> None:
    old_run(root, "old", 365.0)
    keeping(root, f"keep-runs-days = {value}")
    assert "keep-runs-days" in llmdo("check", cwd=root).out
    refused = llmdo("runs", "prune", cwd=root)
    assert (refused.code, "`llmdo.toml` has errors" in refused.err, refused.out) == (2, True, "")
    assert llmdo("runs", "prune", "--older-than", "1", "--keep", "0", cwd=root).out == "old\n"


def test_a_worker_that_cannot_be_read_does_not_keep_runs(llmdo: Llmdo, root: Path) -> None:
    old_run(root, "old", 365.0)
    keeping(root, "keep-runs-days = 30")
    (root / "main.worker").write_text("---\nnonsense: [\n---\n")
    assert llmdo("runs", "prune", cwd=root).out == "old\n"


KILLED = """
import os, signal, sys
folder, steps = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
left = [steps]

def count(event, arguments):
    if event in ("open", "os.remove", "os.rename", "os.rmdir", "os.link", "os.mkdir", "sqlite3.connect"):
        if any(folder in os.fsdecode(each) for each in arguments if isinstance(each, str | bytes | os.PathLike)):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

from llmdo.__main__ import main
sys.addaudithook(count)
raise SystemExit(main())
"""
"""A command that is killed before the step of that number at which it opens, removes or renames something in a folder."""


def killed_at_each_step(
    template: Path, folder: str, words: tuple[str, ...], after: Callable[[Path], None]
) -> None:
    """Copies of the workspace in which the command was killed, a step later each time, and what holds of each."""
    for steps in range(1_000):
        root = template.with_name("copy")
        shutil.copytree(template, root, symlinks=True)
        process = forking.run(
            [sys.executable, "-c", KILLED, f"{root}/{folder}", str(steps), *words],
            cwd=root,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
        after(root)
        shutil.rmtree(root)
        if process.returncode != -signal.SIGKILL:
            assert (process.returncode, steps > 5) == (0, True)
            return
    pytest.fail("the command never came to its end")


def left_in(root: Path, folder: str) -> list[str]:
    """The files that are left, without those of all runs."""
    return sorted({path.name for path in (root / folder).iterdir()} - {"sources", "order", "conversations"})


@pytest.mark.long
@pytest.mark.timeout(300)
def test_who_is_killed_as_runs_are_removed_leaves_nothing(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "hello")
    assert llmdo(*START, cwd=root).code == 0
    run = runs_of(root).find("last")
    (root / f".llmdo/runs/{run}.sources").mkdir()
    (root / f".llmdo/runs/{run}.sources/a.py").touch()

    def after(copy: Path) -> None:
        assert llmdo("runs", "prune", "--keep", "0", cwd=copy).code == 0
        assert left_in(copy, ".llmdo/runs") == []

    killed_at_each_step(root, ".llmdo/runs", ("runs", "prune", "--keep", "0"), after)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_who_is_killed_as_batches_are_removed_leaves_nothing(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a")
    assert llmdo(*START, cwd=root).code == 0
    (batch,) = batches_of(root).names()
    (root / f".llmdo/batches/{batch}.files/x").mkdir(parents=True)
    (root / f".llmdo/batches/{batch}.files/x/a.txt").touch()

    def after(copy: Path) -> None:
        assert llmdo("batch", "prune", "--keep", "0", cwd=copy).code == 0
        assert left_in(copy, ".llmdo/batches") == []

    killed_at_each_step(root, ".llmdo/batches", ("batch", "prune", "--keep", "0"), after)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_who_is_killed_as_a_run_is_made_leaves_nothing_that_is_not_removed(llmdo: Llmdo, root: Path) -> None:
    def after(copy: Path) -> None:
        if not (copy / ".llmdo/runs").exists():
            return
        assert llmdo("runs", "prune", "--keep", "9", cwd=copy).code == 0
        names = runs_of(copy).names()
        assert not [name for name in left_in(copy, ".llmdo/runs") if name.endswith((".lock", ".new"))]
        assert not names or llmdo("runs", "prune", *names, cwd=copy).code == 0
        assert left_in(copy, ".llmdo/runs") == []
        assert effects(copy) in ([], ["a"])

    killed_at_each_step(root, ".llmdo", ("run", "main", "effect a"), after)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_who_is_killed_as_a_batch_is_put_in_leaves_nothing_a_day_later(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "hello")

    def after(copy: Path) -> None:
        folder = copy / ".llmdo/batches"
        for path in folder.iterdir() if folder.exists() else ():
            os.utime(path, (0, 0))
        for batch in batches_of(copy).names():
            assert llmdo("batch", "cancel", batch, cwd=copy).code in (0, 1)
        if folder.exists():
            assert llmdo("batch", "prune", "--keep", "0", cwd=copy).code == 0
            assert not [name for name in left_in(copy, ".llmdo/batches") if ".new" in name]

    killed_at_each_step(root, ".llmdo/batches", START, after)


def test_files_of_an_import_are_left_for_a_day(llmdo: Llmdo, root: Path) -> None:
    old_run(root, "over", 0.0)
    part = root / ".llmdo/runs/other.part"
    part.touch()
    assert llmdo("runs", "prune", "--keep", "0", cwd=root).out == "over\n"
    assert part.exists(), "somebody may be importing it"
    os.utime(part, (0, 0))
    assert llmdo("runs", "prune", "--keep", "0", cwd=root).code == 0
    assert not part.exists()


def test_a_run_at_work_keeps_its_lock(llmdo: Llmdo, root: Path) -> None:
    old_run(root, "stays", 0.0)
    runs = runs_of(root)
    with runs.claim("stays"), runs.claim("new"):
        assert llmdo("runs", "prune", "--keep", "9", cwd=root).code == 0
        assert (runs.is_claimed("stays"), runs.is_claimed("new")) == (True, True)
        assert left_in(root, ".llmdo/runs")[:1] == ["new.lock"]


@pytest.mark.fleet
def test_what_is_left_on_this_machine_of_runs_of_a_database_is_removed(
    llmdo: Llmdo, root: Path, cluster: postgres.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    address = cluster.new_database()
    migrate(address)
    monkeypatch.setenv("LLMDO_STORE", address)
    for run in ("lost", "stays", "over"):
        old_run(root, run, 1.0)
    runs = runs_of(root)
    for run in ("lost", "stays", "over"):
        runs.sources(run).mkdir()
        (runs.sources(run) / "a.py").touch()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DELETE FROM llmdo.run WHERE run = 'lost'")
        connection.execute("INSERT INTO llmdo.removed VALUES ('lost', clock_timestamp())")
    assert llmdo("runs", "prune", "over", cwd=root).out == "over\n"
    assert sorted(path.name for path in runs.folder.glob("*.sources")) == ["stays.sources"]
    with runs.claim("stays"):
        refused = llmdo("runs", "prune", "stays", cwd=root)
    assert (refused.code, "another process has run `stays`" in refused.err) == (2, True), refused
    assert llmdo("runs", "prune", "stays", cwd=root).code == 0
    assert not [*runs.folder.glob("*.sources")]
