"""Places as an editor counts them: lines from 0, and columns in the units of an encoding, mostly UTF-16."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.source import Span

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class At(NamedTuple):
    """A place between two characters, as an editor counts."""

    line: int
    column: int


class EditorText:
    """One text, to us lines that end in LF and columns in code points from 1; to an editor CR ends a line as well."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self._encoding = encoding
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self._firsts: Sequence[int] | None = None

    @property
    def lines(self) -> Sequence[str]:
        """The lines as llmdo counts them: they end in LF."""
        return self._lines

    def range(self, span: Span) -> tuple[At, At]:
        """The editor's range of a span; columns behind the end of a line become its end."""
        return self.at(span.line, span.column), self.at(span.end_line, span.end_column)

    def at(self, line: int, column: int) -> At:
        """The editor's place of our line and column."""
        if line > len(self._lines):
            line, column = len(self._lines), len(self._lines[-1]) + 1
        before = self._lines[line - 1][: max(column - 1, 0)]
        returns = before.count("\r")
        return At(self._first_lines[line - 1] + returns, self._units(before.rpartition("\r")[2]))

    def place(self, at: At) -> tuple[int, int]:
        """Our line and column of an editor's place; columns behind the end of a line become its end."""
        firsts = self._first_lines
        if at.line < 0 or at.line > firsts[-1] + self._lines[-1].count("\r"):
            return len(self._lines), len(self._lines[-1]) + 1
        number = bisect_right(firsts, at.line) - 1
        parts = self._lines[number].split("\r")
        within = at.line - firsts[number]
        start = sum(len(part) + 1 for part in parts[:within])
        return number + 1, start + self._points(parts[within], at.column) + 1

    @property
    def _first_lines(self) -> Sequence[int]:
        """The editor's number of the first of its lines in each of ours."""
        if self._firsts is None:
            count = 0
            firsts = []
            for number, line in enumerate(self._lines):
                firsts.append(number + count)
                count += line.count("\r") if "\r" in line else 0
            self._firsts = firsts
        return self._firsts

    def _units(self, text: str) -> int:
        if text.isascii() or self._encoding == "utf-32":
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)

    def _points(self, text: str, column: int) -> int:
        """The number of characters of `text` before a column in units, without one that the column would split."""
        column = max(column, 0)
        if text.isascii() or self._encoding == "utf-32":
            return min(column, len(text))
        units = 0
        for number, character in enumerate(text):
            units += self._units(character)
            if units > column:
                return number
        return len(text)
