"""What the tests of the parsers share: a place turned back into text, and short forms of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Span


def text_at(text: str, span: Span | None) -> str:
    """The stretch of `text` that `span` covers; fails where it leaves the text."""
    assert span is not None
    lines = text.split("\n")
    assert (span.line, span.column) <= (span.end_line, span.end_column)
    assert span.line >= 1
    assert span.end_line <= len(lines)
    assert 1 <= span.column <= len(lines[span.line - 1]) + 1
    assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
    covered = lines[span.line - 1 : span.end_line]
    covered[-1] = covered[-1][: span.end_column - 1]
    covered[0] = covered[0][span.column - 1 :]
    return "\n".join(covered)


def facts_of(problems: Iterable[Diagnostic]) -> list[tuple[str, int, int, str]]:
    """Code, line, column and message of each finding."""
    return [
        (problem.code, problem.at.span.line, problem.at.span.column, problem.message)
        for problem in problems
        if problem.at.span
    ]
