"""An evaluation as the document `llmdo.evaluation/1`, and the way back: the kept, printed and compared form."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.evaluation.outcome import Evaluated, Held, Judgement, Missed, Trial, Variant
from llmdo.features.evaluation.regression import Regression
from llmdo.features.evaluation.statistics import VariantComparison

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "llmdo.evaluation/1"


def document(evaluated: Evaluated) -> dict[str, object]:
    """The document, with computed figures for programs that only show it."""
    return {
        "schema": SCHEMA,
        "id": evaluated.id,
        "name": evaluated.name,
        "entry": evaluated.entry,
        "digest": evaluated.digest,
        "began": datetime.fromtimestamp(evaluated.began, UTC).isoformat(timespec="milliseconds"),
        "repeat": evaluated.repeat,
        "records": evaluated.records,
        "finished": not evaluated.unfinished,
        "reason": evaluated.reason,
        "interrupted": evaluated.interrupted,
        "cases": [_case(evaluated, case) for case in evaluated.cases],
        "variants": [_variant(variant) for variant in evaluated.variants],
        "comparisons": list(map(_comparison, evaluated.comparisons)),
        "held": None if evaluated.held is None else _held(evaluated.held),
    }


def _comparison(comparison: VariantComparison) -> dict[str, object]:
    values = {each.name: getattr(comparison, each.name) for each in fields(comparison)}
    return {**values, "shown": comparison.is_shown, "sentence": comparison.sentence}


def _held(held: Held) -> dict[str, object]:
    return {
        "baseline": held.baseline,
        "missed": [{each.name: getattr(case, each.name) for each in fields(case)} for case in held.missed],
        "regressions": list(map(_regression, held.regressions)),
        "lacking": list(held.lacking),
        "comparisons": list(map(_comparison, held.comparisons)),
        "fail_under": held.fail_under,
        "below": list(held.below),
    }


def _regression(regression: Regression) -> dict[str, object]:
    values = {each.name: getattr(regression, each.name) for each in fields(regression)}
    return {
        **values,
        "lost": list(regression.lost),
        "shown": regression.is_shown,
        "worse": regression.is_worse,
        "sentence": regression.sentence,
    }


def _case(evaluated: Evaluated, case: str) -> dict[str, object]:
    """One case by variant: the passed trials, and the differences."""
    return {
        "name": case,
        "passed": {variant.label: variant.share(case) for variant in evaluated.variants},
        "runs": {
            variant.label: [trial.run or None for trial in variant.trials if trial.case == case]
            for variant in evaluated.variants
        },
        "differs": differing(evaluated, case),
    }


def differing(evaluated: Evaluated, case: str) -> list[str]:
    """The labels of the variants whose result in a case differs from that of the first."""
    first, *others = evaluated.variants
    return [variant.label for variant in others if _shown(variant, case) != _shown(first, case)]


def _shown(variant: Variant, case: str) -> list[object]:
    """The comparable parts of a case: the ends of its trials, their outputs and judgements."""
    return [
        (trial.state, json.dumps(trial.output), [(each.evaluator, each.value) for each in trial.judgements])
        for trial in variant.trials
        if trial.case == case
    ]


def _variant(variant: Variant) -> dict[str, object]:
    judged = [trial for trial in variant.trials if trial.is_judged]
    costs = [trial.cost_usd for trial in judged]
    return {
        "label": variant.label,
        "models": list(variant.models),
        "revision": variant.revision,
        "runs_code": variant.runs_code,
        "batch": variant.batch,
        "recording": variant.recording,
        "recorded_usd": variant.recorded_usd,
        "judges": dict(variant.judges),
        "passed": variant.passed,
        "interval": None if variant.interval is None else list(variant.interval),
        "all_passed": {str(times): variant.all_passed(times) for times in range(1, variant.repeat + 1)},
        "requests": sum(trial.requests for trial in judged),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "seconds": round(sum(trial.seconds or 0 for trial in judged), 3),
        "trials": [_trial(trial) for trial in variant.trials],
    }


def _trial(trial: Trial) -> dict[str, object]:
    values = {each.name: getattr(trial, each.name) for each in fields(trial)}
    judgements = [
        {
            "evaluator": each.evaluator,
            "passed": each.passed,
            "value": each.value,
            "reason": each.reason,
            "run": each.run,
        }
        for each in trial.judgements
    ]
    return {**values, "passed": trial.passed if trial.is_judged else None, "judgements": judgements}


def parse(text: str, name: str) -> Evaluated:
    """The evaluation in the text of a document.

    Raises:
        LlmdoError: `name` is no such document.
    """
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise LlmdoError(
                f"`{name}` is not an evaluation that this llmdo can read",
                hint="`llmdo eval --format json` writes one",
            )
        return _evaluated(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LlmdoError(
            f"`{name}` is not an evaluation", hint="`llmdo eval --format json` writes one"
        ) from error


def _evaluated(data: Mapping[str, Any]) -> Evaluated:
    return Evaluated(
        id=str(data["id"]),
        name=str(data["name"]),
        entry=str(data["entry"]),
        digest=str(data["digest"]),
        began=datetime.fromisoformat(data["began"]).timestamp(),
        repeat=int(data["repeat"]),
        records=bool(data["records"]),
        cases=tuple(str(case["name"]) for case in data["cases"]),
        variants=tuple(map(_variant_of, data["variants"])),
        reason=data["reason"],
        interrupted=bool(data["interrupted"]),
        held=None if data["held"] is None else _held_of(data["held"]),
    )


def _held_of(data: Mapping[str, Any]) -> Held:
    names = {each.name for each in fields(VariantComparison)}
    return Held(
        baseline=data["baseline"],
        missed=tuple(Missed(**missed) for missed in data["missed"]),
        regressions=tuple(map(_regression_of, data.get("regressions", ()))),
        lacking=tuple(data["lacking"]),
        comparisons=tuple(
            VariantComparison(**{name: compared[name] for name in names}) for compared in data["comparisons"]
        ),
        fail_under=data["fail_under"],
        below=tuple(data["below"]),
    )


def _regression_of(data: Mapping[str, Any]) -> Regression:
    values = {each.name: data[each.name] for each in fields(Regression)}
    return Regression(**{**values, "lost": tuple(data["lost"])})


def _variant_of(data: Mapping[str, Any]) -> Variant:
    return Variant(
        label=str(data["label"]),
        models=tuple(map(str, data["models"])),
        revision=data["revision"],
        runs_code=bool(data["runs_code"]),
        batch=str(data["batch"]),
        recording=data["recording"],
        judges={str(judge): str(batch) for judge, batch in data["judges"].items()},
        trials=tuple(map(_trial_of, data["trials"])),
    )


def _trial_of(data: Mapping[str, Any]) -> Trial:
    judgements = tuple(
        Judgement(
            evaluator=str(each["evaluator"]), value=each["value"], reason=each["reason"], run=each["run"]
        )
        for each in data["judgements"]
    )
    names = {each.name for each in fields(Trial)} - {"judgements"}
    return Trial(judgements=judgements, **{name: data[name] for name in names})
