"""Evaluations: the result of each, and one as a table of its cases by variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.evaluation import commands as service
from llmdo.features.evaluation.expectation import plain, side_by_side
from llmdo.features.evaluation.gate import EvalGate
from llmdo.features.evaluation.rendering import case_title, cell, passed, reasons, totals, verdicts
from llmdo.features.page.endpoints import Endpoint, Inquiry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.evaluation.outcome import Evaluated, Trial, Variant
    from llmdo.features.page.subject import Subject


def listed(subject: Subject, inquiry: Inquiry) -> object:
    """All evaluations, the latest first."""
    del inquiry
    return {"evaluations": [_head(evaluated) for evaluated in service.listed(subject.with_runs)]}


def about(subject: Subject, inquiry: Inquiry) -> object:
    """One evaluation, case by case."""
    evaluated = service.show(subject.with_runs, inquiry.text("evaluation"), EvalGate())
    return {
        **_head(evaluated),
        "reason": evaluated.reason,
        "sentences": list(verdicts(evaluated)),
        "totals": [
            {"name": name, "values": [of(variant) for variant in evaluated.variants]}
            for name, of in totals(evaluated)
        ],
        "cases": [
            {
                "name": case,
                "title": case_title(evaluated, case),
                "differs": bool(evaluated.differing(case)),
                "expectation": _expectation(evaluated, case),
                "outputs": [_output(evaluated, variant, trial) for variant, trial in _ended(evaluated, case)],
                "cells": [_cell(variant, case, evaluated.repeat) for variant in evaluated.variants],
            }
            for case in evaluated.cases
        ],
    }


def _head(evaluated: Evaluated) -> dict[str, object]:
    return {
        "evaluation": evaluated.id,
        "name": evaluated.name,
        "entry": evaluated.entry,
        "began": evaluated.began,
        "repeat": evaluated.repeat,
        "number": len(evaluated.cases),
        "left": evaluated.unfinished,
        "missed": evaluated.held is not None and evaluated.held.is_missed,
        "variants": [{"label": variant.label, "passed": passed(variant)} for variant in evaluated.variants],
    }


def _cell(variant: Variant, case: str, repeat: int) -> dict[str, object]:
    text, shade = cell(variant, case, repeat)
    trials = [trial for trial in variant.trials if trial.case == case]
    return {"text": text, "shade": shade, "trials": [_trial(trial) for trial in trials]}


def _ended(evaluated: Evaluated, case: str) -> Iterator[tuple[Variant, Trial]]:
    return ((variant, trial) for variant in evaluated.variants for trial in variant.of(case))


def _expectation(evaluated: Evaluated, case: str) -> str:
    """Whether it is known what was expected of a case."""
    if evaluated.expected is None:
        return "unknown"
    return "stated" if case in evaluated.expected else "none"


def _output(evaluated: Evaluated, variant: Variant, trial: Trial) -> dict[str, object]:
    """What a trial said, beside what was expected of it."""
    expected = (evaluated.expected or {}).get(trial.case)
    both = (None, plain(trial.output)) if expected is None else side_by_side(expected, trial.output)
    return {
        "variant": variant.label,
        "number": trial.number,
        "run": trial.run,
        "passed": trial.passed,
        "error": trial.error,
        "is_expected": expected is not None and expected == trial.output,
        "expected": both[0],
        "actual": None if trial.output is None else both[1],
    }


def _trial(trial: Trial) -> dict[str, object]:
    return {
        "number": trial.number,
        "run": trial.run if trial.state != "queued" else "",
        "state": trial.state,
        "passed": trial.passed if trial.is_judged else None,
        "why": reasons([trial]) if trial.is_judged else [trial.error] if trial.error else [],
        "judges": list(dict.fromkeys(each.run for each in trial.judgements if each.run)),
    }


ENDPOINTS = (
    Endpoint(path="/api/evals", answer=listed),
    Endpoint(path="/api/eval", answer=about, parameters=("evaluation",)),
)
