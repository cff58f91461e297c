"""Cases run through `batch`: with every variant, so often, whatever is killed, and each once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llmdo.features.evaluation.document import Evaluations
from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import trials, write
from tests.support import forking
from tests.support.examples import copied
from tests.support.locks import locked
from tests.support.waiting import waited_for


def comparable(document: str) -> Any:
    """What an evaluation says, without what differs each time."""
    data = json.loads(document)
    for key in ("id", "began"):
        del data[key]
    for case in data["cases"]:
        del case["runs"]
    for variant in data["variants"]:
        del variant["batch"], variant["seconds"]
        for trial in variant["trials"]:
            del trial["run"], trial["seconds"]
    return data


@pytest.mark.long
def test_the_twelve_decks_of_the_example_pass_and_do_so_again(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    first, second = (llmdo("eval", "decks", "--format", "json", cwd=root) for _ in range(2))
    assert (first.code, second.code) == (0, 0), first.err
    assert comparable(first.out) == comparable(second.out)
    data = json.loads(first.out)
    assert len(data["cases"]) == 12
    assert [case["passed"] for case in data["cases"]] == [{"workspace": 1.0}] * 12
    run = data["cases"][0]["runs"]["workspace"][0]
    assert "pitch_evaluator" in llmdo("runs", "show", run, cwd=root).out


@pytest.mark.long
def test_every_model_runs_every_case_so_often(llmdo: Llmdo, root: Path) -> None:
    write(root, [{"name": n, "input": f"say {n}"} for n in ("a", "b")], evaluators={"regex": "^[ab]$"})
    models = ["--model", "python:models.py:rules", "--model", "main=python:models.py:loud"]
    done = llmdo("eval", *models, "--repeat", "2", "--format", "json", cwd=root)
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert [variant["label"] for variant in data["variants"]] == models[1::2]
    assert [[(t["case"], t["number"], t["passed"]) for t in v["trials"]] for v in data["variants"]] == [
        [("a", 1, True), ("b", 1, True), ("a", 2, True), ("b", 2, True)],
        [("a", 1, False), ("b", 1, False), ("a", 2, False), ("b", 2, False)],
    ]
    assert [case["differs"] for case in data["cases"]] == [[models[3]], [models[3]]]
    assert len({t["run"] for v in data["variants"] for t in v["trials"]}) == 8
    text = llmdo("eval", "show", "last", cwd=root).out
    assert [line.split() for line in text.splitlines()[3:5]] == [
        ["a", "2/2", "0/2", "say", "a"], ["b", "2/2", "0/2", "say", "b"]
    ]  # fmt: skip
    assert 'main=python:models.py:loud: a failed 2 of 2 times: regex ^[ab]$: not in "A" (2 times)' in text


@pytest.mark.long
def test_a_killed_evaluation_goes_on_and_no_case_is_done_twice(llmdo: Llmdo, root: Path) -> None:
    names = [f"c{number}" for number in range(4)]
    write(
        root,
        [{"name": n, "input": f'call look {{"item": "{n}"}}\nsay {n}'} for n in names],
        evaluators={"regex": "c"},
    )
    words = [
        sys.executable,
        "-m",
        "llmdo",
        "eval",
        "--repeat",
        "2",
        "--jobs",
        "1",
        "--model",
        "python:models.py:rules",
    ]
    words += ["--model", "python:models.py:loud"]
    log = root / "effects.log"
    process = forking.Popen(
        words, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert waited_for(lambda: log.exists() and len(log.read_text().splitlines()) >= 3)
    process.kill()
    process.wait()
    (name,) = Evaluations(root).names()
    assert not any(
        trial.is_judged for variant in Evaluations(root).read(name).variants for trial in variant.trials
    )
    done = llmdo("eval", "resume", "last", "--format", "json", cwd=root)
    data = json.loads(done.out)
    unsure = [t for v in data["variants"] for t in v["trials"] if t["state"] == "unsure"]
    lines = log.read_text().splitlines()
    assert len(unsure) <= 1  # killed within its effect, of which only a person can say
    assert sorted(lines) == sorted(f"look {n}" for n in names * 4)
    assert (done.code, data["finished"]) == ((1, False) if unsure else (0, True))
    again = llmdo("eval", "resume", name, "--format", "json", cwd=root)
    assert again.out == done.out
    assert log.read_text().splitlines() == lines


def test_an_eval_that_has_changed_does_not_go_on(llmdo: Llmdo, root: Path) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    assert llmdo("eval", cwd=root).code == 0
    write(root, [{"name": "a", "input": "say b"}], evaluators={"contains": "a"})
    done = llmdo("eval", "resume", "last", cwd=root)
    assert (done.code, "is not what it was when the evaluation began" in done.err) == (2, True)


def test_a_wrong_model_is_refused_before_any_case_is_run(llmdo: Llmdo, root: Path) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    models = ["--model", "python:models.py:rules", "--model", "nobody=x:y"]
    done = llmdo("eval", *models, cwd=root)
    assert (done.code, "`nobody`, which is not a worker" in done.err) == (2, True)
    assert "is given twice" in llmdo("eval", *models[:2] * 2, cwd=root).err
    assert not (root / ".llmdo/batches").exists()


def test_a_function_that_cannot_be_loaded_is_named_before_any_case_is_run(llmdo: Llmdo, root: Path) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"function": "evals/own.py:jugde"})
    (root / "evals/own.py").write_text("NUMBER = 1\ndef judge(ctx): return True\n", encoding="utf-8")
    locked(root)
    done = llmdo("eval", cwd=root)
    assert (done.code, "did you mean `judge`?" in done.err) == (2, True)
    write(root, [{"name": "a", "input": "say a"}], evaluators={"function": "evals/own.py:NUMBER"})
    assert "`evals/own.py:NUMBER` is not a function" in llmdo("eval", cwd=root).err
    assert not (root / ".llmdo/batches").exists()


@pytest.mark.long
def test_attachments_of_a_case_reach_the_entry(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    done = llmdo("eval", "--format", "json", cwd=root)
    assert "Fewer empty chairs" not in trials(done.out)["empty"]["output"]
    assert "`input/brightwell.md`" in trials(done.out)["brightwell"]["output"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "llmdo.evaluation/2"}', '{"schema": "llmdo.evaluation/1"}']
)
def test_a_damaged_evaluation_is_an_error(llmdo: Llmdo, root: Path, text: str) -> None:
    folder = root / ".llmdo/evals"
    folder.mkdir(parents=True)
    (folder / "20260101T000000000-00000000.json").write_text(text, encoding="utf-8")
    done = llmdo("eval", "show", "last", cwd=root)
    assert (done.code, "Traceback" in done.err) == (2, False)


def test_where_trust_is_required_no_function_is_imported_that_nobody_answered_for(
    llmdo: Llmdo, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"function": "evals/own.py:f"})
    (root / "evals/own.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef f(ctx): return True\n",
        encoding="utf-8",
    )
    locked(root)
    policy = tmp_path / "config/llmdo/policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\ntrust = "required"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("LLMDO_TRUST", raising=False)
    done = llmdo("eval", cwd=root)
    assert (done.code, "requires that" in done.err) == (2, True), done.err
    assert not (root / "evals/ran").exists()


def test_a_key_that_one_model_lacks_is_named_before_the_first_request_to_any(
    llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    models = [
        "--model",
        "python:models.py:rules",
        "--model",
        "openai:gpt-5",
        "--model",
        "main=google:gemini-3",
    ]
    for number in (4, 6):
        done = llmdo("eval", *models[:number], cwd=root)
        assert done.code == 2
        assert "needs the environment variable `OPENAI_API_KEY`, which is not set" in done.err
        assert not (root / ".llmdo/batches").exists()
        assert not (root / ".llmdo/runs").exists()
    batch = llmdo("batch", "main", "--model", "openai:gpt-5", "--inputs", "-", cwd=root)
    assert (batch.code, "`OPENAI_API_KEY`" in batch.err) == (2, True)
    assert not (root / ".llmdo/batches").exists()


def test_a_model_that_a_worker_does_not_work_with_is_named_before_the_first_request_to_any(
    llmdo: Llmdo, root: Path
) -> None:
    main = (root / "main.worker").read_text(encoding="utf-8")
    fits = "compatible_models: ['python:models.py:rules']"
    (root / "main.worker").write_text(main.replace("toolsets:", f"{fits}\ntoolsets:"), encoding="utf-8")
    locked(root)
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    models = ["--model", "python:models.py:rules", "--model", "python:models.py:loud"]
    for words in (("eval", *models), ("batch", "main", *models[2:], "--inputs", "-")):
        done = llmdo(*words, cwd=root)
        assert (done.code, "`main` does not work with `python:models.py:loud`" in done.err) == (2, True)
        assert not (root / ".llmdo/batches").exists()
        assert not (root / ".llmdo/runs").exists()


@pytest.mark.long
def test_cases_are_chosen_by_pattern_and_no_other_is_run_by_resume(llmdo: Llmdo, root: Path) -> None:
    cases = [{"name": name, "input": f"say {name}"} for name in ("refund 1", "refund 2", "invoice", "order")]
    write(root, cases, evaluators={"contains": ""})
    whole = llmdo("eval", "--format", "json", cwd=root)
    (root / "whole.json").write_text(whole.out, encoding="utf-8")
    done = llmdo("eval", "--case", "refund*", "--case", "order", "--format", "json", cwd=root)
    assert done.code == 0, done.err
    assert list(trials(done.out)) == ["order", "refund 2", "refund 1"]
    again = llmdo("eval", "resume", "last", "--baseline", "whole.json", "--format", "json", cwd=root)
    data = json.loads(again.out)
    assert [case["name"] for case in data["cases"]] == ["refund 1", "refund 2", "order"]
    assert data["held"]["lacking"] == ["invoice"]
    unknown = llmdo("eval", "--case", "refund*", "--case", "ordre", cwd=root)
    assert (unknown.code, "no case matches `--case ordre`" in unknown.err) == (2, True)
    assert "order" in unknown.err
    assert llmdo("eval", "--case", "order", "--record", cwd=root).code == 2
