"""The usage of runs together, as a table or JSON: a sum that lacks something says how much it lacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.values import fields
from llmdo.render.amounts import counted, money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.values import Json
    from llmdo.journal.totals import By, Total

_HEADS = ("runs", "requests", "tokens", "cost", "seconds", "failures", "questions", "answers")
_LONGEST_NAME = 60  # characters


def as_text(totals: Sequence[Total], by: By) -> str:
    """A line for each name."""
    rows = [(by, *_HEADS), *map(_row, totals)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in rows
    )


def as_json(totals: Sequence[Total], by: By) -> str:
    """The document `llmdo.runs.stats/1`; null is a value that nobody measured, priced or asks."""
    document = {"schema": "llmdo.runs.stats/1", "by": by, "totals": list(map(record, totals))}
    return json.dumps(document, indent=2) + "\n"


def record(total: Total) -> dict[str, Json]:
    """One of them as plain data."""
    is_measured, is_priced = _is_known(total, total.unmeasured), _is_known(total, total.unpriced)
    return {
        **{each.name: getattr(total, each.name) for each in fields(total)},
        "input_tokens": total.input_tokens if is_measured else None,
        "output_tokens": total.output_tokens if is_measured else None,
        "cost_usd": str(total.cost_usd) if is_priced else None,
    }


def _row(total: Total) -> tuple[str, ...]:
    tokens = f"{total.input_tokens:,} + {total.output_tokens:,}"
    return (
        excerpt(total.name, _LONGEST_NAME),
        f"{total.runs:,}",
        f"{total.requests:,}",
        _amount(tokens, total, total.unmeasured),
        _amount(money(total.cost_usd), total, total.unpriced),
        f"{total.seconds:,.1f}",
        f"{total.failures:,}",
        *("-" if number is None else f"{number:,}" for number in (total.questions, total.answers)),
    )


def _is_known(total: Total, unknown: int) -> bool:
    """Whether some requests have an amount that `unknown` of them lack."""
    return unknown < total.requests or not total.requests


def _amount(known: str, total: Total, unknown: int) -> str:
    if not _is_known(total, unknown):
        return "unknown"
    return f"{known}, unknown of {counted(unknown, 'request')}" if unknown else known
