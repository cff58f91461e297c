"""Headers in their usual form, read line by line without a YAML library.

The result is exactly YAML's; lines that are not plain are left to `header`. Only data is found; places are looked up in
the YAML on demand.
"""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.base.values import Json

MOST = 4_096  # characters: longer headers are rare, and the limits of `header` are far beyond them
DEEPEST = 8

_WORD = "[A-Za-z_][A-Za-z0-9_.-]{0,99}"
_QUOTED = r""""[^"\\\n]{0,99}"|'[^'\n]{0,99}'"""
_END = r":(?: +|(?=\n|\Z))"
_KEY = re.compile(rf"(?:{_WORD}|{_QUOTED}){_END}")
_LINE = re.compile(rf"( *)(?:(- +)|({_WORD}){_END}|({_QUOTED}){_END})?([^\n]*)(?:\n|\Z)")
"""Indent, dash, a bare key or one in quotes, and the rest."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:_[0-9]{3}){1,4})")
_COUNTED = re.compile(r"[0-9]{1,9} [A-Za-z]")
"""The beginning of a text such as `3 steps`, which is no number, no date and no time."""
_TOKEN = re.compile(
    r" *(?:(?P<mark>[\[\]{},])"
    r"""|"(?P<double>[^"\\]*)"|'(?P<single>[^']*)'|(?P<integer>-?(?:0|[1-9][0-9]{0,14}))(?=[ ,\]}])"""
    r"|(?P<plain>(?:\.?[A-Za-z]|[_/])[A-Za-z0-9_/.*@+=~-]*(?: [A-Za-z0-9][A-Za-z0-9_/.*@+=~-]*)*))"
    r"(?P<colon>:(?= ))?"
)

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""The words that are not text."""

_NO_TEXT = frozenset({".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})


class _NotPlainError(Exception):
    """Something for YAML to read."""


def read(header: str, *, is_plain: bool = False) -> dict[str, Json] | None:
    """The data of `header`, as YAML reads it; None if only YAML can tell.

    `is_plain` says that it is known to be nothing but printable ASCII and line breaks.
    """
    # What is not printable may be a line break to YAML, or no character at all.
    if len(header) > MOST or not (is_plain or header.replace("\n", " ").isprintable()):
        return None
    blocks = _Blocks()
    try:
        for indent, dash, word, quoted, rest in _LINE.findall(header):
            if word:
                if word in WORDS:
                    return None
                # The same few words in every header: one text for all of them.
                blocks.pair(intern(word), rest.rstrip(" "), len(indent))
            elif dash:
                blocks.item(rest.rstrip(" "), len(indent))
            elif quoted:
                blocks.pair(quoted[1:-1], rest.rstrip(" "), len(indent))
            elif rest and rest[0] != "#":
                return None
    except _NotPlainError:
        return None
    return blocks.data or None


class _Blocks:
    """The mappings and lists whose ends are still to come, while a header is read."""

    def __init__(self) -> None:
        self.data: dict[str, Json] = {}
        self._open: list[tuple[int, dict[str, Json] | list[Json]]] = [(0, self.data)]
        """Each with its indent."""
        self._waiting: tuple[dict[str, Json], str, int] | None = None
        """A mapping, its key that has no value so far, and the indent of that."""

    def item(self, text: str, indent: int) -> None:
        if not text or _KEY.match(text):
            raise _NotPlainError
        # A list may stand as far out as the key that holds it.
        if self._waiting and indent >= self._waiting[2]:
            self._enter(indent, [])
        self._waiting = None
        while self._open[-1][0] > indent:
            self._open.pop()
        at, block = self._open[-1]
        if at != indent or type(block) is not list:
            raise _NotPlainError
        block.append(_value(text))

    def pair(self, key: str, rest: str, indent: int) -> None:
        if self._waiting and indent > self._waiting[2]:
            self._enter(indent, {})
        self._waiting = None
        at, block = self._open[-1]
        while at > indent or (at == indent and type(block) is list):
            self._open.pop()
            at, block = self._open[-1]
        if at != indent or type(block) is not dict or key in block:
            raise _NotPlainError
        if rest and rest[0] != "#":
            block[key] = _value(rest)
        else:
            block[key] = None
            self._waiting = (block, key, indent)

    def _enter(self, indent: int, block: dict[str, Json] | list[Json]) -> None:
        if self._waiting is None or len(self._open) == DEEPEST:
            raise _NotPlainError
        self._waiting[0][self._waiting[1]] = block
        self._open.append((indent, block))


def _value(text: str) -> Json:
    first = text[0]
    if first.isalpha() or first in "/_":
        if " #" in text:
            text = text[: text.index(" #")].rstrip(" ")
        if ": " in text or text[-1] == ":":
            raise _NotPlainError
        return WORDS.get(text, text)
    if first in "[{":
        return _flow(text)
    if first in "\"'":
        end = text.find(first, 1)
        if end < 0 or (first == '"' and "\\" in text[:end]):
            raise _NotPlainError
        _end(text, end + 1)
        return text[1:end]
    if _COUNTED.match(text) and " #" not in text and ": " not in text and text[-1] != ":":
        return text
    number = _INTEGER.match(text)
    if number is None:
        raise _NotPlainError
    _end(text, number.end())
    return int(number[0])


def _end(text: str, at: int) -> None:
    """Checks that nothing but a comment follows."""
    rest = text[at:]
    if rest and not (rest[0] == " " and rest.lstrip(" ")[:1] in ("", "#")):
        raise _NotPlainError


@lru_cache(maxsize=1_024)
def _flow(text: str) -> Json:
    """A list in brackets or a mapping in braces, on one line; of equal lines one value, which nobody may change."""
    if text == "{}":
        return {}
    value, at = _flow_value(text, 0, 0)
    _end(text, at)
    return value


def _flow_value(text: str, at: int, depth: int) -> tuple[Json, int]:
    token = _TOKEN.match(text, at)
    if token is None or token["colon"] or depth == DEEPEST:
        raise _NotPlainError
    kind = token.lastgroup
    if kind == "mark":
        if token["mark"] == "[":
            return _flow_list(text, token.end(), depth + 1)
        if token["mark"] == "{":
            return _flow_mapping(text, token.end(), depth + 1)
        raise _NotPlainError
    return _flow_scalar(token), token.end()


def _flow_scalar(token: re.Match[str]) -> Json:
    if (word := token["plain"]) is not None:
        if word in _NO_TEXT:
            raise _NotPlainError
        return WORDS.get(word, word)
    if token["integer"] is not None:
        return int(token["integer"])
    return token["single"] if token["double"] is None else token["double"]


def _flow_list(text: str, at: int, depth: int) -> tuple[list[Json], int]:
    items: list[Json] = []
    token = _TOKEN.match(text, at)
    if token and token["mark"] == "]":
        return items, token.end()
    while True:
        item, at = _flow_value(text, at, depth)
        items.append(item)
        at, closed = _separator(text, at, "]")
        if closed:
            return items, at


def _flow_mapping(text: str, at: int, depth: int) -> tuple[dict[str, Json], int]:
    table: dict[str, Json] = {}
    token = _TOKEN.match(text, at)
    if token and token["mark"] == "}":
        return table, token.end()
    while True:
        token = _TOKEN.match(text, at)
        if token is None or not token["colon"]:
            raise _NotPlainError
        key = _flow_scalar(token)
        if not isinstance(key, str) or key in table or token["mark"]:
            raise _NotPlainError
        table[key], at = _flow_value(text, token.end(), depth)
        at, closed = _separator(text, at, "}")
        if closed:
            return table, at


def _separator(text: str, at: int, closing: str) -> tuple[int, bool]:
    """The offset behind a comma, or behind the end of a list or mapping, and whether it is the end."""
    token = _TOKEN.match(text, at)
    mark = token["mark"] if token else None
    if token is None or token["colon"] or mark not in (",", closing):
        raise _NotPlainError
    return token.end(), mark == closing
