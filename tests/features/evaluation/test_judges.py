"""Judges: workers of the workspace with models of their own, asked about each output, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import judgements, trials, write
from tests.support.locks import locked

JUDGE = """\
---
name: grader
description: Judges.
entry: true
model: python:judge.py:strict
---
You judge.
"""

MODEL = """\
import json
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent


async def answer(messages, info):
    text = messages[0].parts[-1].content
    with HERE.joinpath("asked.log").open("a") as log:
        log.write(json.dumps(text) + "\\n")
    material = json.loads(text[text.index("{"):text.rindex("}\\n\\nAnswer") + 1])
    output = material["output"]
    if output == "odd":
        return ModelResponse(parts=[TextPart("PASS, I think")])
    if output == "scored":
        return ModelResponse(parts=[TextPart('{"score": 0.25}')])
    verdict = {"pass": output == material.get("expected"), "reason": f"it is {output}"}
    if output == "both":
        verdict["score"] = 0.5
    return ModelResponse(parts=[TextPart(f"```json\\n{json.dumps(verdict)}\\n```")])


strict = FunctionModel(answer, model_name="strict")
"""


@pytest.fixture
def judging(root: Path) -> Path:
    (root / "grader.worker").write_text(JUDGE, encoding="utf-8")
    (root / "judge.py").write_text(MODEL, encoding="utf-8")
    return locked(root)


@pytest.mark.long
def test_a_judge_with_its_own_model_gives_a_verdict_a_score_or_none(llmdo: Llmdo, judging: Path) -> None:
    outputs = ["right", "wrong", "odd", "scored", "both"]
    cases = [{"name": each, "input": f"say {each}", "expected": "right"} for each in outputs]
    cases[-1]["expected"] = "both"
    write(judging, cases, evaluators={"judge": {"grader": "Is it right?"}})
    done = llmdo("eval", "--model", "python:models.py:rules", "--format", "json", cwd=judging)
    assert done.code == 0, done.err
    label = "grader: Is it right?"
    says = {case: judgements(trial) for case, trial in trials(done.out).items()}
    assert says["right"][label] == (True, "it is right")
    assert says["wrong"][label] == (False, "it is wrong")
    assert says["odd"][label] == (None, 'it gave no verdict but "PASS, I think"')
    assert says["scored"][label] == (0.25, None)
    assert (says["both"][label], says["both"][f"{label} (score)"]) == ((True, "it is both"), (0.5, None))
    asked = [json.loads(line) for line in (judging / "asked.log").read_text().splitlines()]
    assert len(asked) == 5
    assert all("Is it right?" in text for text in asked)
    run = trials(done.out)["right"]["judgements"][1]["run"]
    assert "entry grader" in llmdo("runs", "show", run, cwd=judging).out


@pytest.mark.long
def test_a_judge_is_asked_about_each_repeat_and_variant_and_never_again(llmdo: Llmdo, judging: Path) -> None:
    case = {
        "name": "a",
        "input": "say right",
        "expected": "right",
        "evaluators": {"judge": {"grader": ["One?", "Two?"]}},
    }
    write(judging, [case], evaluators={"contains": ""})
    models = ["--model", "python:models.py:rules", "--model", "python:models.py:loud"]
    done = llmdo("eval", *models, "--repeat", "2", "--format", "json", cwd=judging)
    assert [variant["passed"] for variant in json.loads(done.out)["variants"]] == [1.0, 0.0]
    assert len((judging / "asked.log").read_text().splitlines()) == 8
    again = llmdo("eval", "resume", "last", "--format", "json", cwd=judging)
    assert again.out == done.out
    assert len((judging / "asked.log").read_text().splitlines()) == 8


def test_a_judge_skips_a_run_that_waits_and_fails_one_without_an_output(llmdo: Llmdo, judging: Path) -> None:
    case = {
        "name": "a",
        "input": "call refund\nsay x",
        "evaluators": {"judge": {"grader": "Good?"}, "ends": "waiting"},
    }
    unexpected = {**case, "name": "b", "evaluators": {"judge": {"grader": "Good?"}}}
    failing = {
        **case,
        "name": "c",
        "input": "call nothing\n" * 9,
        "evaluators": {"judge": {"grader": "Good?"}},
    }
    write(judging, [case, unexpected, failing])
    done = llmdo("eval", "--format", "json", cwd=judging)
    assert done.code == 0, done.err
    assert judgements(trials(done.out)["a"]) == {
        "ends waiting": (True, None),
        "grader: Good?": ("not asked", "the run waits for an answer"),
    }
    assert trials(done.out)["a"]["passed"] is True
    assert trials(done.out)["b"]["passed"] is False, "`ends` says that it must not wait"
    assert trials(done.out)["c"]["state"] == "failed"
    assert judgements(trials(done.out)["c"])["grader: Good?"] == (False, "there is no output")
    assert not (judging / "asked.log").exists()
