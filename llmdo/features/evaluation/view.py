"""Evaluations: the result of each, and one as a table of its cases by variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.evaluation import commands as service
from llmdo.features.evaluation.gate import EvalGate
from llmdo.features.evaluation.rendering import case_title, cell, passed, reasons, totals, verdicts
from llmdo.features.page.endpoints import Endpoint, Inquiry

if TYPE_CHECKING:
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
