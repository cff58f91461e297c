"""The runs of an evaluation say of which case, and of which judge, they are; its reports have their titles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import write
from tests.support.locks import locked

JUDGE = """\
---
name: grader
description: Judges.
entry: true
---
You judge.
"""


def test_a_run_names_its_case_and_a_report_the_title_of_its_runs(llmdo: Llmdo, root: Path) -> None:
    (root / "grader.worker").write_text(JUDGE, encoding="utf-8")
    locked(root)
    case = {"name": "refund", "input": "say it\nand more"}
    write(root, [case], evaluators={"judge": {"grader": "Is it right?"}})
    done = llmdo("eval", "--repeat", "2", "--format", "json", cwd=root)
    evaluation: dict[str, Any] = json.loads(done.out)
    runs = json.loads(llmdo("runs", "list", "--format", "json", cwd=root).out)["runs"]
    items = {run["run"]: run["item"] for run in runs}
    (variant,) = evaluation["variants"]
    for trial in variant["trials"]:
        item = items[trial["run"]]
        assert (item["evaluation"], item["eval"], item["batch"]) == (
            evaluation["id"], evaluation["name"], variant["batch"],
        )  # fmt: skip
        assert (item["case"], item["trial"], item["judge"]) == ("refund", trial["number"], None)
        assert trial["title"] == "say it"
    judging = [run for run in runs if run["entry"] == "grader"]
    assert {run["title"] for run in judging} == {"refund#1: Is it right?", "refund#2: Is it right?"}
    assert {(run["item"]["judge"], run["item"]["case"]) for run in judging} == {("grader", None)}
    text = llmdo("runs", cwd=root).out
    name = evaluation["name"]
    assert f"[{name}/refund#2] say it" in text
    assert f"[{name}/grader] refund#1: Is it right?" in text
    shown = llmdo("runs", "show", variant["trials"][0]["run"], cwd=root).out
    assert f"case refund, run 1, of eval {name}; `llmdo eval show {evaluation['id']}` shows all" in shown
    for form, line in {
        "text": "  say it\n", "markdown": "| refund: say it |", "html": "<small>say it</small>",
        "csv": ",refund,1,say it,",
    }.items():  # fmt: skip
        assert line in llmdo("eval", "show", "last", "--format", form, cwd=root).out


def test_an_evaluation_of_an_earlier_llmdo_has_no_titles(llmdo: Llmdo, root: Path) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    assert llmdo("eval", cwd=root).code == 0
    (kept,) = root.joinpath(".llmdo", "evals").glob("*.json")
    data = json.loads(kept.read_text(encoding="utf-8"))
    del data["variants"][0]["trials"][0]["title"]
    kept.write_text(json.dumps(data), encoding="utf-8")
    shown = llmdo("eval", "show", "last", cwd=root)
    assert (shown.code, "say a" in shown.out) == (0, False)
