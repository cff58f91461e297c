"""Evaluations in a real browser: a table of cases by variants, what differs, and a click to each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.base.values import replace
from llmdo.features.evaluation.document import Evaluations
from llmdo.features.evaluation.outcome import Evaluated, Judgement, Trial, Variant
from tests.features.evaluation.conftest import root, write
from tests.features.page.conftest import Served, go
from tests.features.page.test_access import axe, findings
from tests.features.page.test_hostile_names import HOSTILE
from tests.features.page.test_runs import llmdo_elsewhere
from tests.support import commands

__all__ = ["axe", "root"]

Serve = Callable[..., Served]
MODELS = ("python:models.py:rules", "main=python:models.py:loud")


@pytest.fixture
def compared(root: Path) -> Path:
    """A workspace with an evaluation of two models, of which one fails one of two cases."""
    cases = [{"name": "low", "input": "say low"}, {"name": "HIGH", "input": "say HIGH"}]
    write(root, cases, evaluators={"regex": "^(low|HIGH)$"})
    models = [word for model in MODELS for word in ("--model", model)]
    done = commands.llmdo(root, "eval", *models, "--repeat", "2")
    assert done.returncode == 0, done.stderr
    return root


def keep_evaluation(root: Path, label: str, why: str) -> str:
    """The id of an evaluation that holds these texts, which is kept; its runs are not there."""
    trials = [
        Trial(
            case="a",
            number=number,
            run=f"20260101T00000000{number}-00000000",
            state="failed",
            error=why,
            judgements=(Judgement(evaluator=why, value=False, reason=why),),
        )
        for number in (1, 2)
    ]
    variant = Variant(label=label, trials=(trials[0],))
    evaluated = Evaluated(
        id="20260101T000000000-00000000",
        name="e",
        entry="main",
        began=0,
        digest="",
        repeat=1,
        cases=("a",),
        variants=(variant, replace(variant, label="other", trials=(replace(trials[1], state="queued"),))),
    )
    Evaluations(root).keep(evaluated)
    return evaluated.id


@pytest.mark.browser
@pytest.mark.long
def test_a_table_of_cases_by_variants_leads_to_each_run(page: Page, serve: Serve, compared: Path) -> None:
    serve(compared).open(page, "#/evals")
    page.locator("tbody a").first.click()
    (name,) = Evaluations(compared).names()
    assert page.url.endswith(f"#/eval/{name}")
    rows = page.locator("table.cases tbody tr:not(.total)")
    expect(rows).to_have_count(2)
    expect(page.locator("table.cases thead th")).to_have_text(["Case", *MODELS])
    expect(rows.nth(0).locator("td").nth(0)).to_contain_text("2/2")
    expect(rows.nth(0).locator("td").nth(1)).to_contain_text('0/2 ✗✗regex ^(low|HIGH)$: not in "LOW"')
    expect(page.locator(".badge.differs")).to_have_count(1)
    rows_below = [
        "passed100%50%",
        "95 % of it51-100%15-85%",
        "pass^2100%50%",
        "requests44",
        "cost$0.0000$0.0000",
    ]
    expect(page.locator("tr.total")).to_have_text(rows_below)
    expect(page.locator(".sentences").first).to_contain_text("worse in 1, p = 1: not shown")
    page.get_by_label("only what differs").check()
    expect(rows).to_have_count(1)
    assert page.url.endswith("?differs=1")
    evaluated = Evaluations(compared).read(name)
    runs = [trial.run for variant in evaluated.variants for trial in variant.trials if trial.case == "low"]
    links = [link.get_attribute("href") for link in rows.nth(0).locator("a").all()]
    assert links == [f"#/run/{run}" for run in runs]
    rows.nth(0).locator("a").last.click()
    expect(page.locator(".heading")).to_contain_text("main")
    assert page.url.endswith(f"#/run/{runs[-1]}")
    page.locator(".heading a", has_text="low#2").click()
    assert page.url.endswith(f"#/eval/{name}")
    expect(rows.nth(0).locator("th .below")).not_to_be_empty()


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_labels_and_reasons_are_text(page: Page, serve: Serve, root: Path, kind: str) -> None:
    name = keep_evaluation(root, HOSTILE[kind], HOSTILE[kind])
    served = serve(root)
    for view in ("#/evals", f"#/eval/{name}"):
        served.open(page, view)
        body = page.locator("body").inner_text()
        assert "hit" not in page.title()
        assert page.locator("main img, main b, main script").count() == 0
        for hidden in ("\u202e", "\u2066", "\u200b", "\u0007", "\u001b"):
            assert hidden not in body
            assert hidden not in HOSTILE[kind] or f"\\u{{{ord(hidden):x}}}" in body
    expect(page.locator(".note")).to_contain_text(f"1 run left; llmdo eval resume {name} goes on")
    expect(page.locator("table.cases tbody td").nth(1)).to_contain_text("not run")


@pytest.mark.browser
def test_an_evaluation_that_goes_on_is_drawn_anew(page: Page, serve: Serve, root: Path) -> None:
    name = keep_evaluation(root, "quick", "wrong")
    serve(root).open(page, f"#/eval/{name}")
    expect(page.locator(".note")).to_contain_text("1 run left")
    evaluations = Evaluations(root)
    evaluated = evaluations.read(name)
    first, second = evaluated.variants
    passed = replace(
        second.trials[0],
        state="completed",
        error=None,
        judgements=(Judgement(evaluator="regex", value=True),),
    )
    evaluations.keep(replace(evaluated, variants=(first, replace(second, trials=(passed,)))))
    expect(page.locator(".note")).to_have_count(0)
    expect(page.locator("table.cases tbody td").nth(1)).to_contain_text("passed")


@pytest.mark.browser
def test_what_was_expected_stands_beside_what_was_said(page: Page, serve: Serve, root: Path) -> None:
    cases = [
        {"name": "same", "input": "say the red house", "expected": "the red house"},
        {"name": "other", "input": "say the blue house", "expected": "the red house"},
        {"name": "open", "input": "say anything"},
    ]
    write(root, cases, evaluators={"ends": "completed"})
    assert llmdo_elsewhere(root, "eval").returncode == 0
    served = serve(root)
    (name,) = Evaluations(root).names()
    served.open(page, f"#/eval/{name}")
    rows = page.locator("table.outputs tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("as expected")
    expect(rows.nth(0).locator("mark")).to_have_count(0)
    expect(rows.nth(1).locator("mark.removed")).to_have_text(["red"])
    expect(rows.nth(1).locator("mark.added")).to_have_text(["blue"])
    expect(rows.nth(1)).to_contain_text("differs from what was expected")
    expect(rows.nth(2).locator("td").first).to_have_text("nothing is stated in the eval")
    expect(rows.nth(2)).to_contain_text("anything")
    Evaluations(root).keep(replace(Evaluations(root).read(name), expected=None))
    page.reload()
    expect(rows.nth(0).locator("td").first).to_have_text("unknown: an earlier llmdo did not keep it")


def accessible(page: Page, served: Served, axe: str, root: Path) -> None:
    """Nothing that axe finds, on the list and on one, whole and with what differs alone."""
    (name,) = Evaluations(root).names()
    served.open(page)
    for view in ("#/evals", f"#/eval/{name}", f"#/eval/{name}?differs=1"):
        go(page, view)
        assert findings(page, axe) == [], view


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.window(color_scheme="light", bypass_csp=True)
def test_axe_finds_nothing_in_light(page: Page, serve: Serve, compared: Path, axe: str) -> None:
    accessible(page, serve(compared), axe, compared)


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.window(color_scheme="dark", bypass_csp=True, viewport={"width": 390, "height": 844})
def test_axe_finds_nothing_in_dark_and_a_narrow_window_scrolls_the_table_alone(
    page: Page, serve: Serve, compared: Path, axe: str
) -> None:
    accessible(page, serve(compared), axe, compared)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.long
@pytest.mark.browser
def test_without_any_evaluation_the_page_says_how_to_run_one(
    page: Page, serve: Serve, root: Path, provoked: list[str]
) -> None:
    serve(root).open(page, "#/evals")
    expect(page.locator("main")).to_contain_text("llmdo eval NAME")
    provoked.append("status of 422")
    go(page, "#/eval/nothing")
    expect(page.get_by_role("alert")).to_contain_text("there is no evaluation")
