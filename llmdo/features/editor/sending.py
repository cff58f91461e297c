"""Our values as those of the Language Server Protocol: places, findings, and the page about a code."""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from lsprotocol import types
from pygls import uris

from llmdo import checks
from llmdo.base import cache as memory
from llmdo.base.diagnostic import shown
from llmdo.base.source import Span
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location


@cache
def explained_page(code: str) -> Path | None:
    """The file that explains `code`; None if the person has no folder to keep it in."""
    try:
        if memory.is_off(os.environ):
            return None
        folder = Path(memory.folder_of_person(os.environ), "explained", __version__)
        target = folder / f"{code}.md"
        text = f"# {checks.explanation(code)}"
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = target.with_suffix(f".{os.getpid()}")
            beside.write_text(text, encoding="utf-8", newline="\n")
            beside.replace(target)
    except OSError:
        return None
    return target


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


if TYPE_CHECKING:
    TextOf = Callable[[str], EditorText]
    """The text of a file of the workspace, by its path."""
    UriOf = Callable[[str], str]


_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_UNUSED = frozenset({"LDO303", "LDO304", "LDO305"})
_WHOLE = Span(1, 1, 1, 1)


def range_of(text: EditorText, span: Span | None) -> types.Range:
    """A stretch of text; the beginning of the file without one."""
    start, end = text.range(span or _WHOLE)
    return types.Range(types.Position(*start), types.Position(*end))


def at(position: types.Position) -> At:
    """A place that the editor names."""
    return At(position.line, position.character)


def location(at: Location, text_of: TextOf, uri_of: UriOf) -> types.Location:
    """A place in a file of the workspace."""
    return types.Location(uri_of(at.path), range_of(text_of(at.path), at.span))


def diagnostic(finding: Diagnostic, text_of: TextOf, uri_of: UriOf) -> types.Diagnostic:
    """A finding, as the editor shows it in the file that it is about."""
    page = explained_page(finding.code)
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    return types.Diagnostic(
        range=range_of(text_of(finding.at.path), finding.at.span),
        message=shown(finding.message) + hint,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(uris.from_fs_path(str(page)) or "") if page else None,
        source="llmdo",
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNUSED and finding.at.span else None,
        related_information=[
            types.DiagnosticRelatedInformation(location(other.at, text_of, uri_of), shown(other.message))
            for other in finding.related
        ]
        or None,
    )
