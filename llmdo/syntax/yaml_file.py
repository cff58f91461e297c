"""A file that is YAML as a whole to `Document`: read as a header is, its places counted from its first line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from llmdo.base.source import Span
from llmdo.base.values import replace
from llmdo.syntax import header
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.source import Source
    from llmdo.syntax.document import Route

    Spans = Mapping[Route, tuple[Span, Span]]

BOUNDS = header.YamlBounds(4 * 1024 * 1024, 400_000)


def parse(source: Source) -> Document:
    """The document of the file `source`; its readable part if it has problems."""
    if not source.text.strip():
        return Document(source, {}, dict)
    text = source.text
    parsed = header.parse(source, text, bounds=BOUNDS)
    problems = tuple(
        replace(
            problem,
            message=of_a_file(problem.message),
            at=replace(problem.at, span=shifted(problem.at.span, -1) if problem.at.span else None),
            related=tuple(
                replace(each, at=replace(each.at, span=shifted(each.at.span, -1) if each.at.span else None))
                for each in problem.related
            ),
        )
        for problem in parsed.problems
    )
    return Document(source, parsed.data, cache(lambda: moved(parsed.index(), -1)), problems)


def of_a_file(message: str) -> str:
    """A message about a header, reworded for a file."""
    message = message.replace("a header is a mapping", "a mapping is expected here")
    return message.replace("the header", "the file").replace("a header", "this file")


def shifted(span: Span, lines: int) -> Span:
    """`span`, moved down by this number of lines."""
    return Span(max(span.line + lines, 1), span.column, max(span.end_line + lines, 1), span.end_column)


def moved(spans: Spans, lines: int) -> Spans:
    """The places, moved down by this number of lines."""
    return _MovedPlaces(spans, lines)


class _MovedPlaces(Mapping["Route", "tuple[Span, Span]"]):
    """Places that are moved when they are asked for: there may be thousands, of which a finding needs a few."""

    __slots__ = ("_lines", "_spans")

    def __init__(self, spans: Spans, lines: int) -> None:
        self._spans, self._lines = spans, lines

    def __getitem__(self, route: Route) -> tuple[Span, Span]:
        key, value = self._spans[route]
        return shifted(key, self._lines), shifted(value, self._lines)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)
