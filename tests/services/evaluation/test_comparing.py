"""Better or worse: variants with each other, and with a baseline."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

from llmdo.services.evaluation.outcome import Judgement, Trial, Variant
from llmdo.services.evaluation.statistics import compare, sign_test
from tests.cli.conftest import Llmdo
from tests.examples.running import EXAMPLES, copied
from tests.services.evaluation.conftest import write


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
def test_a_change_of_the_rules_that_fails_three_decks_misses_the_baseline(
    llmdo: Llmdo, tmp_path: Path
) -> None:
    root = copied("pitchdeck", tmp_path)
    before = llmdo("eval", "--format", "json", cwd=root)
    (tmp_path / "baseline.json").write_text(before.out, encoding="utf-8")
    held = llmdo("eval", "--baseline", "last", cwd=root)
    assert held.code == 0
    assert "is held" in held.out
    scores = root / "pitchdeck_rules/scores.py"
    scores.write_text(
        scores.read_text(encoding="utf-8").replace("GO_POINTS, MOST_FLAGS = 16", "GO_POINTS, MOST_FLAGS = 22")
    )
    missed = llmdo("eval", "--baseline", str(tmp_path / "baseline.json"), cwd=root)
    assert missed.code == 1
    assert "is missed by workspace: brightwell, lumengrid, harborloop\n" in missed.out
    assert "workspace is better in 0 cases, worse in 3, p = 0.25: not shown" in missed.out
    assert llmdo("eval", "show", "last", cwd=root).code == 1
    data = json.loads(llmdo("eval", "show", "last", "--format", "json", cwd=root).out)
    assert [case["case"] for case in data["held"]["missed"]] == ["brightwell", "lumengrid", "harborloop"]


@pytest.mark.long
def test_a_baseline_is_missed_only_where_most_trials_fail(llmdo: Llmdo, root: Path) -> None:
    (root / "evals").mkdir()
    (root / "evals/own.py").write_text(
        "from pathlib import Path\nHERE = Path(__file__).parent\n"
        "def flaky(ctx):\n"
        "    log = HERE / f'{ctx.name}.log'\n"
        "    made = len(log.read_text()) if log.exists() else 0\n"
        "    log.write_text('x' * (made + 1))\n"
        "    return made < int(ctx.inputs.split()[1])\n",
        encoding="utf-8",
    )
    cases = [{"name": f"c{most}", "input": f"say {most}"} for most in (5, 4, 6)]
    write(root, cases, evaluators={"function": "evals/own.py:flaky"})
    assert llmdo("eval", "--repeat", "3", cwd=root).code == 0  # each passes three times
    missed = llmdo("eval", "--repeat", "3", "--baseline", "last", cwd=root)
    # 5: two of three pass; 4: one of three; 6: all
    assert missed.code == 1
    assert "is missed by workspace: c4\n" in missed.out


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
