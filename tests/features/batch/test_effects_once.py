"""Effects once, also where housekeeping takes a run away that an item of a batch rests on."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from llmdo.journal import Runs
from tests.cli.conftest import Llmdo
from tests.support import forking

from .conftest import effects, inputs

START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


def items(llmdo: Llmdo, root: Path) -> list[dict[str, object]]:
    shown = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=root).out)
    return [dict(row) for row in shown["rows"]]


def states(llmdo: Llmdo, root: Path) -> list[object]:
    return [item["state"] for item in items(llmdo, root)]


def left_at_work(root: Path) -> None:
    """Has all items be as a process leaves them that dies between the end of a run and that of its item."""
    (path,) = root.glob(".llmdo/batches/*.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE item SET state = 'running', requests = 0, tokens = NULL, cost = NULL, result = '{}'"
        )
    connection.close()


def test_prune_leaves_the_runs_that_open_items_rest_on(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b")
    assert llmdo(*START, cwd=root).code == 0
    before = Runs(root).names()
    left_at_work(root)
    pruned = llmdo("runs", "prune", "--keep", "0", cwd=root)
    assert (pruned.code, pruned.out) == (0, "")
    assert "2 runs are kept, on which open items of batches rest" in pruned.err
    assert Runs(root).names() == before
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert (states(llmdo, root), effects(root)) == (["completed"] * 2, ["a", "b"])
    assert sorted(llmdo("runs", "prune", "--keep", "0", cwd=root).out.split()) == sorted(before)


@pytest.mark.parametrize("lost", ["pruned by name", "the folder"])
def test_an_item_whose_run_began_is_never_begun_again_by_itself(llmdo: Llmdo, root: Path, lost: str) -> None:
    inputs(root, "effect a", "effect b")
    assert llmdo(*START, cwd=root).code == 0
    left_at_work(root)
    if lost == "the folder":
        shutil.rmtree(Runs(root).folder)
    else:
        assert llmdo("runs", "prune", *Runs(root).names(), cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert effects(root) == ["a", "b"]
    assert states(llmdo, root) == ["failed"] * 2
    assert "its journal is gone" in str(items(llmdo, root)[0]["error"])
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert (states(llmdo, root), effects(root)) == (["unsure"] * 2, ["a", "b"])


def test_an_unsure_item_that_is_given_up_is_not_begun_again(llmdo: Llmdo, root: Path) -> None:
    tools = (
        (root / "tools.py").read_text().replace('    return f"did {name}"', '    raise ValueError("broken")')
    )
    (root / "tools.py").write_text(tools)
    assert llmdo("lock", cwd=root).code == 0
    inputs(root, "effect a")
    assert llmdo(*START, cwd=root).code == 1
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert states(llmdo, root) == ["unsure"]
    assert llmdo("runs", "prune", "--keep", "0", cwd=root).out == ""
    assert llmdo("runs", "prune", "last", cwd=root).code == 0
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=root).code == 1
    assert (states(llmdo, root), effects(root)) == (["failed"], ["a"])


def test_an_item_that_was_taken_and_never_began_is_begun(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b", "effect c")
    assert llmdo(*START, "--limit", "1", cwd=root).code == 1
    (path,) = root.glob(".llmdo/batches/*.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE item SET state = 'running', tries = 1, begun = number = 3 WHERE number > 1"
        )
        (run,) = connection.execute("SELECT run FROM item WHERE number = 3").fetchone()
    connection.close()
    Runs(root).create(run).close()  # whoever made it was killed before the first entry
    pruned = llmdo("runs", "prune", "--keep", "9", cwd=root)
    assert (pruned.out, "1 run is kept" in pruned.err) == ("", True), pruned
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert (states(llmdo, root), effects(root)) == (["completed"] * 3, ["a", "b", "c"])


def test_an_earlier_state_of_a_run_that_was_imported_does_not_count(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    (run,) = Runs(root).names()
    assert llmdo("runs", "export", run, "earlier.sqlite", cwd=root).code == 0
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a"]
    left_at_work(root)
    assert llmdo("runs", "prune", run, cwd=root).code == 0
    assert llmdo("runs", "import", "earlier.sqlite", cwd=root).code == 0
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert (states(llmdo, root), effects(root)) == (["unsure"], ["a"])
    assert "came from a file" in str(items(llmdo, root)[0]["error"])
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=root).code == 0
    assert effects(root) == ["a", "a"], "a person said so"


FILLING = """
import resource
before = answer


async def answer(messages, info):
    if HERE.joinpath("full").exists():
        (log,) = HERE.glob(".llmdo/runs/*.sqlite-wal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, resource.RLIM_INFINITY))
    return await before(messages, info)
"""


@pytest.mark.parametrize("text", ["effect a", "hello"])
def test_what_a_full_disk_interrupts_goes_on_and_has_not_failed(llmdo: Llmdo, root: Path, text: str) -> None:
    models = (root / "models.py").read_text().replace("\nrules =", f"{FILLING}\n\nrules =")
    (root / "models.py").write_text(models)
    assert llmdo("lock", cwd=root).code == 0
    inputs(root, text, "effect b")
    (root / "full").touch()
    child = forking.Popen(
        [sys.executable, "-m", "llmdo", *START, "--jobs", "1"], cwd=root, stderr=PIPE, text=True
    )
    _, printed = child.communicate()
    assert child.returncode in (1, 2), printed
    assert "disk" in printed or "cannot be used" in printed
    assert "failed 1" not in printed
    assert effects(root) == []
    (root / "full").unlink()
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert states(llmdo, root) == ["completed"] * 2
    assert effects(root) == (["a", "b"] if text == "effect a" else ["b"])


@pytest.mark.parametrize("which", ["the run", "the batch", "the batch, answered"])
def test_what_is_called_off_while_it_waits_has_no_effect(llmdo: Llmdo, root: Path, which: str) -> None:
    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    (run,) = Runs(root).names()
    yes = ("approve", run, "--yes", "main/careful#1")
    if which == "the batch, answered":
        assert llmdo(*yes, cwd=root).code == 0
    if which == "the run":
        assert f"run {run} is called off" in llmdo("runs", "cancel", run, cwd=root).err
        assert "was over before" in llmdo("runs", "cancel", run, cwd=root).err
    else:
        assert llmdo("batch", "cancel", "last", cwd=root).code == 0
        assert states(llmdo, root) == ["cancelled"]
    late = llmdo(*yes, cwd=root)
    assert (late.code, "was called off: nothing in it waits" in late.err) == (2, True), late
    llmdo("batch", "resume", "last", cwd=root)
    resumed = llmdo("resume", run, cwd=root)
    assert (resumed.code, "was called off by" in resumed.err) == (2, True), resumed
    assert (states(llmdo, root), effects(root)) == (["cancelled"], [])
    assert json.loads(llmdo("runs", "show", run, "--format", "json", cwd=root).out)["status"] == "cancelled"
    assert llmdo("audit", run, cwd=root).code == 0
    assert llmdo("runs", "list", "--status", "cancelled", cwd=root).out
    assert llmdo("runs", "prune", "--keep", "0", cwd=root).out == f"{run}\n"


LISTED: list[str] | None = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if LISTED is not None and event in ("os.listdir", "os.scandir"):
        LISTED.append(str(arguments[0]))


def test_prune_looks_into_the_folder_as_often_for_many_runs_as_for_few(llmdo: Llmdo, root: Path) -> None:
    global LISTED
    sys.addaudithook(_hear)
    numbers = []
    for count in (2, 12):
        inputs(root, *(f"hello {number}" for number in range(count)))
        assert llmdo(*START, cwd=root).code == 0
        runs = Runs(root)
        (runs.folder / "killed.new").touch()
        (runs.folder / "killed.1.lock").touch()
        LISTED = []
        assert len(llmdo("runs", "prune", "--keep", "0", cwd=root).out.split()) == count
        numbers.append(LISTED.count(str(runs.folder)))
        LISTED = None
        assert [path.name for path in runs.folder.iterdir() if path.name != "sources"] == []
    assert numbers[0] == numbers[1]


def test_batches_of_which_nothing_is_open_are_removed(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a")
    assert llmdo(*START, cwd=root).code == 0
    inputs(root, "careful b")
    assert llmdo(*START, "--out", "other.jsonl", cwd=root).code == 3
    first, second = llmdo("batch", "list", cwd=root).out.count("completed"), Runs(root).names()
    assert (first, len(second)) == (1, 2)
    old = root / ".llmdo" / "batches" / "x.new"
    old.touch()
    os.utime(old, (0, 0))
    assert llmdo("batch", "prune", "--older-than", "1", "--keep", "0", cwd=root).out == ""
    assert not old.exists()
    refused = llmdo("batch", "prune", "last", cwd=root)
    assert (refused.code, "has 1 open item" in refused.err) == (2, True), refused
    dry = llmdo("batch", "prune", "--keep", "0", "--dry-run", cwd=root)
    assert len(dry.out.split()) == 1
    assert llmdo("batch", "prune", "--keep", "0", cwd=root).out == dry.out
    assert states(llmdo, root) == ["waiting"]
    assert len(list(root.glob(".llmdo/batches/*.sqlite"))) == 1


def test_who_answers_second_hears_who_was_first(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    (run,) = Runs(root).names()
    yes = ("approve", run, "--yes", "main/careful#1", "--by")
    assert llmdo(*yes, "ada", cwd=root).code == 0
    late = llmdo(*yes, "bo", cwd=root)
    assert (late.code, "main/careful#1: ada answered it 0 s before" in late.err) == (2, True), late
    with Runs(root).claim(run):  # somebody goes on with it
        late = llmdo(*yes, "bo", cwd=root)
    assert (late.code, "main/careful#1: ada answered it" in late.err) == (2, True), late
    assert llmdo("resume", run, cwd=root).code == 0
    late = llmdo(*yes, "bo", cwd=root)  # of a fleet, a worker has gone on within a second
    assert (late.code, "main/careful#1: ada answered it" in late.err) == (2, True), late


def test_an_empty_journal_is_not_the_last_run_and_is_named(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "hello")
    assert llmdo(*START, cwd=root).code == 0
    (run,) = Runs(root).names()
    (Runs(root).folder / "zz.sqlite").touch()
    shown = llmdo("runs", "show", "last", cwd=root)
    assert (shown.code, run in shown.out, "`zz` holds no run" in shown.err) == (0, True, True), shown
    assert llmdo("runs", "show", "zz", cwd=root).code == 2
