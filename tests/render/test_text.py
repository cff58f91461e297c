"""The text format: the right part of the right line, marked, whatever is in it."""

from __future__ import annotations

import pytest

from llmdo.base.diagnostic import Related, finding
from llmdo.base.source import Location, Source, Span
from llmdo.render.excerpt import MAX_COLUMNS, columns
from llmdo.render.findings import concise, text

from .reports import HOSTILE, at


def marked(line: str, column: int, end_column: int, end_line: int = 1) -> tuple[str, str]:
    """The source line and the line of marks below it, as text shows them, both without their margin."""
    diagnostic = finding("LDO103", at("a", 1, column, end_line, end_column), "it is wrong")
    shown = text([diagnostic], lambda _path: line.split("\n"))
    _, _, _, source, marks, *_ = shown.split("\n")
    assert source.startswith("1 | ")
    assert marks.startswith("  | ")
    return source[4:], marks[4:]


def above(source: str, marks: str) -> str:
    """The part of the source line that stands above the marks, by terminal columns."""
    start = len(marks) - len(marks.lstrip())
    end = len(marks.rstrip())
    part, column = "", 0
    for character in source:
        if start <= column < end:
            part += character
        column += columns(character)
    return part


@pytest.mark.parametrize(
    ("line", "column", "end_column", "expected"),
    [
        ("abc def ghi", 5, 8, "def"),
        ("你好 def ghi", 4, 7, "def"),
        ("abc 你好 ghi", 5, 7, "你好"),
        ("\tabc\tdef", 6, 9, "def"),
        ("e\u0301e\u0301 def", 6, 9, "def"),
        ("ab\u20dd\ufe0f def", 6, 9, "def"),
        ("\u1100\u1161\u11a8 def", 5, 8, "def"),
        ("\u202edef", 2, 5, "def"),
        ("a\x1b[31mb", 2, 3, "\\u{1b}"),
        ("a\u200bdef", 3, 6, "def"),
    ],
)
def test_the_marks_stand_below_what_they_mark(line: str, column: int, end_column: int, expected: str) -> None:
    source, marks = marked(line, column, end_column)
    assert above(source, marks) == expected
    assert set(marks) == {" ", "^"} or set(marks) == {"^"}


def test_an_empty_span_is_one_mark_and_one_at_the_end_of_a_line_stands_behind_it() -> None:
    assert marked("abc", 2, 2) == ("abc", " ^")
    assert marked("abc", 4, 4) == ("abc", "   ^")
    assert marked("", 1, 1) == ("", "^")


def test_a_span_at_the_end_of_the_file_is_marked() -> None:
    diagnostic = finding("LDO101", at("a", 3, 1, 3, 1), "it ends here")
    assert text([diagnostic], lambda _path: ["x", "y", ""]).split("\n")[3:5] == ["3 | ", "  | ^"]


def test_a_span_outside_the_file_is_a_place_without_an_excerpt_and_keeps_its_note() -> None:
    related = [Related(at("a", 8, 1, 8, 2), "here")]
    diagnostic = finding("LDO101", at("a", 9, 1, 9, 2), "it is gone", related=related)
    assert text([diagnostic], lambda _path: ["x"]) == (
        "error[LDO101]: it is gone\n --> a:9:1\n ::: a:8:1\n  = here\n\n1 error\n"
    )


def test_a_span_of_several_lines_is_marked_to_the_end_of_its_first_and_says_where_it_ends() -> None:
    assert marked("ab cd\nef\ngh", 4, 2, end_line=3) == ("ab cd", "   ^^ to line 3")


def test_a_span_that_ends_before_the_next_line_is_of_one_line() -> None:
    assert marked("ab cd\nef", 4, 1, end_line=2) == ("ab cd", "   ^^")


@pytest.mark.parametrize("filler", ["x", "你", "\x1b", "\t"])
@pytest.mark.parametrize("before", [0, 50, 5_000])
@pytest.mark.parametrize("after", [0, 5_000])
@pytest.mark.parametrize("mark", ["MARK", "M" * 1_000])
def test_what_is_marked_is_visible_in_a_line_of_any_length(
    filler: str, before: int, after: int, mark: str
) -> None:
    line = filler * before + mark + filler * after
    source, marks = marked(line, before + 1, before + 1 + len(mark))
    assert columns(source) <= MAX_COLUMNS
    seen = above(source, marks)
    assert seen == mark if mark == "MARK" else set(seen) == {"M"} and len(seen) > 100
    assert source.startswith("... ") or before < 5_000
    assert not source.startswith("... ") or before > 0
    assert source.endswith(" ...") == (after > 0 or len(mark) > MAX_COLUMNS)


def test_a_line_that_just_fits_is_shown_whole() -> None:
    line = "x" * MAX_COLUMNS
    assert marked(line, 1, 2)[0] == line
    assert marked(line + "x", 1, 2)[0].endswith(" ...")


def test_thousands_of_findings_in_one_long_line_are_quick() -> None:
    line = "x" * 1_000_000
    diagnostics = [finding("LDO103", at("a", 1, n * 100 + 1, 1, n * 100 + 5), "wrong") for n in range(5_000)]
    assert text(diagnostics, lambda _path: [line]).count("^^^^") == 5_000


def test_places_in_a_file_with_crlf_are_those_of_the_file_with_lf() -> None:
    source = Source("a", "ab\r\ncd\r\n".replace("\r\n", "\n"))
    diagnostic = finding("LDO103", Location("a", Span(2, 1, 2, 3)), "wrong")
    assert "2 | cd\n  | ^^\n" in text([diagnostic], lambda _path: source.text.split("\n"))


def test_nothing_of_a_message_reaches_the_terminal_raw() -> None:
    diagnostic = finding(
        "LDO103", at(HOSTILE, 1, 1, 1, 9), HOSTILE, hint=HOSTILE, related=[Related(at("a"), HOSTILE)]
    )
    for shown in (text([diagnostic], lambda _path: [HOSTILE]), concise([diagnostic])):
        assert all(character == "\n" or character.isprintable() for character in shown)
        assert len(shown.split("\n")) < 15


def test_there_is_colour_only_where_it_is_asked_for() -> None:
    diagnostic = finding("LDO103", at("a", 1, 1, 1, 2), "wrong")
    assert "\x1b[31;1merror[LDO103]\x1b[0m: wrong" in text([diagnostic], lambda _path: ["x"], colour=True)
    assert "\x1b" not in text([diagnostic], lambda _path: ["x"])
