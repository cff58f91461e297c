"""What an evaluation is held against: an earlier one, and how much has to pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.services.evaluation.document import parse
from llmdo.services.evaluation.folder import Evaluations
from llmdo.services.evaluation.outcome import Held, Missed
from llmdo.services.evaluation.statistics import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.services.evaluation.outcome import Evaluated, Variant

HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalGate:
    """What has to hold."""

    baseline: str | None = None
    """A file with an evaluation as JSON, or the id of one that is kept."""
    fail_under: float | None = None
    """The part that has to pass, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEvalGate:
    """The same, its baseline read."""

    baseline: Evaluated | None
    fail_under: float | None


def opened(gate: EvalGate, root: Path) -> OpenedEvalGate:
    """The gate with its baseline: read before anything is paid for.

    Raises:
        LlmdoError: There is no such baseline, or it cannot be read; or `--fail-under` is no part of a whole.
    """
    if gate.fail_under is not None and not 0 <= gate.fail_under <= 1:
        raise LlmdoError(f"`--fail-under {gate.fail_under:g}` is not between 0 and 1")
    return OpenedEvalGate(
        baseline=None if gate.baseline is None else _baseline(gate.baseline, root),
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


def held(evaluated: Evaluated, gate: OpenedEvalGate) -> Held | None:
    """What was missed; None where nothing is asked for.

    Raises:
        LlmdoError: The baseline is of another eval, or it is not clear with which of its variants to compare.
    """
    if gate.baseline is None and gate.fail_under is None:
        return None
    missed: list[Missed] = []
    lacking: dict[str, None] = {}
    comparisons = []
    if gate.baseline is not None:
        if gate.baseline.name != evaluated.name:
            raise LlmdoError(
                f"the baseline is of the eval `{gate.baseline.name}`, and this one is `{evaluated.name}`"
            )
        for variant in evaluated.variants:
            before = _counterpart(gate.baseline, variant)
            missed += _missed(before, variant)
            lacking.update(dict.fromkeys(case for case in before.cases if variant.share(case) is None))
            if compared := compare(before, variant, (f"the baseline {gate.baseline.id}", variant.label)):
                comparisons.append(compared)
    below = [
        variant.label
        for variant in evaluated.variants
        if gate.fail_under is not None and (variant.passed is None or variant.passed < gate.fail_under)
    ]
    return Held(
        baseline=gate.baseline.id if gate.baseline else None,
        missed=tuple(missed),
        lacking=tuple(lacking),
        comparisons=tuple(comparisons),
        fail_under=gate.fail_under,
        below=tuple(below),
    )


def _counterpart(baseline: Evaluated, variant: Variant) -> Variant:
    """The variant of the baseline that this one is held against: of the same label, or the only one."""
    same = [before for before in baseline.variants if before.label == variant.label]
    if same or len(baseline.variants) == 1:
        return (same or list(baseline.variants))[0]
    labels = ", ".join(before.label for before in baseline.variants)
    raise LlmdoError(f"the baseline has no variant `{variant.label}`", hint=f"it has: {labels}")


def _missed(before: Variant, now: Variant) -> Iterator[Missed]:
    """The cases that passed, in most of their trials, and that fail in most now."""
    for case in before.cases:
        then, share = before.share(case), now.share(case)
        if then is not None and share is not None and then > HALF > share:
            yield Missed(variant=now.label, case=case, before=then, now=share)
