"""A line of a source as a terminal shows it with the marks below it, and the frames of a failure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.backtrace import Frame

MAX_COLUMNS = 160  # of an excerpt: a longer line is cut around what is marked, and says so

_CUT = "..."
_TAB = "    "
_INVISIBLE = frozenset({"Mn", "Me"})
_JAMO = range(0x1161, 0x1200)  # vowels and finals of Korean, drawn into the syllable before them


def drawn(line: str, span: Span) -> tuple[str, str, str]:
    """The first line of `span`, the blanks below the text before the mark, and the mark.

    Control, bidi and invisible characters are spelled out, a tab is four spaces. The marked part is always visible,
    at least at its start; a mark that continues below the line says how far.
    """
    start = min(span.column - 1, len(line))
    goes_on = span.end_line > span.line and (span.end_line, span.end_column) != (span.line + 1, 1)
    end = len(line) if span.end_line > span.line else min(span.end_column - 1, len(line))
    # No more of a line than could be shown is looked at: one of a megabyte may hold thousands of findings.
    marked = _characters(line[start : min(end, start + MAX_COLUMNS + 1)])
    before = _characters(line[max(0, start - MAX_COLUMNS - 1) : start])
    after = _characters(line[end : end + MAX_COLUMNS + 1])
    if columns("".join((*before, *marked, *after))) > MAX_COLUMNS:
        before, marked, after = _cut(before, marked, after)
    shown_before, shown_marked = "".join(before), "".join(marked)
    mark = "^" * max(1, columns(shown_marked))
    if goes_on:
        mark += f" to line {span.end_line}"
    return shown_before + shown_marked + "".join(after), " " * columns(shown_before), mark


def _cut(before: list[str], marked: list[str], after: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The three parts as far as they fit: the mark without its overlong rest, then as much on both sides."""
    room = MAX_COLUMNS - 2 * (len(_CUT) + 1)
    middle = _fitting(marked, room)
    room -= columns("".join(middle))
    left = _fitting(reversed(before), max(room // 2, room - columns("".join(after))))[::-1]
    right = _fitting(after, room - columns("".join(left))) if len(middle) == len(marked) else []
    if len(left) < len(before):
        left = [f"{_CUT} ", *left]
    if len(middle) < len(marked) or len(right) < len(after):
        right = [*right, f" {_CUT}"]
    return left, middle, right


def _fitting(characters: Iterable[str], room: int) -> list[str]:
    """As many of the first characters as `room` columns hold."""
    fitting = []
    for character in characters:
        room -= columns(character)
        if room < 0:
            break
        fitting.append(character)
    return fitting


def _characters(text: str) -> list[str]:
    """Each character as a terminal shows it."""
    if text.isascii() and text.isprintable():
        return list(text)
    return [_TAB if character == "\t" else shown(character) for character in text]


def columns(text: str) -> int:
    """How many terminal columns `text` takes; wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in _INVISIBLE or ord(character) in _JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def frame_lines(frames: Sequence[Frame]) -> Iterator[str]:
    """The innermost frame, then who called it."""
    width = max((len(str(frame.line)) for frame in frames), default=1)
    blank = " " * width
    for number, frame in enumerate(frames):
        arrow = ":::" if number else "-->"
        yield f"{blank}{arrow} {shown(frame.path)}:{frame.line}:{frame.column} in {shown(frame.function)}"
        if frame.source:
            span = Span(frame.line, frame.column, frame.line, frame.end_column)
            source, before, mark = drawn(frame.source, span)
            yield f"{blank} |"
            yield f"{frame.line:>{width}} | {source}"
            yield f"{blank} | {before}{mark}"
