"""Judges a report by its verdict and its red flags: `llmdo eval decks` calls it for each case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pydantic_evals.evaluators import EvaluatorContext


class Expected(TypedDict):
    """What a case says about its deck."""

    verdict: str
    flags: list[str]
    """How the title of each red flag begins, in their order."""


VERDICT = re.compile(r"^\*\*Verdict: (.+?)\*\*", re.MULTILINE)
FLAG = re.compile(r"^\d+\. \*\*(.+?)\.\*\*", re.MULTILINE)


def same_verdict(ctx: EvaluatorContext[str, str, object]) -> bool:
    """Whether the report comes to the verdict that is expected."""
    verdict = VERDICT.search(ctx.output)
    return verdict is not None and verdict[1] == _expected(ctx)["verdict"]


def flags_named(ctx: EvaluatorContext[str, str, object]) -> float:
    """The part of the expected red flags that the report names, from 0 to 1."""
    titles, wanted = FLAG.findall(ctx.output), _expected(ctx)["flags"]
    named = sum(any(title.startswith(flag) for title in titles) for flag in wanted)
    return named / len(wanted) if wanted else float(not titles)


def _expected(ctx: EvaluatorContext[str, str, object]) -> Expected:
    expected: Expected = ctx.expected_output
    return expected
