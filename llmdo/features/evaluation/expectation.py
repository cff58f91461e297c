"""Expected outputs beside actual ones: both as lines of parts, of which those that only one side has are marked."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.values import Json

MOST = 4_000  # characters of a value that are shown, with their differences
WORDS = 1_500  # of both values together: comparing more takes too long, so that whole lines are compared

_WORD = re.compile(r"\s|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownValue:
    """A value in lines."""

    lines: tuple[tuple[tuple[str, bool], ...], ...]
    """Each line in parts: the text, and whether only this value has it."""
    left_out: int
    """Characters at its end that are not shown."""


def side_by_side(expected: Json, actual: Json) -> tuple[ShownValue, ShownValue]:
    """Both values, with their differences marked."""
    texts = (_text(expected, actual), _text(actual, expected))
    first, second = (_pieces(text[:MOST]) for text in texts)
    if len(first) + len(second) > WORDS:
        first, second = (text[:MOST].splitlines(keepends=True) for text in texts)
    matcher = SequenceMatcher(a=first, b=second, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    marked = (
        {n for _, a, b, _, _ in changes for n in range(a, b)},
        {n for *_, a, b in changes for n in range(a, b)},
    )
    return (_shown(first, marked[0], texts[0]), _shown(second, marked[1], texts[1]))


def plain(value: Json) -> ShownValue:
    """A value that nothing is compared with."""
    text = _text(value, value)
    return _shown([text[:MOST]], set(), text)


def _text(value: Json, beside: Json) -> str:
    """A text as it is, and any other value, or one beside such a value, as JSON; all that hides is spelled out."""
    if isinstance(value, str) and isinstance(beside, str | None):
        text = value
    else:
        text = "" if value is None else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    return "\n".join(visible(line, prose=True) for line in text.split("\n"))


def _pieces(text: str) -> list[str]:
    return _WORD.findall(text)


def _shown(pieces: Iterable[str], marked: set[int], text: str) -> ShownValue:
    lines = tuple(tuple(line) for line in _lines((piece, n in marked) for n, piece in enumerate(pieces)))
    return ShownValue(lines=lines, left_out=max(0, len(text) - MOST))


def _lines(pieces: Iterable[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    """The pieces in lines, neighbours of one kind together."""
    line: list[tuple[str, bool]] = []
    for piece, is_marked in pieces:
        first, *others = piece.split("\n")
        _add(line, first, is_marked=is_marked)
        for text in others:
            yield line
            line = []
            _add(line, text, is_marked=is_marked)
    yield line


def _add(line: list[tuple[str, bool]], text: str, *, is_marked: bool) -> None:
    if not text:
        return
    if line and line[-1][1] == is_marked:
        line[-1] = (line[-1][0] + text, is_marked)
    else:
        line.append((text, is_marked))
