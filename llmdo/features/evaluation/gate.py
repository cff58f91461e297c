"""The gate of an evaluation: comparison with an earlier one, and the share that has to pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field
from llmdo.features.evaluation.document import Evaluations, parse
from llmdo.features.evaluation.outcome import Held, Missed
from llmdo.features.evaluation.regression import (
    ENOUGH,
    LEVEL,
    CaseTally,
    GatePlan,
    cases_needed,
    power,
    regression,
    repeats_needed,
)
from llmdo.features.evaluation.statistics import PERCENT, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.evaluation.outcome import Evaluated, Variant
    from llmdo.features.evaluation.regression import Regression

HALF = 0.5
SMALLEST = 0.1
"""The default of the smallest loss that matters."""
WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalGate:
    """The requirements of a gate."""

    baseline: str | None = field(
        default=None,
        metadata=option(
            "Exit with 1 where it is shown that less passes than in it; recorded answers are held case by case.",
            metavar="FILE|EVALUATION",
        ),
    )
    """A file with an evaluation as JSON, or the id of a kept one."""
    fail_on: Literal["worse"] | None = field(
        default=None,
        metadata=option(
            "Exit with 1 where a variant is shown to be worse than the baseline, or the first variant."
        ),
    )
    by: float | None = field(
        default=None,
        metadata=option("The smallest loss that matters: 0.1, where left out.", metavar="SHARE"),
    )
    """Above 0 and up to 1."""
    fail_under: float | None = field(
        default=None, metadata=option("Exit with 1 where less passes, such as 0.9.", metavar="SHARE")
    )
    """From 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEvalGate:
    """The gate with its baseline read."""

    baseline: Evaluated | None
    compares: bool
    """Whether variants are compared with something."""
    by: float
    fail_under: float | None


def opened(gate: EvalGate, root: Path) -> OpenedEvalGate:
    """The gate with its baseline, read before anything is paid for.

    Raises:
        LlmdoError: There is no such baseline, it cannot be read, or a number is out of range.
    """
    if gate.fail_under is not None and not 0 <= gate.fail_under <= 1:
        raise LlmdoError(f"`--fail-under {gate.fail_under:g}` is not between 0 and 1")
    compares = gate.baseline is not None or gate.fail_on is not None
    if gate.by is not None and not 0 < gate.by <= 1:
        raise LlmdoError(
            f"`--by {gate.by:g}` is not above 0 and up to 1", hint="`--by 0.1` is 10 points of 100"
        )
    if gate.by is not None and not compares:
        raise LlmdoError(f"`--by {gate.by:g}` is the loss that `--fail-on worse` asks for", hint="add it")
    return OpenedEvalGate(
        baseline=None if gate.baseline is None else _baseline(gate.baseline, root),
        compares=compares,
        by=SMALLEST if gate.by is None else gate.by,
        fail_under=gate.fail_under,
    )


def _baseline(reference: str, root: Path) -> Evaluated:
    path = Path(reference)
    if path.is_file():
        try:
            return parse(path.read_text(encoding="utf-8"), reference)
        except (OSError, UnicodeDecodeError) as error:
            raise LlmdoError(
                f"cannot read `{reference}`: {getattr(error, 'strerror', None) or error}"
            ) from error
    evaluations = Evaluations(root)
    try:
        return evaluations.read(evaluations.find(reference))
    except LlmdoError as error:
        raise LlmdoError(f"the baseline: {error.message}, and no file", hint=error.hint) from error


def plans(evaluated: Evaluated, gate: OpenedEvalGate) -> Iterator[str]:
    """The power of the gate, a line for each compared variant, before anything is run.

    Raises:
        LlmdoError: There is nothing to compare with, or nothing that could get worse.
    """
    pairs = _pairs(evaluated, gate)
    for before, now, names in pairs:
        common = [case for case in evaluated.cases if gate.baseline is None or before.of(case)]
        if not common:
            raise LlmdoError(
                f"the gate: {names[0]} has none of these cases, so nothing could be held against it"
            )
        if _is_by_case(now, gate):
            yield f"the gate: {names[1]} is recorded, so it is held against {names[0]} case by case"
            continue
        plan = _plan(before if gate.baseline else None, common, evaluated.repeat, len(pairs))
        if plan.passed < gate.by:
            raise LlmdoError(
                f"the gate: {names[0]} passes {plan.passed:.0%}, so `--by {gate.by:g}` cannot be lost",
                hint="a smaller `--by`, or `--fail-under SHARE`",
            )
        yield _planned(plan, names, gate.by)


def _plan(before: Variant | None, common: list[str], repeat: int, comparisons: int) -> GatePlan:
    """The plan of a comparison. Without data, half of the trials are assumed to pass, the hardest case."""
    if before is None:
        return GatePlan(
            cases=len(common), before_of=repeat, after_of=repeat, passed=HALF, level=LEVEL / comparisons
        )
    trials = [trial for case in common for trial in before.of(case)]
    passed = sum(trial.passed for trial in trials)
    return GatePlan(
        cases=len(common),
        before_of=min(len(before.of(case)) for case in common),
        after_of=repeat,
        passed=(passed + 1)
        / (len(trials) + 2),  # the rule of succession: no finite record shows that all pass
        level=LEVEL / comparisons,
    )


def _planned(plan: GatePlan, names: tuple[str, str], by: float) -> str:
    points = f"a loss of {by * PERCENT:g} points"
    cases = "1 case" if plan.cases == 1 else f"{plan.cases} cases"
    known = (
        f"the gate: {names[1]} against {names[0]}, {cases}, {plan.before_of} and {plan.after_of} times each: "
        f"{points} is shown in {power(plan, by):.0%} of evaluations"
    )
    if power(plan, by) >= ENOUGH:
        return known
    repeats, more = repeats_needed(plan, by), cases_needed(plan, by)
    ways = [f"{repeats} repeats of each on both sides"] * (repeats is not None)
    ways += [f"{more} cases repeated as now"] * (more is not None)
    return f"{known}; for {ENOUGH:.0%} it takes {' or '.join(ways) or 'more than can be run'}"


def held(evaluated: Evaluated, gate: OpenedEvalGate) -> Held | None:
    """The result of the gate; None if it requires nothing.

    Raises:
        LlmdoError: The baseline is of another eval, or the variant of it to compare with is ambiguous.
    """
    if not gate.compares and gate.fail_under is None:
        return None
    missed: list[Missed] = []
    lacking: dict[str, None] = {}
    comparisons, regressions = [], []
    pairs = _pairs(evaluated, gate)
    for before, now, names in pairs:
        lacking.update(dict.fromkeys(case for case in before.cases if now.share(case) is None))
        if _is_by_case(now, gate):
            missed += _missed(before, now)
            if compared := compare(before, now, names):
                comparisons.append(compared)
        elif shown := _regression(before, now, names, gate.by, len(pairs)):
            regressions.append(shown)
    below = [
        variant.label
        for variant in evaluated.variants
        if gate.fail_under is not None and (variant.passed is None or variant.passed < gate.fail_under)
    ]
    return Held(
        baseline=gate.baseline.id if gate.baseline else None,
        missed=tuple(missed),
        regressions=tuple(regressions),
        lacking=tuple(lacking),
        comparisons=tuple(comparisons),
        fail_under=gate.fail_under,
        below=tuple(below),
    )


def _is_by_case(now: Variant, gate: OpenedEvalGate) -> bool:
    """Whether each case counts for itself: no model answers, so nothing is chance."""
    return gate.baseline is not None and now.recording is not None


def _regression(
    before: Variant, now: Variant, names: tuple[str, str], by: float, comparisons: int
) -> Regression | None:
    tallies = [
        CaseTally(
            case=case,
            before=sum(trial.passed for trial in earlier),
            before_of=len(earlier),
            after=sum(trial.passed for trial in later),
            after_of=len(later),
        )
        for case in now.cases
        if (earlier := before.of(case)) and (later := now.of(case))
    ]
    return regression(tallies, names, by, comparisons=comparisons)


def _pairs(evaluated: Evaluated, gate: OpenedEvalGate) -> list[tuple[Variant, Variant, tuple[str, str]]]:
    """The pairs of variants to compare, with their names.

    Raises:
        LlmdoError: There is nothing to compare with.
    """
    if not gate.compares:
        return []
    first, *others = evaluated.variants
    if gate.baseline is None:
        if not others:
            raise LlmdoError(
                "`--fail-on worse` has nothing to compare with",
                hint="`--baseline EVALUATION`, `--rev A..B`, or a second `--model`",
            )
        return [(first, variant, (first.label, variant.label)) for variant in others]
    if gate.baseline.name != evaluated.name:
        raise LlmdoError(
            f"the baseline is of the eval `{gate.baseline.name}`, and this one is `{evaluated.name}`"
        )
    name = f"the baseline {gate.baseline.id}"
    return [
        (_counterpart(gate.baseline, variant), variant, (name, variant.label))
        for variant in evaluated.variants
    ]


def _counterpart(baseline: Evaluated, variant: Variant) -> Variant:
    """The counterpart of a variant in the baseline: of the same label, or the only one."""
    same = [before for before in baseline.variants if before.label == variant.label]
    if same or len(baseline.variants) == 1:
        return (same or list(baseline.variants))[0]
    labels = ", ".join(before.label for before in baseline.variants)
    raise LlmdoError(f"the baseline has no variant `{variant.label}`", hint=f"it has: {labels}")


def _missed(before: Variant, now: Variant) -> Iterator[Missed]:
    """The cases that passed in most of their trials before, and fail in most now."""
    for case in before.cases:
        then, share = before.share(case), now.share(case)
        if then is not None and share is not None and then > HALF > share:
            yield Missed(variant=now.label, case=case, before=then, now=share)
