"""`llmdo batch`: each input once, whatever fails, waits, is interrupted or killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from llmdo.journal import FileBatches as Batches
from llmdo.journal import Runs
from tests.cli.conftest import Llmdo
from tests.support import forking
from tests.support.waiting import waited_for

from .conftest import effects, inputs, rows

COMMAND = [sys.executable, "-m", "llmdo", "batch"]
START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


def standing(llmdo: Llmdo, root: Path) -> dict[str, str]:
    """The state of each item by its key."""
    shown = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=root).out)
    assert shown["schema"] == "llmdo.batch/1"
    return {row["key"]: row["state"] for row in shown["rows"]}


def test_every_input_has_a_run_and_a_row(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "hello", {"x": 1})
    done = llmdo(*START, cwd=root)
    assert done.code == 0, done.err
    assert [(row["key"], row["state"], row["output"]) for row in rows(root)] == [
        ("1", "completed", "did a"),
        ("2", "completed", "echo hello"),
        ("3", "completed", 'echo {"x": 1}'),
    ]
    assert effects(root) == ["a"]
    assert {row["run"] for row in rows(root)} == set(Runs(root).names())
    assert "3 completed; 4 requests" in done.err
    again = llmdo("batch", "resume", "last", cwd=root)
    assert (again.code, effects(root), len(rows(root))) == (0, ["a"], 3)


def test_keys_that_are_there_twice_start_nothing(llmdo: Llmdo, root: Path) -> None:
    inputs(root, {"id": "x"}, {"id": "y"}, {"id": "x"})
    done = llmdo(*START, "--key", "id", cwd=root)
    assert done.code == 2
    assert "two items have the same key: `x` at in.jsonl:1 and in.jsonl:3" in done.err
    assert (Batches(root).names(), Runs(root).names()) == ([], [])
    assert not list(Batches(root).folder.iterdir())


def test_what_failed_is_tried_again_where_it_stopped(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "wrong", "fine")
    done = llmdo(*START, cwd=root)
    assert done.code == 1
    assert standing(llmdo, root) == {"1": "failed", "2": "completed"}
    assert "this input is wrong" in str(rows(root)[0]["error"])
    assert llmdo("batch", "resume", "last", cwd=root).code == 1  # what failed is left alone
    assert [row["tries"] for row in rows(root)] == [1, 1]
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    assert standing(llmdo, root) == {"1": "completed", "2": "completed"}
    assert [(row["key"], row["state"]) for row in rows(root)] == [
        ("1", "failed"),
        ("1", "completed"),
        ("2", "completed"),
    ]


def test_questions_wait_and_the_batch_goes_on_with_their_answers(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a", "effect b", "careful c")
    done = llmdo(*START, cwd=root)
    assert done.code == 3
    assert standing(llmdo, root) == {"1": "waiting", "2": "completed", "3": "waiting"}
    assert "2 items wait for answers" in done.err
    assert effects(root) == ["b"]
    run = next(item.run for item in Batches(root).open(Batches(root).find("last")).items("waiting"))
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 3
    assert standing(llmdo, root) == {"1": "completed", "2": "completed", "3": "waiting"}
    assert effects(root) == ["a", "b"]
    assert [item.tries for item in Batches(root).open(Batches(root).find("last")).items()] == [2, 1, 1]


def test_an_approval_answers_every_item(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a", "careful b")
    assert llmdo(*START, "--approve", "x.effects.careful", cwd=root).code == 0
    assert effects(root) == ["a", "b"]


def test_nobody_is_asked_while_a_batch_runs(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a")
    done = llmdo(*START, "--approvals", "prompt", cwd=root)
    assert (done.code, effects(root)) == (2, [])
    assert "a batch asks nobody while it runs" in done.err
    rejected = llmdo(*START, "--reject-all", cwd=root)
    assert (rejected.code, effects(root)) == (0, [])


@pytest.mark.long
def test_a_quota_pauses_the_batch_and_burns_no_item(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "one", "broke", "three", "four")
    done = llmdo(*START, "--jobs", "1", cwd=root)
    assert done.code == 1
    assert "is out of quota (status 402): no money left, so nothing more is begun" in done.err
    assert standing(llmdo, root) == {"1": "completed", "2": "queued", "3": "queued", "4": "queued"}
    (root / "paid").touch()
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert [row["state"] for row in rows(root)] == ["completed"] * 4


def test_bounds_end_a_batch_early(llmdo: Llmdo, root: Path) -> None:
    inputs(root, *["wrong"] * 3, *["fine"] * 3)
    done = llmdo(*START, "--jobs", "1", "--max-failures", "2", cwd=root)
    assert "2 items failed, as many as `--max-failures` says" in done.err
    assert sorted(standing(llmdo, root).values()) == ["failed"] * 2 + ["queued"] * 4
    done = llmdo("batch", "resume", "last", "--jobs", "1", "--limit", "2", cwd=root)
    assert "2 items were begun, as `--limit` says" in done.err
    assert sorted(standing(llmdo, root).values()) == ["completed", *["failed"] * 3, *["queued"] * 2]
    done = llmdo("batch", "resume", "last", "--budget-usd", "1", "--jobs", "1", cwd=root)
    assert sorted(standing(llmdo, root).values()) == ["completed"] * 3 + ["failed"] * 3  # scripted: no cost
    for odd in ("nan", "0", "-1", "inf", "x"):
        assert llmdo("batch", "resume", "last", "--budget-usd", odd, cwd=root).code == 2


def test_another_lock_is_refused_until_it_is_accepted(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b")
    assert llmdo(*START, "--limit", "1", cwd=root).code == 1
    worker = root / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Go on."))
    assert llmdo("lock", cwd=root).code == 0
    done = llmdo("batch", "resume", "last", cwd=root)
    assert done.code == 2
    assert "what would run is not what the batch was put in with" in done.err
    assert effects(root) == ["a"]
    assert llmdo("batch", "resume", "last", "--rebind", cwd=root).code == 0
    assert effects(root) == ["a", "b"]


@pytest.mark.long
def test_a_run_that_stopped_under_another_lock_is_refused(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "careful a")
    assert llmdo(*START, cwd=root).code == 3
    worker = root / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Go on."))
    assert llmdo("lock", cwd=root).code == 0
    run = Runs(root).names()[0]
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert standing(llmdo, root) == {"1": "refused"}
    assert effects(root) == []


def test_what_has_not_begun_can_be_cancelled(llmdo: Llmdo, root: Path) -> None:
    inputs(root, *["effect a"] * 3)
    llmdo(*START, "--limit", "1", cwd=root)
    assert llmdo("batch", "cancel", "last", cwd=root).code == 0
    assert standing(llmdo, root) == {"1": "completed", "2": "cancelled", "3": "cancelled"}
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a"]


def test_files_are_handed_over_as_they_were_when_they_were_put_in(llmdo: Llmdo, root: Path) -> None:
    worker = root / "main.worker"
    worker.write_text("---\nname: main\nattachments: { max: 1 }\n---\nGo.\n")
    (root / "in").mkdir()
    for name in ("a.yaml", "b.yaml"):
        (root / "in" / name).write_text(f"name: {name}")
    outside = root.parent / "c.yaml"
    outside.write_text("name: outside")
    assert llmdo("lock", cwd=root).code == 0
    words = ("batch", "main", "--inputs", "in/*.yaml", "--input", "Read {name}.", "--out", "out.jsonl")
    assert llmdo(*words, "--jobs", "1", "--limit", "1", cwd=root).code == 1
    (root / "in" / "b.yaml").write_text("name: changed")
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert [row["output"] for row in rows(root)] == [
        f"echo Read {name}. File `in/{name}`:\nname: {name}" for name in ("a.yaml", "b.yaml")
    ]
    words = ("batch", "main", "--inputs", "../c.yaml", "--out", "c.jsonl")
    assert "the entry needs an input beside its file" in llmdo(*words, cwd=root).err
    assert llmdo(*words, "--input", "Read.", cwd=root).code == 0
    assert str(rows(root, "c.jsonl")[0]["output"]).endswith("name: outside")


@pytest.mark.long
def test_files_are_named_and_judged_as_seen_from_the_root_of_tools(llmdo: Llmdo, root: Path) -> None:
    (root / "main.worker").write_text("---\nname: main\nattachments: { max: 1 }\n---\nGo.\n")
    manifest = (root / "llmdo.toml").read_text().replace('name = "w"\n', 'name = "w"\nroot = "../site"\n')
    (root / "llmdo.toml").write_text(f'{manifest}may = ["fs.read:in/**"]\n')
    for folder in (root / "in", root.parent / "site/in"):
        folder.mkdir(parents=True)
        (folder / "a.yaml").write_text(f"of {folder.parent.name}")
    assert llmdo("lock", cwd=root).code == 0
    words = ("batch", "main", "--input", "Read.", "--out", "out.jsonl", "--inputs")
    assert llmdo(*words, "../site/in/a.yaml", cwd=root).code == 0
    assert llmdo(*words, "in/a.yaml", cwd=root).code == 1  # outside of the root, which the ceiling is about
    assert [row["output"] for row in rows(root)] == ["echo Read. File `in/a.yaml`:\nof site", None]
    (root.parent / "site").rename(root.parent / "gone")
    assert "`../site` is not here" in llmdo(*words, "../gone/in/a.yaml", cwd=root).err


def test_an_input_that_holds_a_secret_is_not_kept(
    llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "correct-horse-battery")
    inputs(root, "fine", "say correct-horse-battery")
    done = llmdo(*START, cwd=root)
    assert done.code == 2
    assert "in.jsonl:2: the input holds the value of `ACME_API_KEY`" in done.err
    assert Batches(root).names() == []


def test_a_row_that_was_cut_short_is_written_anew(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "one", "two")
    assert llmdo(*START, cwd=root).code == 0
    whole = (root / "out.jsonl").read_bytes()
    (root / "out.jsonl").write_bytes(whole[:-20])
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert [row["state"] for row in rows(root)] == ["completed"] * 2
    (root / "out.jsonl").write_text("no rows\n")
    done = llmdo("batch", "resume", "last", cwd=root)
    assert done.code == 2
    assert "it does not hold rows of a batch" in done.err


def begun(root: Path, *words: str, more: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A batch as a process, once all its items but `more` of them are within their effects."""
    (root / "hold").touch()
    expected = len((root / "in.jsonl").read_text().splitlines())
    with (root / "in.jsonl").open("a") as file:
        file.writelines(f"{json.dumps(text)}\n" for text in more)
    process = forking.Popen([*COMMAND, *words], cwd=root, stdout=-3, stderr=-1)
    assert waited_for(lambda: len(effects(root)) == expected)
    return process


def test_what_was_killed_within_an_effect_is_for_a_person_to_say(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b")
    process = begun(root, *START[1:])
    process.kill()
    process.communicate()
    (root / "hold").unlink()
    assert standing(llmdo, root) == {"1": "running", "2": "running"}
    done = llmdo("batch", "resume", "last", cwd=root)
    assert done.code == 1
    assert standing(llmdo, root) == {"1": "unsure", "2": "unsure"}
    assert "may have taken effect" in done.err
    assert effects(root) == ["a", "b"]
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=root).code == 0
    assert effects(root) == ["a", "b"]
    assert standing(llmdo, root) == {"1": "completed", "2": "completed"}


def test_a_journal_in_which_nothing_began_does_not_stand_in_the_way(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b")
    llmdo(*START, "--limit", "1", cwd=root)
    with Batches(root).open(Batches(root).find("last")) as store:
        (item,) = store.items("queued")
    Runs(root).create(item.run).close()  # as whoever was killed right after that leaves it
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a", "b"]


@pytest.mark.long
def test_nothing_is_lost_or_done_twice_however_often_a_batch_is_killed(llmdo: Llmdo, root: Path) -> None:
    inputs(root, *(f"effect {number}" for number in range(40)))
    words, chance = list(START[1:]), random.Random(7)
    for _ in range(12):
        process = forking.Popen([*COMMAND, *words, "--jobs", "4"], cwd=root, stdout=-3, stderr=-3)
        try:
            process.wait(chance.uniform(0.2, 1.2))
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
        if Batches(root).names():
            words = ["resume", "last"]
    llmdo("batch", "resume", "last", cwd=root)
    unsure = {key for key, state in standing(llmdo, root).items() if state == "unsure"}
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=root).code == 0
    assert set(standing(llmdo, root).values()) == {"completed"}
    happened = effects(root)
    assert len(happened) == len(set(happened))
    assert {str(number) for number in range(40)} - set(happened) <= {str(int(key) - 1) for key in unsure}


@pytest.mark.long
def test_what_is_unsure_runs_again_where_a_person_says_so(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a")
    process = begun(root, *START[1:])
    process.kill()
    process.communicate()
    (root / "hold").unlink()
    llmdo("batch", "resume", "last", cwd=root)
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=root).code == 0
    assert effects(root) == ["a", "a"]


@pytest.mark.long
def test_the_first_ctrl_c_begins_nothing_more_and_finishes_what_has_begun(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "effect a", "effect b")
    process = begun(root, *START[1:], "--jobs", "2", more=["effect c"])
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    for line in process.stderr:
        if b"Ctrl-C again" in line:
            break
    (root / "hold").unlink()
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert standing(llmdo, root) == {"1": "completed", "2": "completed", "3": "queued"}
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a", "b", "c"]


@pytest.mark.long
def test_the_second_ctrl_c_ends_the_batch_at_once_and_calls_that_did_not_finish_are_unsure(
    llmdo: Llmdo, root: Path
) -> None:
    inputs(root, "effect a", "effect b")
    process = begun(root, *START[1:], "--jobs", "2", more=["effect c"])
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    for line in process.stderr:
        if b"Ctrl-C again" in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert standing(llmdo, root) == {"1": "running", "2": "running", "3": "queued"}
    (root / "hold").unlink()
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert standing(llmdo, root) == {"1": "unsure", "2": "unsure", "3": "completed"}
    assert effects(root) == ["a", "b", "c"]


@pytest.mark.long
def test_two_processes_share_a_batch(llmdo: Llmdo, root: Path) -> None:
    inputs(root, *(f"effect {number}" for number in range(20)))
    llmdo(*START, "--limit", "1", cwd=root)
    words = [*COMMAND, "resume", "last", "--jobs", "2"]
    processes = [forking.Popen(words, cwd=root, stdout=-3, stderr=-1) for _ in range(2)]
    errors = [process.communicate()[1] for process in processes]
    assert all(process.returncode in (0, 1) for process in processes), errors
    ended = llmdo("batch", "resume", "last", cwd=root)
    assert ended.code == 0, llmdo("batch", "show", "last", "--state", "failed", cwd=root).out
    assert effects(root) == sorted(map(str, range(20)))
    assert len({row["key"] for row in rows(root)}) == 20


@pytest.mark.long
def test_a_batch_has_several_processes_where_it_is_asked_to(llmdo: Llmdo, root: Path) -> None:
    inputs(root, *(f"careful {number}" for number in range(12)))
    words = [*COMMAND, *START[1:], "--processes", "3", "--jobs", "2", "--approve", "x.effects.careful"]
    done = forking.run(words, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert effects(root) == sorted(map(str, range(12)))
    assert set(standing(llmdo, root).values()) == {"completed"}
    refused = llmdo("batch", "resume", "last", "--processes", "2", "--limit", "1", cwd=root)
    assert "`--limit` counts the items of one process" in refused.err


@pytest.mark.long
def test_the_other_processes_of_a_batch_import_nothing_of_the_workspace_by_themselves(root: Path) -> None:
    inputs(root, "careful 1", "careful 2")
    theirs = root / "llmdo" / "__main__.py"
    theirs.parent.mkdir()
    (theirs.parent / "__init__.py").touch()
    theirs.write_text(f"open({str(root / 'imported')!r}, 'w').close()\n", encoding="utf-8")
    words = [*COMMAND, *START[1:], "--processes", "2", "--approve", "x.effects.careful"]
    done = forking.run(words, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ended early" not in done.stderr
    assert not (root / "imported").exists()
