"""The outcome of an evaluation: trials of cases by variants, and judgements over all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.values import also_in_json, dataclass, field, in_json, utc_milliseconds
from llmdo.features.evaluation.statistics import compare, pass_hat, score_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.features.evaluation.regression import Regression
    from llmdo.features.evaluation.statistics import VariantComparison
    from llmdo.journal.items import State

JUDGED: frozenset[State] = frozenset({"completed", "failed", "waiting"})
"""The states of runs that are judged: the end of all others is unknown."""

IN_FULL = "in full"
"""The part of the JSON that lists leave out: cases and trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of one evaluator for one trial."""

    evaluator: str
    value: bool | float | str | None
    """Whether it holds, a score, or a label; None if the evaluator failed."""
    reason: str | None = None
    run: str | None = None
    """The id of the judge's run."""

    @property
    @also_in_json(after="evaluator")
    def passed(self) -> bool:
        """Whether the trial can pass: scores and labels inform."""
        return self.value is not False and self.value is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of one case."""

    case: str
    number: int
    """From 1."""
    run: str
    """The id of the run."""
    state: State
    title: str = ""
    """The title of the run."""
    output: Json = None
    error: str | None = None
    judgements: tuple[Judgement, ...] = ()
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    """None if a request has no known price."""
    recorded_usd: float | None = None
    """The original cost of answers from a recording; None if unknown or nothing was recorded."""
    seconds: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether it counts."""
        return self.state in JUDGED

    @property
    def passed(self) -> bool:
        """Whether all of its evaluators let it pass."""
        return self.is_judged and all(judgement.passed for judgement in self.judgements)

    @property
    @also_in_json("passed")
    def verdict(self) -> bool | None:
        """Whether it passed; None if it does not count."""
        return self.passed if self.is_judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The setting in which the cases were run, and the trials."""

    label: str
    models: tuple[str, ...] = ()
    """As `--model` named them."""
    revision: str | None = None
    """The commit of workers and manifest; None: the workspace as it is."""
    runs_code: bool = False
    """Whether its Python is of that commit as well."""
    batch: str = ""
    """The id of the batch."""
    recording: str | None = None
    """The file that answered instead of models; None if models did."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """Judge to the id of the batch of its runs."""
    trials: tuple[Trial, ...] = field(default=(), metadata=in_json(part=IN_FULL))

    def title(self, case: str) -> str:
        """The title of the runs of a case; empty if its input has no words."""
        return next((trial.title for trial in self.trials if trial.case == case), "")

    def of(self, case: str) -> tuple[Trial, ...]:
        """The trials of a case that count."""
        return tuple(trial for trial in self.trials if trial.case == case and trial.is_judged)

    def share(self, case: str) -> float | None:
        """The share of a case's trials that passed, from 0 to 1; None if none was judged."""
        trials = self.of(case)
        return sum(trial.passed for trial in trials) / len(trials) if trials else None

    @property
    def repeat(self) -> int:
        """How often each case was judged at least; 0 if one never was."""
        return min((len(self.of(case)) for case in self.cases), default=0)

    @property
    @also_in_json(after="judges")
    def passed(self) -> float | None:
        """The share that passed: the mean over the cases."""
        shares = [share for case in self.cases if (share := self.share(case)) is not None]
        return sum(shares) / len(shares) if shares else None

    @property
    @also_in_json(after="passed")
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share that passes; None if nothing was judged."""
        trials = sum(trial.is_judged for trial in self.trials)
        return None if self.passed is None else score_interval(self.passed, trials)

    def all_passed(self, times: int) -> float | None:
        """The probability that so many trials of a case all pass, the mean over the cases; None if one has fewer."""
        judged = [trials for case in self.cases if (trials := self.of(case))]
        if not judged or self.repeat < times:
            return None
        each = [pass_hat(sum(trial.passed for trial in trials), len(trials), times) for trials in judged]
        return sum(each) / len(each)

    @property
    @also_in_json(after="interval", flat=True)
    def figures(self) -> Mapping[str, object]:
        """The figures of its trials, for programs that only show them."""
        judged = [trial for trial in self.trials if trial.is_judged]
        costs = [trial.cost_usd for trial in judged]
        return {
            "all_passed": {times: self.all_passed(times) for times in range(1, self.repeat + 1)},
            "requests": sum(trial.requests for trial in judged),
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
            "seconds": round(sum(trial.seconds or 0 for trial in judged), 3),
        }

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases, in their order."""
        return tuple(dict.fromkeys(trial.case for trial in self.trials))

    @property
    @also_in_json(after="recording")
    def recorded_usd(self) -> float | None:
        """The original cost of all answers from a recording; None if that is unknown, or there were none."""
        costs = [trial.recorded_usd for trial in self.trials if trial.is_judged]
        return None if self.recording is None or None in costs else sum(filter(None, costs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A case that passed in the baseline and fails in a variant with recorded answers."""

    variant: str
    case: str
    before: float
    """The share that passed, from 0 to 1."""
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The result of a gate."""

    baseline: str | None = None
    """The id of the evaluation compared with."""
    missed: tuple[Missed, ...] = ()
    """Of recorded variants, in which nothing is chance."""
    regressions: tuple[Regression, ...] = ()
    """Each other variant compared with that of the baseline, or without one, with the first variant."""
    lacking: tuple[str, ...] = ()
    """The cases of the baseline that no longer exist, or were not judged."""
    comparisons: tuple[VariantComparison, ...] = ()
    """Each recorded variant compared with that of the baseline."""
    fail_under: float | None = None
    below: tuple[str, ...] = ()
    """The variants below the share that has to pass."""

    @property
    def is_missed(self) -> bool:
        """Whether a requirement does not hold."""
        is_worse = any(regression.is_worse for regression in self.regressions)
        return bool(self.missed or self.below or is_worse or self.is_empty)

    @property
    def is_empty(self) -> bool:
        """Whether there is a baseline, and nothing could be compared with it."""
        return self.baseline is not None and not (self.comparisons or self.regressions)

    @property
    def is_held(self) -> bool:
        """Whether there is a baseline, and a loss that matters is ruled out."""
        is_known = all(regression.is_ruled_out for regression in self.regressions)
        return self.baseline is not None and is_known and not (self.missed or self.is_empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """An evaluation."""

    id: str
    name: str
    """Of the eval."""
    entry: str
    digest: str
    """Of the file of the eval."""
    began: float = field(metadata=in_json(by=utc_milliseconds))
    """Seconds since 1970."""
    repeat: int
    records: bool = False
    """Whether a recording is written once all is run."""
    reason: str | None = None
    """Why not everything was run."""
    interrupted: bool = False
    cases: tuple[str, ...]
    expected: Mapping[str, Json] | None = field(default=None, metadata=in_json(part=IN_FULL))
    """The expected output by case, of those that have one; None in a document of an earlier llmdo, which lacks them."""
    variants: tuple[Variant, ...]
    held: Held | None = None
    """None if there is no gate."""

    @property
    @also_in_json(after="records")
    def finished(self) -> bool:
        """Whether all trials are over."""
        return not self.unfinished

    @property
    @also_in_json("cases", part=IN_FULL)
    def cases_by_variant(self) -> list[Mapping[str, object]]:
        """Each case by variant: the share that passed, the runs, and the variants with another result."""
        return [
            {
                "name": case,
                "passed": {variant.label: variant.share(case) for variant in self.variants},
                "runs": {
                    variant.label: [trial.run or None for trial in variant.trials if trial.case == case]
                    for variant in self.variants
                },
                "differs": self.differing(case),
            }
            for case in self.cases
        ]

    def differing(self, case: str) -> list[str]:
        """The labels of the variants whose result in a case differs from that of the first."""
        first, *others = self.variants
        return [variant.label for variant in others if _shown(variant, case) != _shown(first, case)]

    @property
    @also_in_json(after="variants")
    def comparisons(self) -> tuple[VariantComparison, ...]:
        """Each variant against the first."""
        first, *others = self.variants
        return tuple(compared for variant in others if (compared := compare(first, variant)))

    @property
    def unfinished(self) -> int:
        """The number of unfinished trials."""
        return sum(not trial.is_judged for variant in self.variants for trial in variant.trials)


def _shown(variant: Variant, case: str) -> list[object]:
    """The comparable parts of a case: the ends of its trials, their outputs and judgements."""
    return [
        (trial.state, json.dumps(trial.output), [(each.evaluator, each.value) for each in trial.judgements])
        for trial in variant.trials
        if trial.case == case
    ]
