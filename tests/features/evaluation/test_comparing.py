"""Better or worse: variants with each other, and with a baseline."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.features.evaluation.gate import OpenedEvalGate, held
from llmdo.features.evaluation.outcome import Evaluated, Held, Judgement, Trial, Variant
from llmdo.features.evaluation.regression import LEVEL, GatePlan, cases_needed, power, repeats_needed
from llmdo.features.evaluation.statistics import compare, sign_test
from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import write
from tests.support.examples import EXAMPLES, copied
from tests.support.locks import locked


def variant(label: str, passed: list[list[bool]]) -> Variant:
    """One whose cases passed so, trial by trial."""
    return Variant(
        label=label,
        trials=tuple(
            Trial(
                case=f"c{number}",
                number=time,
                run=f"{number}-{time}",
                state="completed",
                judgements=(Judgement(evaluator="e", value=value),),
            )
            for number, case in enumerate(passed)
            for time, value in enumerate(case, 1)
        ),
    )


def evaluated(*variants: Variant) -> Evaluated:
    """One of these variants."""
    return Evaluated(
        id="e",
        name="e",
        entry="main",
        began=0,
        digest="",
        repeat=variants[0].repeat,
        cases=variants[0].cases,
        variants=variants,
    )


@pytest.mark.parametrize("cases", range(9))
def test_the_sign_test_is_that_of_counting_all_splits(cases: int) -> None:
    for better in range(cases + 1):
        extreme = abs(2 * better - cases)
        splits = list(product((0, 1), repeat=cases))
        counted = sum(abs(2 * sum(split) - cases) >= extreme for split in splits) / len(splits)
        assert sign_test(better, cases - better) == pytest.approx(counted)


def test_a_comparison_says_in_a_sentence_what_is_shown() -> None:
    ups, downs, same = [[False, True]] * 7, [[True, True]] * 2, [[True, False]] * 3
    before = variant("A", [*ups, *downs, *same])
    after = variant("B", [*[[True, True]] * 7, *[[False, True]] * 2, *same])
    compared = compare(before, after)
    assert compared
    assert (compared.better, compared.worse, compared.same) == (7, 2, 3)
    assert compared.mean == pytest.approx(2.5 / 12)
    assert compared.low < compared.mean < compared.high
    assert compared.sentence.startswith(
        "B is better in 7 cases, worse in 2, p = 0.18: not shown (against A, 3 the same;"
    )
    assert compare(before, after) == compared, "what is drawn by chance is the same each time"
    back = compare(after, before)
    assert back
    assert back.sentence.startswith("A is better in 2 cases, worse in 7")
    all_up = compare(variant("A", [[False]] * 6), variant("B", [[True]] * 6))
    assert all_up
    assert all_up.sentence.startswith("B is better in 6 cases, worse in 0, p = 0.031: shown")
    assert compare(before, variant("B", [])) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("up", "same", "mean", "low", "high"),
    [
        (1, 1, 0.5, 0.0, 1.0),  # of two cases that are drawn again, both are the same one every fourth time
        (50, 50, 0.5, 0.4, 0.6),  # 1.96 standard errors of sqrt(0.25 / 100) on each side
        (20, 380, 0.05, 0.03, 0.07),
        (6, 0, 1.0, 1.0, 1.0),
    ],
)
def test_the_bootstrap_is_what_the_textbook_says(
    up: int, same: int, mean: float, low: float, high: float
) -> None:
    number = up + same
    before = variant("A", [[False]] * number)
    compared = compare(before, variant("B", [[True]] * up + [[False]] * same))
    assert compared
    assert (compared.better, compared.worse, compared.same) == (up, 0, same)
    assert compared.mean == pytest.approx(mean)
    assert [compared.low, compared.high] == pytest.approx([low, high], abs=0.011)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (3, 0, 0.25),
        (0, 5, 0.0625),
        (6, 0, 0.03125),
        (7, 2, 92 / 512),
        (9, 1, 22 / 1024),
    ],
)
def test_the_sign_test_by_hand(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == sign_test(worse, better) == p


@pytest.mark.long
def test_a_change_of_the_rules_that_fails_three_decks_is_shown_to_be_worse(
    llmdo: Llmdo, tmp_path: Path
) -> None:
    root = copied("pitchdeck", tmp_path)
    twice = ("eval", "--repeat", "2")
    before = llmdo(*twice, "--format", "json", cwd=root)
    (tmp_path / "baseline.json").write_text(before.out, encoding="utf-8")
    held = llmdo(*twice, "--baseline", "last", cwd=root)
    assert held.code == 0
    assert "is held" in held.out
    scores = root / "pitchdeck_rules/scores.py"
    scores.write_text(
        scores.read_text(encoding="utf-8").replace("GO_POINTS, MOST_FLAGS = 16", "GO_POINTS, MOST_FLAGS = 22")
    )
    missed = llmdo(*twice, "--baseline", str(tmp_path / "baseline.json"), cwd=root)
    assert missed.code == 1
    assert "worse, shown (-25 points passed over 12 cases, p = 0.0046, " in missed.out
    assert "most of it: brightwell, lumengrid, harborloop\n" in missed.out
    assert "is held" not in missed.out
    assert llmdo("eval", "show", "last", cwd=root).code == 1
    data = json.loads(llmdo("eval", "show", "last", "--format", "json", cwd=root).out)
    (regression,) = data["held"]["regressions"]
    assert (regression["worse"], regression["lost"]) == (True, ["brightwell", "lumengrid", "harborloop"])


@pytest.mark.long
def test_a_case_that_failed_once_is_no_regression_and_one_that_is_recorded_is(
    llmdo: Llmdo, root: Path
) -> None:
    cases = [{"name": name, "input": f"say {name}"} for name in "abcdef"]
    write(root, cases, evaluators={"regex": "[a-z]"})
    assert llmdo("eval", "--record", cwd=root).code == 0
    write(root, cases, evaluators={"regex": "[a-e]"})
    live = llmdo("eval", "--baseline", "last", "--format", "json", cwd=root)
    assert live.code == 0, live.out
    (regression,) = json.loads(live.out)["held"]["regressions"]
    assert (regression["loss"], regression["p"]) == (pytest.approx(1 / 6), pytest.approx(0.5))
    assert "not shown to be worse, though a loss of `--by 0.1` is not ruled out" in regression["sentence"]
    *_, first = json.loads(llmdo("eval", "list", "--format", "json", cwd=root).out)["evaluations"]
    recorded = llmdo("eval", "--recorded", "--baseline", first["id"], cwd=root)
    assert recorded.code == 1
    assert "recorded is recorded, so it is held against the baseline" in recorded.err
    assert "is missed by recorded: f\n" in recorded.out


def test_a_recorded_case_is_missed_only_where_most_trials_fail() -> None:
    before, after = ([[True] * 3] * 3, [[True, True, False], [True, False, False], [True] * 3])
    baseline = evaluated(variant("workspace", before))
    gate = OpenedEvalGate(baseline=baseline, compares=True, by=0.1, fail_under=None)
    recorded = replace(variant("recorded", after), recording="evals/e.recorded.json")
    outcome = held(evaluated(recorded), gate)
    assert outcome
    assert [missed.case for missed in outcome.missed] == ["c1"]
    live = held(evaluated(variant("workspace", after)), gate)
    assert live
    assert (live.missed, live.is_missed) == ((), False)


def test_half_of_the_trials_is_neither_passed_nor_failed() -> None:
    before, after = [[True, False], [True, True], [True, True]], [[False] * 2, [True, False], [False] * 2]
    gate = OpenedEvalGate(
        baseline=evaluated(variant("workspace", before)), compares=True, by=0.1, fail_under=None
    )
    outcome = held(evaluated(replace(variant("recorded", after), recording="evals/e.recorded.json")), gate)
    assert outcome
    assert [(missed.case, missed.before, missed.now) for missed in outcome.missed] == [("c2", 1.0, 0.0)]


def gated(now: Evaluated, baseline: Evaluated | None = None, **gate: Any) -> Held | None:
    """The result of a gate that compares nothing, unless it says so."""
    return held(
        now, OpenedEvalGate(**{"compares": False, "by": 0.1, "fail_under": None, **gate}, baseline=baseline)
    )


GOOD, BAD = variant("good", [[True] * 5] * 4), variant("bad", [[False] * 5] * 4)


def test_a_variant_of_which_nothing_was_judged_is_below_every_part() -> None:
    outcome = gated(evaluated(GOOD, BAD, variant("silent", [[]])), fail_under=1.0)
    assert outcome
    assert (outcome.below, outcome.regressions) == (("bad", "silent"), ())
    assert gated(evaluated(BAD)) is None, "nothing is asked for"


def test_several_comparisons_in_one_gate_share_its_false_alarms() -> None:
    outcome = gated(evaluated(GOOD, BAD, GOOD), compares=True)
    assert outcome
    assert [(each.before, each.after, each.is_worse) for each in outcome.regressions] == [
        ("good", "bad", True),
        ("good", "good", False),
    ]
    assert {each.level for each in outcome.regressions} == {LEVEL / 2}


def test_a_variant_is_held_against_that_of_its_name() -> None:
    baseline = evaluated(BAD, GOOD)
    outcome = gated(evaluated(variant("good", [[True] * 5] * 3)), baseline, compares=True)
    assert outcome
    assert [each.loss for each in outcome.regressions] == [0.0]
    assert (outcome.baseline, outcome.lacking, outcome.below) == ("e", ("c3",), ())
    with pytest.raises(LlmdoError, match="the baseline has no variant `other`"):
        gated(evaluated(variant("other", [[True]])), baseline, compares=True)
    with pytest.raises(LlmdoError, match="the baseline is of the eval `e`, and this one is `f`"):
        gated(replace(evaluated(GOOD), name="f"), baseline, compares=True)


@pytest.mark.long
def test_a_gate_says_before_it_starts_what_it_can_show(llmdo: Llmdo, root: Path) -> None:
    cases = [{"name": name, "input": f"say {name}"} for name in "abcdef"]
    write(root, cases, evaluators={"regex": "[a-e]"})
    assert llmdo("eval", "--repeat", "2", cwd=root).code == 0
    done = llmdo("eval", "--baseline", "last", "--repeat", "2", "--by", "0.3", cwd=root)
    line, begun = done.err.index("the gate: workspace against the baseline"), done.err.index("evaluation 2")
    assert line < begun
    said_before = done.err[line : done.err.index("\n", line)]
    plan = GatePlan(cases=6, before_of=2, after_of=2, passed=11 / 14)
    assert (
        f"6 cases, 2 and 2 times each: a loss of 30 points is shown in {power(plan, 0.3):.0%}" in said_before
    )
    assert f"it takes {repeats_needed(plan, 0.3)} repeats of each on both sides or " in said_before
    assert f"{cases_needed(plan, 0.3)} cases repeated as now" in said_before
    enough = llmdo("eval", "--baseline", "last", "--repeat", "9", "--by", "0.7", cwd=root)
    assert "it takes" not in enough.err
    assert "pass^9" in enough.out
    for options, message in (
        (["--by", "0.2"], "is the loss that `--fail-on worse` asks for"),
        (["--fail-on", "worse"], "has nothing to compare with"),
        (["--baseline", "last", "--by", "0"], "is not above 0"),
        (["--baseline", "last", "--by", "nan"], "is not above 0"),
        (["--baseline", "last", "--by", "0.9"], "cannot be lost"),
    ):
        refused = llmdo("eval", *options, cwd=root)
        assert (refused.code, message in refused.err) == (2, True), refused.err


@pytest.mark.long
def test_a_variant_is_held_against_the_first_where_there_is_no_baseline(llmdo: Llmdo, root: Path) -> None:
    cases = [{"name": name, "input": f"say {name}"} for name in "abcd"]
    write(root, cases, evaluators={"regex": "[a-z]"})
    models = ["--model", "python:models.py:rules", "--model", "python:models.py:loud"]
    compared = llmdo("eval", *models, "--repeat", "2", "--fail-on", "worse", cwd=root)
    assert compared.code == 1
    assert "python:models.py:loud against python:models.py:rules: worse, shown (-100 points" in compared.out
    back = llmdo("eval", *models[2:], *models[:2], "--repeat", "2", "--fail-on", "worse", cwd=root)
    assert back.code == 0
    assert llmdo("eval", *models, "--repeat", "2", cwd=root).code == 0, "nothing was asked for"


@pytest.mark.long
def test_fail_under_asks_for_a_part_that_passes(llmdo: Llmdo, root: Path) -> None:
    cases = [{"name": n, "input": f"say {n}"} for n in "abcd"]
    write(root, cases, evaluators={"regex": "[abc]"})
    assert llmdo("eval", "--fail-under", "0.75", cwd=root).code == 0
    below = llmdo("eval", "--fail-under", "0.76", cwd=root)
    assert (below.code, "less passed than `--fail-under` 0.76 says" in below.out) == (1, True)
    for wrong in ("1.5", "-1", "nan"):
        assert llmdo("eval", "--fail-under", wrong, cwd=root).code == 2


@pytest.mark.long
def test_a_baseline_that_cannot_be_compared_is_refused_before_anything_runs(
    llmdo: Llmdo, root: Path, tmp_path: Path
) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    write(root, [{"name": "a", "input": "say a"}], name="other", evaluators={"contains": "a"})
    models = ["--model", "python:models.py:rules", "--model", "python:models.py:loud"]
    other = llmdo("eval", "other", "--format", "json", cwd=root).out
    two = llmdo("eval", "e", *models, "--format", "json", cwd=root).out
    for name, text in (("other", other), ("two", two), ("empty", ""), ("binary", "\0")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    batches = len(list((root / ".llmdo/batches").iterdir()))
    for baseline, message in (
        (tmp_path / "other", "is of the eval `other`"),
        (tmp_path / "two", "has no variant `workspace`"),
        (tmp_path / "empty", "is not an evaluation"),
        (tmp_path / "binary", "is not an evaluation"),
        ("nothing", "there is no evaluation `nothing`"),
    ):
        done = llmdo("eval", "e", "--baseline", str(baseline), cwd=root)
        assert (done.code, message in done.err) == (2, True), done.err
    assert len(list((root / ".llmdo/batches").iterdir())) == batches


@pytest.mark.long
def test_a_team_that_can_be_talked_into_a_command_fails_before_its_ceiling(
    llmdo: Llmdo, tmp_path: Path
) -> None:
    root = copied("confused_deputy", tmp_path)
    worker, manifest = root / "workers/triage.worker", root / "llmdo.toml"
    worker.write_text(
        worker.read_text().replace("  - tracker\n", "  - tracker\n  - releaser\n"), encoding="utf-8"
    )
    write(root, [{"name": "issues"}], entry="triage", evaluators={"never_raised": "proc.exec"})
    before = llmdo("eval", "--format", "json", "--fail-under", "1", cwd=root)
    assert before.code == 1
    (judgement,) = json.loads(before.out)["variants"][0]["trials"][0]["judgements"][1:]
    assert judgement["reason"] == "triage/releaser#1/publish#1 (`publishing.publish`) raised it"
    ceiling = (EXAMPLES / "confused_deputy/ceiling.patch").read_text(encoding="utf-8")
    line = next(line[1:] for line in ceiling.splitlines() if line.startswith("+may"))
    text = manifest.read_text().replace(
        'input = "Sum up the open issues."\n', f'input = "Sum up the open issues."\n{line}\n'
    )
    manifest.write_text(text, encoding="utf-8")
    after = llmdo("eval", "--format", "json", "--fail-under", "1", cwd=root)
    assert after.code == 0, after.err


NAME = "<script>alert(1)</script> | @team [x](http://x) \x1b[31m\u202e"


def test_other_formats_show_text_of_others_and_obey_none_of_it(llmdo: Llmdo, root: Path) -> None:
    write(
        root,
        [{"name": "a", "input": f"say {NAME}"}, {"name": "b", "input": "say fine"}],
        evaluators={"equals": "fine"},
        description=NAME.replace("\x1b", "").replace("\u202e", ""),
    )
    (root / "evals/own.py").write_text("def f(ctx):\n    raise ValueError(ctx.output)\n", encoding="utf-8")
    write(
        root,
        [
            {"name": "a", "input": f"say {NAME}"},
            {"name": "b", "input": "say fine", "evaluators": {"equals": "fine"}},
        ],
        evaluators={"contains": "f", "function": "evals/own.py:f"},
    )
    locked(root)
    assert llmdo("eval", cwd=root).code == 0
    pages = {
        form: llmdo("eval", "show", "last", "--format", form, cwd=root).out
        for form in ("junit", "markdown", "html", "text")
    }
    for page in pages.values():
        assert "\x1b" not in page
        assert "\u202e" not in page
    assert "<script" not in pages["html"]
    assert "<script" not in pages["markdown"]
    assert "@team" not in pages["markdown"]
    report = ElementTree.fromstring(pages["junit"])
    assert [(suite.get("tests"), suite.get("failures")) for suite in report] == [("2", "2")]
    rows = [line for line in pages["markdown"].splitlines() if line.startswith("| ")]
    assert {line.count(" | ") for line in rows} == {1}


@pytest.mark.long
def test_rows_have_each_trial_once_and_nothing_that_a_spreadsheet_computes(llmdo: Llmdo, root: Path) -> None:
    formula = '=HYPERLINK("http://x"),1'
    cases = [{"name": "a", "input": f"say {formula}\nsay two"}, {"name": "b", "input": "call refund"}]
    write(root, cases, evaluators={"contains": "two"})
    rows = llmdo("eval", "--repeat", "2", "--format", "csv", cwd=root)
    assert rows.code == 0, rows.err
    lines = list(csv.DictReader(io.StringIO(rows.out)))
    assert [(line["case"], line["number"], line["state"], line["passed"]) for line in lines] == [
        ("a", "1", "completed", "true"),
        ("b", "1", "waiting", "false"),
        ("a", "2", "completed", "true"),
        ("b", "2", "waiting", "false"),
    ]
    assert lines[0]["output"] == f"'{formula}\ntwo"
    assert lines[1]["why"].startswith("ends completed: the run is waiting")
    objects = [
        json.loads(line)
        for line in llmdo("eval", "show", "last", "--format", "jsonl", cwd=root).out.splitlines()
    ]
    assert [each["run"] for each in objects] == [line["run"] for line in lines]
    assert objects[0]["output"] == f"{formula}\ntwo"
    assert objects[0]["judgements"][0]["passed"] is True
    assert objects[0].keys() - lines[0].keys() == {"judgements"}
