"""A file as it was read, and places in it."""

from __future__ import annotations

from functools import lru_cache

from llmdo.base.values import dataclass, field, in_json


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of text: 1-based lines and columns in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def _or_none(span: Span | None) -> object:
    return span or dict.fromkeys(("line", "column", "end_line", "end_column"))


@dataclass(frozen=True, slots=True)
class Location:
    """A place to show the user: a file and, if one exists, the stretch of text in it."""

    path: str
    """POSIX path relative to the workspace root."""
    span: Span | None = field(default=None, metadata=in_json(by=_or_none, flat=True))


@lru_cache(maxsize=2)  # thousands of findings may be about one file
def _lines(text: str) -> list[str]:
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A text file of the workspace: UTF-8 without its byte-order mark, every CRLF turned into LF."""

    path: str
    """POSIX path relative to the workspace root."""
    text: str
    is_plain: bool = field(default=False, compare=False, repr=False)
    """Whether it is known to be nothing but printable ASCII and line breaks."""
    returns: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    """The numbers of the lines that ended with CRLF."""

    def location(self, span: Span | None = None) -> Location:
        """The place of `span` in this file; of the whole file without one."""
        return Location(self.path, span)

    def line(self, number: int) -> str:
        """The line of that number, the first being 1; empty if there is none."""
        lines = _lines(self.text)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def marked(self, span: Span) -> str:
        """The text of a span that lies within one line; empty for any other, and for one outside the file."""
        lines = _lines(self.text)
        if span.line != span.end_line or span.line > len(lines):
            return ""
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]

    def span_between(self, start: int, end: int) -> Span:
        """The span of `text[start:end]`, both offsets in code points."""
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        end_line = self.text.count("\n", 0, end) + 1
        end_column = end - (self.text.rfind("\n", 0, end) + 1) + 1
        return Span(line, column, end_line, end_column)
