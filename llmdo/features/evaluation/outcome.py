"""What an evaluation came to: trials of cases by variants, and what is said about all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field
from llmdo.features.evaluation.statistics import compare, pass_hat, score_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.features.evaluation.regression import Regression
    from llmdo.features.evaluation.statistics import VariantComparison
    from llmdo.journal.items import State

JUDGED: frozenset[State] = frozenset({"completed", "failed", "waiting"})
"""The states of runs that are judged: of all others nobody knows how they end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of one evaluator for one trial."""

    evaluator: str
    value: bool | float | str | None
    """Whether it holds, a score, or a label; None where the evaluator failed."""
    reason: str | None = None
    run: str | None = None
    """The id of the run of the judge whose word it is."""

    @property
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
    output: Json = None
    error: str | None = None
    judgements: tuple[Judgement, ...] = ()
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    """None where a request has no known price."""
    recorded_usd: float | None = None
    """What the answers had cost that a recording gave; None where nobody knew, or nothing was recorded."""
    seconds: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether it counts."""
        return self.state in JUDGED

    @property
    def passed(self) -> bool:
        """Whether all of its evaluators let it pass."""
        return self.is_judged and all(judgement.passed for judgement in self.judgements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What the cases were run with, and what came of it."""

    label: str
    models: tuple[str, ...] = ()
    """As `--model` named them."""
    revision: str | None = None
    """The commit of which workers and manifest are; None: the workspace as it is."""
    runs_code: bool = False
    """Whether its Python is of that commit as well."""
    batch: str = ""
    """The id of the batch."""
    recording: str | None = None
    """The file that answered instead of models; None where models did."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """Judge to the id of the batch of its runs."""
    trials: tuple[Trial, ...] = ()

    def of(self, case: str) -> tuple[Trial, ...]:
        """The trials of a case that count."""
        return tuple(trial for trial in self.trials if trial.case == case and trial.is_judged)

    def share(self, case: str) -> float | None:
        """The part of the trials of a case that passed, from 0 to 1; None where none was judged."""
        trials = self.of(case)
        return sum(trial.passed for trial in trials) / len(trials) if trials else None

    @property
    def repeat(self) -> int:
        """How often each case was judged at least; 0 where one never was."""
        return min((len(self.of(case)) for case in self.cases), default=0)

    @property
    def passed(self) -> float | None:
        """The part that passed: the mean over the cases."""
        shares = [share for case in self.cases if (share := self.share(case)) is not None]
        return sum(shares) / len(shares) if shares else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between which the part that passes lies with 95 %; None where nothing was judged."""
        trials = sum(trial.is_judged for trial in self.trials)
        return None if self.passed is None else score_interval(self.passed, trials)

    def all_passed(self, times: int) -> float | None:
        """How likely so many trials of a case all pass, the mean over the cases; None where one has fewer."""
        judged = [trials for case in self.cases if (trials := self.of(case))]
        if not judged or self.repeat < times:
            return None
        each = [pass_hat(sum(trial.passed for trial in trials), len(trials), times) for trials in judged]
        return sum(each) / len(each)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases, in their order."""
        return tuple(dict.fromkeys(trial.case for trial in self.trials))

    @property
    def recorded_usd(self) -> float | None:
        """What all answers had cost that a recording gave; None where that is not known, or none did."""
        costs = [trial.recorded_usd for trial in self.trials if trial.is_judged]
        return None if self.recording is None or None in costs else sum(filter(None, costs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A case that passed in the baseline, and that fails in a variant whose answers are recorded."""

    variant: str
    case: str
    before: float
    """The part that passed, from 0 to 1."""
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How an evaluation stands against what was asked of it."""

    baseline: str | None = None
    """The id of the evaluation that it was held against."""
    missed: tuple[Missed, ...] = ()
    """Of variants that are recorded: of these, nothing is chance."""
    regressions: tuple[Regression, ...] = ()
    """Of each other variant with what came before it."""
    lacking: tuple[str, ...] = ()
    """The cases of the baseline that are not there any more, or were not judged."""
    comparisons: tuple[VariantComparison, ...] = ()
    """Of each variant that is recorded with that of the baseline."""
    fail_under: float | None = None
    below: tuple[str, ...] = ()
    """The variants of which less passed."""

    @property
    def is_missed(self) -> bool:
        """Whether something that was asked for does not hold."""
        is_worse = any(regression.is_worse for regression in self.regressions)
        return bool(self.missed or self.below or is_worse or self.is_empty)

    @property
    def is_empty(self) -> bool:
        """Whether there is a baseline, and nothing could be held against it."""
        return self.baseline is not None and not (self.comparisons or self.regressions)

    @property
    def is_held(self) -> bool:
        """Whether there is a baseline, and a loss that matters is ruled out."""
        is_known = all(regression.is_ruled_out for regression in self.regressions)
        return self.baseline is not None and is_known and not (self.missed or self.is_empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """How an evaluation stands."""

    id: str
    name: str
    """Of the eval."""
    entry: str
    began: float
    """Seconds since 1970."""
    digest: str
    """Of the file of the eval."""
    repeat: int
    records: bool = False
    """Whether a recording of it is written once all is run."""
    cases: tuple[str, ...]
    variants: tuple[Variant, ...]
    reason: str | None = None
    """Why not everything was run."""
    interrupted: bool = False
    held: Held | None = None
    """None where nothing was asked of it."""

    @property
    def comparisons(self) -> tuple[VariantComparison, ...]:
        """Each variant against the first."""
        first, *others = self.variants
        return tuple(compared for variant in others if (compared := compare(first, variant)))

    @property
    def unfinished(self) -> int:
        """How many trials are not over."""
        return sum(not trial.is_judged for variant in self.variants for trial in variant.trials)
