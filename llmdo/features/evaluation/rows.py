"""An evaluation as rows, one for each trial: CSV for a spreadsheet, JSONL for a program."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from llmdo.features.evaluation.rendering import reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.values import Json
    from llmdo.features.evaluation.outcome import Evaluated

COLUMNS = (
    "evaluation",
    "eval",
    "variant",
    "case",
    "number",
    "run",
    "state",
    "passed",
    "why",
    "output",
    "error",
    "requests",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "seconds",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that a spreadsheet would compute."""


def as_csv(evaluated: Evaluated) -> str:
    """A header line, then one line for each trial; data as JSON, unknown values empty.

    A text of others that a spreadsheet would take for a formula begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows(evaluated))
    return text.getvalue()


def as_jsonl(evaluated: Evaluated) -> str:
    """A JSON object for each trial, with the result of each of its evaluators."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(evaluated))


def rows(evaluated: Evaluated) -> Iterator[dict[str, Json]]:
    """The facts of each trial, by column, and its `judgements`."""
    for variant in evaluated.variants:
        for trial in variant.trials:
            yield {
                "evaluation": evaluated.id,
                "eval": evaluated.name,
                "variant": variant.label,
                "case": trial.case,
                "number": trial.number,
                "run": trial.run or None,
                "state": trial.state,
                "passed": trial.passed if trial.is_judged else None,
                "why": "; ".join(reasons([trial])) if trial.is_judged else None,
                "output": trial.output,
                "error": trial.error,
                "requests": trial.requests if trial.is_judged else None,
                "input_tokens": trial.input_tokens,
                "output_tokens": trial.output_tokens,
                "cost_usd": trial.cost_usd,
                "seconds": trial.seconds,
                "judgements": [
                    {
                        "evaluator": each.evaluator,
                        "passed": each.passed,
                        "value": each.value,
                        "reason": each.reason,
                    }
                    for each in trial.judgements
                ],
            }


def _cell(value: Json) -> Json:
    """A value as a cell."""
    if value is None or isinstance(value, int | float):
        return json.dumps(value) if isinstance(value, bool) else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULA) else text
