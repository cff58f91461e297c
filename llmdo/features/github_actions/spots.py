"""Places of words within the text of a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.source import Source
from llmdo.syntax.document import Document, Place
from llmdo.syntax.yaml_file import shifted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.source import Span
    from llmdo.syntax.document import Route

SPOT = "spot"
"""The single key with a place in a synthetic document, and the group of a pattern whose place is meant."""


def spot_in(at: Place, words: str | re.Pattern[str]) -> Place:
    """The place of some words, or of the group `spot` of a pattern, in a value; that of the value without them."""
    source = at.document.source

    def index() -> Mapping[Route, tuple[Span, Span]]:
        span = at.location.span
        if span is None:
            return {}
        # Only its own lines are looked through: a workflow may have thousands of jobs.
        lines = "\n".join(map(source.line, range(span.line, span.end_line + 1)))
        start, end = _position(lines, words)
        own = Source(source.path, lines).span_between(start, end)
        spot = shifted(own, span.line - 1) if start >= 0 else span
        return {(SPOT,): (spot, spot)}

    return Place(Document(source, {}, index), (SPOT,))


def _position(lines: str, words: str | re.Pattern[str]) -> tuple[int, int]:
    """The start and the end of some words in some lines, at best where no other name contains them; else -1."""
    if not isinstance(words, str):
        spot = words.search(lines)
        return spot.span(SPOT) if spot else (-1, -1)
    whole = re.search(rf"(?<![\w-]){re.escape(words)}(?![\w(-])", lines) if words else None
    start = whole.start() if whole else lines.find(words) if words else -1
    return start, start + len(words)
