"""An evaluation as the document `llmdo.evaluation/1`, and the way back: the kept, printed and compared form."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.jsonable import record
from llmdo.features.evaluation.outcome import IN_FULL, Evaluated, Held, Judgement, Missed, Trial, Variant
from llmdo.features.evaluation.regression import Regression
from llmdo.features.evaluation.statistics import VariantComparison

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "llmdo.evaluation/1"


def document(evaluated: Evaluated) -> dict[str, object]:
    """The document, with computed figures for programs that only show it."""
    return {"schema": SCHEMA, **record(evaluated, IN_FULL)}


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
