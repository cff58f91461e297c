"""The test of a gate: exact where it can be counted by hand, and as strong as its plan says."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import pytest

from bench.gate import CASES, PASSED, red
from llmdo.features.evaluation.document import document, parse
from llmdo.features.evaluation.regression import (
    CaseTally,
    GatePlan,
    cases_needed,
    interval,
    p_worse,
    power,
    regression,
    repeats_needed,
)
from llmdo.features.evaluation.rendering import as_json
from llmdo.features.evaluation.statistics import pass_hat, score_interval, sign_test
from tests.features.evaluation.test_comparing import evaluated, variant


def tally(before: int, before_of: int, after: int, after_of: int, case: str = "c") -> CaseTally:
    return CaseTally(case=case, before=before, before_of=before_of, after=after, after_of=after_of)


@pytest.mark.parametrize(
    "tallies",
    [
        [tally(2, 2, 0, 2)],
        [tally(2, 3, 1, 2), tally(1, 1, 0, 2)],
        [tally(1, 2, 2, 2), tally(2, 2, 1, 3), tally(0, 1, 0, 1)],
        [tally(0, 2, 2, 2), tally(3, 3, 3, 3)],
    ],
)
def test_the_exact_test_is_that_of_dealing_out_all_trials(tallies: list[CaseTally]) -> None:
    """Every way to say which trials of each case came after, all equally likely."""
    deals = []
    for each in tallies:
        passed = each.before + each.after
        trials = [True] * passed + [False] * (each.before_of + each.after_of - passed)
        deals.append([sum(chosen) for chosen in combinations(trials, each.after_of)])
    after = sum(each.after for each in tallies)
    few = sum(sum(deal) <= after for deal in product(*deals))
    assert p_worse(tallies) == pytest.approx(few / prod(map(len, deals)))


def test_with_one_trial_each_it_is_the_one_sided_sign_test() -> None:
    lost, won, same = [tally(1, 1, 0, 1)] * 7, [tally(0, 1, 1, 1)] * 2, [tally(1, 1, 1, 1)] * 9
    assert p_worse([*lost, *won, *same]) == pytest.approx(sign_test(2, 7) / 2)
    assert p_worse(same) == 1.0


def test_a_thousand_cases_are_tested_in_a_moment() -> None:
    assert p_worse([tally(4, 5, 4, 5)] * 1000) == pytest.approx(0.5, abs=0.02)
    assert p_worse([tally(5, 5, 4, 5)] * 1000) < 1e-100


def test_a_shown_loss_that_is_too_small_to_matter_does_not_fail() -> None:
    small = [tally(50, 50, 49, 50)] * 60
    shown = regression(small, ("A", "B"), 0.1)
    assert shown
    assert (shown.is_shown, shown.is_worse, shown.is_ruled_out) == (True, False, True)
    assert shown.sentence.startswith(
        "B against A: worse, shown, but by less than `--by 0.1` (-2 points passed"
    )
    strict = regression(small, ("A", "B"), 0.01)
    assert strict
    assert strict.is_worse


def test_several_variants_share_their_false_alarms() -> None:
    lost = [tally(1, 1, 0, 1)] * 6  # p = 1 / 64
    alone, among = (regression(lost, ("A", "B"), 0.1, comparisons=number) for number in (1, 2))
    assert alone
    assert among
    assert (alone.is_worse, among.is_worse) == (True, False)


def test_an_interval_has_a_width_where_nothing_differs() -> None:
    low, high = interval([tally(1, 1, 1, 1)] * 5)
    assert (low, high) == pytest.approx((-0.280, 0.280), abs=0.001)  # 1.96 * sqrt(1 / 7 / 7)
    assert interval([tally(1, 1, 0, 1)])[1] <= 1.0
    assert score_interval(1.0, 10) == pytest.approx(
        (0.7225, 1.0), abs=1e-4
    )  # Wilson's, by hand: 10 / (10 + 3.8415)
    assert score_interval(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_pass_hat_k_is_that_of_all_choices() -> None:
    for passed in range(6):
        chosen = list(combinations([True] * passed + [False] * (5 - passed), 3))
        assert pass_hat(passed, 5, 3) == pytest.approx(sum(map(all, chosen)) / len(chosen))
    half = variant("A", [[True, True], [True, False]])
    assert [half.all_passed(times) for times in (1, 2, 3)] == [0.75, 0.5, None]


def test_a_plan_is_the_least_that_is_enough() -> None:
    plan = GatePlan(cases=30, before_of=5, after_of=5, passed=PASSED)
    repeats, cases = repeats_needed(plan, 0.1), cases_needed(plan, 0.1)
    assert (repeats, cases) == (9, 54)
    for number, is_enough in ((9, True), (8, False)):
        there = GatePlan(cases=30, before_of=number, after_of=number, passed=PASSED)
        assert (power(there, 0.1) >= 0.8) == is_enough
    assert power(plan, 0.0) < 0.05
    assert repeats_needed(plan, 1e-9) is None


@pytest.mark.long
def test_false_alarms_are_rare_and_twenty_points_are_found() -> None:
    alike = [PASSED] * CASES
    assert red(alike, 0.0, 1, 200) <= 0.05
    assert red(alike, 0.0, 5, 200) <= 0.05
    assert red(alike, 0.2, 3, 200) >= 0.8
    plan = GatePlan(cases=CASES, before_of=2, after_of=2, passed=PASSED)
    assert red(alike, 0.2, 2, 200) == pytest.approx(power(plan, 0.2), abs=0.08)


def test_a_regression_is_kept_and_read_again_and_older_evaluations_are_read() -> None:
    from llmdo.base.values import replace
    from llmdo.features.evaluation.gate import OpenedEvalGate, held

    before, after = (evaluated(variant("w", [[passed]] * 8)) for passed in (True, False))
    outcome = held(after, OpenedEvalGate(baseline=before, compares=True, by=0.1, fail_under=None))
    assert outcome
    assert outcome.is_missed
    whole = replace(after, held=outcome)
    assert parse(as_json(whole), "x").held == outcome
    old = document(whole)
    del old["held"]["regressions"]  # type: ignore[attr-defined]
    import json

    again = parse(json.dumps(old), "x").held
    assert again
    assert again.regressions == ()
