"""Whether a difference between two variants may be chance: an exact sign test and a seeded bootstrap, over cases."""

from __future__ import annotations

from math import comb
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Shares(Protocol):
        """What of each case passed."""

        @property
        def label(self) -> str:
            """What it is called."""

        @property
        def cases(self) -> tuple[str, ...]:
            """The cases."""

        def share(self, case: str) -> float | None:
            """The part of its trials that passed; None where none was judged."""


SEED = 0
RESAMPLES = 2_000
LEVEL = 0.05
"""Chance would show a difference that is not there so often; one that it shows less often is shown."""
PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """Two variants, case by case: of each case the part of its trials that passed counts."""

    before: str
    after: str
    better: int
    worse: int
    same: int
    p: float
    """How likely so uneven a split is where every difference is chance."""
    mean: float
    """The mean difference of what passed, from -1 to 1."""
    low: float
    high: float
    """Between which 95 % of the means of resampled cases lie."""

    @property
    def is_shown(self) -> bool:
        """Whether chance alone would rarely do that."""
        return self.p < LEVEL

    @property
    def sentence(self) -> str:
        """It in plain words."""
        cases = "case" if self.better == 1 else "cases"
        return (
            f"{self.after} is better in {self.better} {cases}, worse in {self.worse}, p = {self.p:.2g}: "
            f"{'shown' if self.is_shown else 'not shown'} (against {self.before}, {self.same} the same; "
            f"{self.mean * PERCENT:+.0f} points passed, 95 % of resamples between {self.low * PERCENT:+.0f} and "
            f"{self.high * PERCENT:+.0f})"
        )


def compare(before: Shares, after: Shares, names: tuple[str, str] | None = None) -> VariantComparison | None:
    """The cases that both were judged by; None where there are none. `names` are what they are called, if not so."""
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


def sign_test(better: int, worse: int) -> float:
    """How likely a split at least so uneven is, in either direction, where both are equally likely in every case."""
    cases, most = better + worse, max(better, worse)
    return min(1.0, 2 * sum(comb(cases, number) for number in range(most, cases + 1)) / float(2**cases))


def _resampled(differences: Sequence[float]) -> tuple[float, float]:
    """Between which 95 % of the means lie of as many cases drawn again and again; the same each time."""
    chance = Random(SEED)  # noqa: S311  # which has to be the same each time
    means = sorted(fmean(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    cut = int(RESAMPLES * LEVEL / 2)
    return means[cut], means[-1 - cut]
