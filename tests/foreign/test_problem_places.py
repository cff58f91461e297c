"""The place of a problem of YAML holds what its message means, wherever the text with it begins in its file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from llmdo.base.source import Source
from llmdo.foreign import reading
from llmdo.syntax import frontmatter, yaml_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmdo.base.diagnostic import Diagnostic

_KEYS = ("description", "model", "name", "tools")

# A line with a mistake below its first key, and the text at the place of the problem.
_MISTAKES = (
    ("description: ab\x9dc", "\x9d"),
    ("description: ab\x1bc", "\x1b"),
    ("description: ab\x85c", "\x85"),
    ("description: ab\u2028c", "\u2028"),
    ("description: ab\ufeffc", "\ufeff"),
    ("description: @ab", "@"),
    ("description: a: b", ":"),
    ("description: 'a' b", "'"),
    ('description: "a\\q"', "\\"),
    ("description: [a] b", "]"),
    ("description: [a, , b]", ","),
    ("description:\n\t- a", "\t"),
    ("description: 1: 2\n<<<<<<< ours", "<<<<<<<"),
)


def _of_worker(text: str) -> Iterable[Diagnostic]:
    return frontmatter.parse(Source("a.md", f"---\n{text}---\n\nWork.\n")).document.problems


def _of_chunks(text: str) -> Iterable[Diagnostic]:
    read = reading.text(Source("a.md", f"---\n{text}---\n\nWork.\n"), _KEYS)
    return read.document.problems if read else ()


def _below_a_line(text: str) -> Iterable[Diagnostic]:
    read = reading.text(Source("a.md", f"\n---\n{text}---\n\nWork.\n"), _KEYS)
    return read.document.problems[1:] if read else ()  # the first is about the line above the header


def _of_file(text: str) -> Iterable[Diagnostic]:
    return yaml_file.parse(Source("a.yaml", text)).problems


def _of_another_file(text: str) -> Iterable[Diagnostic]:
    return reading.yaml(Source("a.yaml", text)).problems


def _of_one_document(text: str) -> Iterable[Diagnostic]:
    return reading.yaml(Source("a.yaml", f"# Notes.\n---\n{text}")).problems


_LINES_ABOVE = {
    _of_worker: 1,
    _of_chunks: 1,
    _below_a_line: 2,
    _of_file: 0,
    _of_another_file: 0,
    _of_one_document: 2,
}


@pytest.mark.parametrize("read", _LINES_ABOVE, ids=lambda read: read.__name__.strip("_"))
@pytest.mark.parametrize(("mistake", "meant"), _MISTAKES, ids=lambda text: ascii(text)[1:-1])
def test_the_text_at_the_place_of_a_problem_is_what_it_means(
    read: Callable[[str], Iterable[Diagnostic]], mistake: str, meant: str
) -> None:
    text = f"name: a\nmodel: b\n{mistake}\ntools: c\n"
    problems = [each for each in read(text) if each.at.span]
    assert problems
    lines = text.split("\n")
    for each in problems:
        span = each.at.span
        assert span is not None
        line = lines[span.line - 1 - _LINES_ABOVE[read]]
        assert line[span.column - 1 : span.end_column - 1] == meant, (each.message, span)
        if character := re.search(r"U\+([0-9A-F]{4})", each.message):
            assert chr(int(character[1], 16)) == meant
