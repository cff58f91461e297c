"""The statistics of variants: the certainty of a share, the probability that all repeats pass, and possible chance."""

from __future__ import annotations

from math import comb, sqrt
from random import Random
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

from llmdo.base.values import also_in_json, dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Shares(Protocol):
        """The trials of cases, and the share of each case's trials that passed."""

        @property
        def label(self) -> str:
            """The name of the compared side."""

        @property
        def cases(self) -> tuple[str, ...]:
            """The cases."""

        def share(self, case: str) -> float | None:
            """The share of its trials that passed; None if none was judged."""


SEED = 0
RESAMPLES = 2_000
LEVEL = 0.05
"""The significance level: a difference is shown if chance would show it less often."""
PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """Two variants compared case by case, by the share of each case's trials that passed."""

    before: str
    after: str
    better: int
    worse: int
    same: int
    p: float
    """The probability of so uneven a split if every difference is chance."""
    mean: float
    """The mean difference of the shares, from -1 to 1."""
    low: float
    high: float
    """The upper end of the 95 % interval of the means of resampled cases; `low` is the lower."""

    @property
    @also_in_json("shown")
    def is_shown(self) -> bool:
        """Whether chance alone would rarely do that."""
        return self.p < LEVEL

    @property
    @also_in_json()
    def sentence(self) -> str:
        """A sentence in plain words."""
        cases = "case" if self.better == 1 else "cases"
        return (
            f"{self.after} is better in {self.better} {cases}, worse in {self.worse}, p = {self.p:.2g}: "
            f"{'shown' if self.is_shown else 'not shown'} (against {self.before}, {self.same} the same; "
            f"{self.mean * PERCENT:+.0f} points passed, 95 % of resamples between {self.low * PERCENT:+.0f} and "
            f"{self.high * PERCENT:+.0f})"
        )


def compare(before: Shares, after: Shares, names: tuple[str, str] | None = None) -> VariantComparison | None:
    """The comparison over the cases judged in both; None if there are none. `names` replace their labels."""
    pairs = [
        (earlier, later)
        for case in after.cases
        if (earlier := before.share(case)) is not None and (later := after.share(case)) is not None
    ]
    if not pairs:
        return None
    differences = [later - earlier for earlier, later in pairs]
    better, worse = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    low, high = _resampled(differences)
    first, second = names or (before.label, after.label)
    return VariantComparison(
        before=first,
        after=second,
        better=better,
        worse=worse,
        same=len(pairs) - better - worse,
        p=sign_test(better, worse),
        mean=fmean(differences),
        low=low,
        high=high,
    )


def score_interval(passed: float, trials: int) -> tuple[float, float]:
    """The 95 % interval of the share that passes, for these cases, run again and again.

    The score interval (Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22,
    1927) of as many trials; a little too wide if some cases pass more often than others.
    """
    z = NormalDist().inv_cdf(1 - LEVEL / 2)
    shrunk = 1 + z**2 / trials
    middle = (passed + z**2 / (2 * trials)) / shrunk
    reach = z / shrunk * sqrt(passed * (1 - passed) / trials + z**2 / (4 * trials**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def pass_hat(passed: int, trials: int, times: int) -> float:
    """The probability that `times` trials of a case, at most `trials`, all pass: pass^k, without bias.

    As in "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains" (Yao et al., 2024).
    """
    return comb(passed, times) / comb(trials, times)


def sign_test(better: int, worse: int) -> float:
    """The probability of a split at least so uneven, in either direction, if both are equally likely in every case."""
    cases, most = better + worse, max(better, worse)
    return min(1.0, 2 * sum(comb(cases, number) for number in range(most, cases + 1)) / float(2**cases))


def _resampled(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the means of as many cases drawn again and again; deterministic."""
    chance = Random(SEED)  # noqa: S311  # which has to be the same each time
    means = sorted(fmean(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    cut = int(RESAMPLES * LEVEL / 2)
    return means[cut], means[-1 - cut]
