"""The header of an agent file as `@cursor/sdk` 1.0.18 reads it: line by line, between `---` wherever they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.source import Span
from llmdo.foreign.reading import Text
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route

_FENCE = "---"
_BLOCK = re.compile(r"[|>][+-]?")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def agent_text(source: Source, keys: Collection[str]) -> Text | None:
    """The header and the prompt of a file; None without a header. Of lines further in, those with `keys` count.

    Capitals make no difference to these keys.
    """
    lines = source.text.split("\n")
    fences = _fences(lines)
    if fences is None:
        return None
    start, end = fences
    values: dict[str, tuple[int, str]] = {}
    opened = Span(start + 1, 1, start + 1, len(_FENCE) + 1)
    spans: dict[Route, tuple[Span, Span]] = {(_FENCE,): (opened, opened)}
    for number, key, value in _entries(lines, start + 1, end):
        name = key.lower() if key.lower() in keys else key
        if name not in keys and lines[number][0].isspace():
            continue
        values[name] = number, value
        spans[name,] = _spans(lines[number], number + 1, key, value)
    data: dict[str, Json] = {
        name: _below(lines, number + 1, end) if _BLOCK.fullmatch(value) else value
        for name, (number, value) in values.items()
    }
    offset = sum(len(line) + 1 for line in lines[:end]) + len(_FENCE)
    rest = source.text[offset:]
    return Text(Document(source, data, lambda: spans), offset + len(rest) - len(rest.lstrip()))


def rules_around(content: Text, keys: Collection[str]) -> tuple[int, int] | None:
    """The lines of two rules of a text between which the client takes all for a header; None if it is one.

    A header has some of `keys`, or begins in the first line.
    """
    document = content.document
    fences = _fences(document.source.text.split("\n"))
    if fences is None or fences[0] == 0 or not document.data.keys().isdisjoint(keys):
        return None
    return fences[0] + 1, fences[1] + 1


def opening(document: Document) -> Place:
    """The `---` that opens the header of a file."""
    return Place(document, (_FENCE,), of_key=True)


def unquoted(value: object) -> str:
    """A value without quotes around it, which the client keeps, and nobody means."""
    text = value if isinstance(value, str) else ""
    return text[1:-1] if _QUOTED.fullmatch(text) else text


def _fences(lines: Sequence[str]) -> tuple[int, int] | None:
    """The lines before and after the header: at least one is between them, and the second only begins with `---`."""
    start = next((number for number, line in enumerate(lines) if line.rstrip() == _FENCE), None)
    if start is None:
        return None
    first = next((number for number in range(start + 1, len(lines)) if lines[number].strip()), len(lines))
    end = next((number for number in range(first + 1, len(lines)) if lines[number].startswith(_FENCE)), None)
    if end is None and first > start + 1 and first < len(lines) and lines[first].startswith(_FENCE):
        end = first
    return None if end is None else (start, end)


def _entries(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, str, str]]:
    """The keys with their values, each with the number of its line from zero."""
    for number in range(start, end):
        key, colon, value = lines[number].partition(":")
        if colon and key.strip() and not key.lstrip().startswith("#"):
            yield number, key.strip(), value.strip()


def _below(lines: Sequence[str], start: int, end: int) -> str:
    """The text of the lines below a `>` or `|`, which the client takes for the whole value, and nobody means."""
    words: list[str] = []
    for number in range(start, end):
        line = lines[number]
        if line.strip() and not line[0].isspace():
            break
        words.append(line.strip())
    return " ".join(filter(None, words))


def _spans(line: str, number: int, key: str, value: str) -> tuple[Span, Span]:
    at = line.index(key) + 1
    whole = Span(number, at, number, at + len(key))
    if not value:
        return whole, whole
    behind = line.index(value, line.index(":") + 1) + 1
    return whole, Span(number, behind, number, behind + len(value))


def is_true(header: Mapping[str, Json], key: str) -> bool:
    """Whether a key is `true`: in quotes, or before a comment, it is not."""
    value = header.get(key)
    return isinstance(value, str) and value.strip().lower() == "true"
