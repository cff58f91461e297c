"""The test of a gate: whether fewer trials of the same cases pass than before, and how many trials it takes to show it.

If nothing changed, the trials of one case are exchangeable: which of them came before and which after is chance.
So each case is a table of two rows, before and after, with its sums fixed, and the number of trials that pass after
is compared with its exact distribution over all ways to deal them out: the one-sided exact conditional test of
several 2 x 2 tables (Mehta, Patel and Gray, "Computing an exact confidence interval for the common odds ratio in
several 2 x 2 contingency tables", JASA 80, 1985). With one trial on each side it is the one-sided sign test. It says
something about these cases, run again, and nothing about cases that nobody wrote.
"""

from __future__ import annotations

from math import comb, sqrt
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

from llmdo.base.values import also_in_json, dataclass
from llmdo.features.evaluation.statistics import LEVEL as TWO_SIDED
from llmdo.features.evaluation.statistics import PERCENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEVEL = TWO_SIDED / 2
"""The bound of false alarms: as strict in one direction as a comparison of variants in each of two."""
NEGLIGIBLE = 1e-18
"""Smaller probabilities are left out of the exact distribution; all of them together stay below 1e-12."""
ENOUGH = 0.8
"""The power from which a plan is enough."""
MOST = 100_000
"""The most cases or repeats that a plan may take."""
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTally:
    """The judged trials of one case on both sides, and the number that passed."""

    case: str
    before: int
    before_of: int
    after: int
    after_of: int

    @property
    def loss(self) -> float:
        """The drop of the share that passes, from -1 to 1."""
        return self.before / self.before_of - self.after / self.after_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """The comparison of one variant with that of the baseline, or with the first variant, in a gate."""

    before: str
    after: str
    cases: int
    """The number of cases on both sides."""
    loss: float
    """The drop of the share that passes, the mean over the cases, from -1 to 1."""
    low: float
    high: float
    """The upper end of the 95 % interval of the loss; `low` is the lower."""
    p: float
    """The probability that so few pass if nothing changed."""
    level: float
    """`p` below this shows a loss."""
    by: float
    """The smallest loss that matters."""
    lost: tuple[str, ...] = ()
    """The cases that passed in most of their trials before and fail in most now."""

    @property
    @also_in_json("shown")
    def is_shown(self) -> bool:
        """Whether chance alone would rarely do that."""
        return self.p < self.level

    @property
    @also_in_json("worse")
    def is_worse(self) -> bool:
        """Whether the gate fails: a loss is shown, and a loss of `by` is not ruled out."""
        return self.is_shown and not self.is_ruled_out

    @property
    def is_ruled_out(self) -> bool:
        """Whether a loss of `by` or more would rarely look like that."""
        return self.high < self.by

    @property
    @also_in_json()
    def sentence(self) -> str:
        """A sentence in plain words."""
        by = f"`--by {self.by:g}`"
        if self.is_worse:
            verdict = "worse, shown"
        elif self.is_shown:
            verdict = f"worse, shown, but by less than {by}"
        elif self.is_ruled_out:
            verdict = f"not shown to be worse, and a loss of {by} is ruled out"
        else:
            verdict = f"not shown to be worse, though a loss of {by} is not ruled out"
        points = (
            f"{-self.loss * PERCENT:+.0f} points passed" if round(self.loss * PERCENT) else "as much passed"
        )
        cases = "1 case" if self.cases == 1 else f"{self.cases} cases"
        lost = f"; most of it: {', '.join(self.lost)}" if self.is_worse and self.lost else ""
        return (
            f"{self.after} against {self.before}: {verdict} ({points} over {cases}, p = {self.p:.2g}, "
            f"95 % interval from {-self.high * PERCENT:+.0f} to {-self.low * PERCENT:+.0f}){lost}"
        )


def regression(
    tallies: Sequence[CaseTally], names: tuple[str, str], by: float, *, comparisons: int = 1
) -> Regression | None:
    """The result of the test; None if no case was judged on both sides.

    Args:
        tallies: The cases that both sides have.
        names: The names of the two sides.
        by: The smallest loss that matters.
        comparisons: How many variants the same gate compares: a false alarm over all of them is as rare as that of a
            single one (Bonferroni).
    """
    if not tallies:
        return None
    low, high = interval(tallies)
    half = 0.5
    return Regression(
        before=names[0],
        after=names[1],
        cases=len(tallies),
        loss=fmean(tally.loss for tally in tallies),
        low=low,
        high=high,
        p=p_worse(tallies),
        level=LEVEL / comparisons,
        by=by,
        lost=tuple(
            tally.case
            for tally in tallies
            if tally.before / tally.before_of > half > tally.after / tally.after_of
        ),
    )


def p_worse(tallies: Sequence[CaseTally]) -> float:
    """The probability that so few trials or fewer pass after if before and after are the same: exact, one-sided."""
    chances = {0: 1.0}  # how many pass after over the cases so far, to how likely that is
    for tally in tallies:
        passed, trials = tally.before + tally.after, tally.before_of + tally.after_of
        ways = {
            number: comb(tally.after_of, number)
            * comb(tally.before_of, passed - number)
            / comb(trials, passed)
            for number in range(max(0, passed - tally.before_of), min(passed, tally.after_of) + 1)
        }
        dealt: dict[int, float] = {}
        for total, chance in chances.items():
            for number, way in ways.items():
                dealt[total + number] = dealt.get(total + number, 0.0) + chance * way
        chances = {total: chance for total, chance in dealt.items() if chance > NEGLIGIBLE}
    after = sum(tally.after for tally in tallies)
    return min(1.0, sum(chance for total, chance in chances.items() if total <= after))


def interval(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    """The 95 % interval of the loss, from -1 to 1.

    The adjusted interval for matched pairs (Agresti and Min, "Simple improved confidence intervals for comparing
    matched proportions", Statistics in Medicine 24, 2005): two pairs are added, one of them a half lost and a half
    won, so that it has a width even if no case differs. The pair weighs less the more often each case is run.
    """
    losses = [tally.loss for tally in tallies]
    repeats = min(min(tally.before_of, tally.after_of) for tally in tallies)
    number = len(losses) + 2
    mean = sum(losses) / number
    spread = (sum(loss**2 for loss in losses) + 1 / repeats) / number - mean**2
    reach = NORMAL.inv_cdf(1 - LEVEL) * sqrt(max(0.0, spread) / number)
    return max(-1.0, mean - reach), min(1.0, mean + reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """The plan of a comparison with another evaluation."""

    cases: int
    before_of: int
    """How often each case was run before."""
    after_of: int
    """How often each is run now."""
    passed: float
    """The share that passed before, the same for every case: the hardest to tell from chance."""
    level: float = LEVEL
    """`p` below this shows a loss."""


def power(plan: GatePlan, loss: float) -> float:
    """The probability that `p_worse` shows a real loss, from 0 to 1.

    The statistic is taken as normal with a continuity correction (Cochran, "Some methods for strengthening the
    common chi-squared tests", Biometrics 10, 1954): its spread is that of dealing out if nothing changed, and that
    of two binomials if the loss is real. `python -m bench.gate` prints it next to the results of simulations.
    """
    before, after = plan.before_of, plan.after_of
    trials, now = before + after, max(0.0, plan.passed - loss)
    expected = before * plan.passed + after * now
    own = before * plan.passed * (1 - plan.passed), after * now * (1 - now)
    mixed = trials * expected - sum(own) - expected**2
    by_chance = sqrt(max(0.0, plan.cases * before * after * mixed / (trials**2 * (trials - 1))))
    really = sqrt(plan.cases * (after**2 * own[0] + before**2 * own[1])) / trials
    shift = plan.cases * before * after * (plan.passed - now) / trials
    beyond = shift - 0.5 - NORMAL.inv_cdf(1 - plan.level) * by_chance
    if really == 0:
        return float(beyond > 0)
    return NORMAL.cdf(beyond / really)


def repeats_needed(plan: GatePlan, loss: float) -> int | None:
    """How often each case has to run on both sides to find such a loss mostly; None: absurdly often."""
    return _least(
        lambda number: GatePlan(
            cases=plan.cases, before_of=number, after_of=number, passed=plan.passed, level=plan.level
        ),
        loss,
    )


def cases_needed(plan: GatePlan, loss: float) -> int | None:
    """How many cases, each run as often as planned, find such a loss mostly."""
    return _least(
        lambda number: GatePlan(
            cases=number,
            before_of=plan.before_of,
            after_of=plan.after_of,
            passed=plan.passed,
            level=plan.level,
        ),
        loss,
    )


def _least(plan: Callable[[int], GatePlan], loss: float) -> int | None:
    """The least number for which the plan is enough: power grows with it."""
    low, high = 0, 1
    while power(plan(high), loss) < ENOUGH:
        low, high = high, high * 2
        if low > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(plan(middle), loss) >= ENOUGH else (middle, high)
    return high
