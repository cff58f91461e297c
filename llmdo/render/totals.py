"""The usage of runs together, as a table or JSON: a sum that lacks something says how much it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.jsonable import document
from llmdo.render.amounts import counted, money

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    return document("llmdo.runs.stats/1", {"by": by, "totals": totals}, in_ascii=True)


def _row(total: Total) -> tuple[str, ...]:
    tokens = f"{total.input_tokens:,} + {total.output_tokens:,}"
    return (
        excerpt(total.name, _LONGEST_NAME),
        f"{total.runs:,}",
        f"{total.requests:,}",
        _amount(tokens, total.unmeasured, is_known=total.is_measured),
        _amount(money(total.cost_usd), total.unpriced, is_known=total.is_priced),
        f"{total.seconds:,.1f}",
        f"{total.failures:,}",
        *("-" if number is None else f"{number:,}" for number in (total.questions, total.answers)),
    )


def _amount(known: str, unknown: int, *, is_known: bool) -> str:
    if not is_known:
        return "unknown"
    return f"{known}, unknown of {counted(unknown, 'request')}" if unknown else known
