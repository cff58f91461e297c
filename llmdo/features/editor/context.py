"""The place of the cursor in a file: the route of keys to it, as far as the lines above it tell.

A file during typing mostly does not parse, so its lines are read one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.syntax.frontmatter import FENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = re.compile(r"^\s*\[\[?([^\[\]#]+)\]\]?")
_PARTS = re.compile(r'"([^"]*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|\'[^\']*\'?|[\[\]{},=:]|[^\s\[\]{},=:"\']+|\s+')
_WORD = re.compile(r"[A-Za-z0-9_.:/*+-]*\Z")
_YAML_KEY = re.compile(r"^( *)(?:- +)?([A-Za-z0-9_./:-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s|$)")
_STATEMENT = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-])+\s*=""")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
MOST_LINES = 200  # above the cursor, of one value


class Cursor(NamedTuple):
    """The place of the cursor."""

    route: tuple[str, ...]
    """The keys to it, including that of the value being typed."""
    is_key: bool
    """Whether a key is typed, in the table at `route`."""
    word: str
    """The text before the cursor."""
    quote: str
    """The quotes around it."""
    in_list: bool = False


def in_manifest(lines: Sequence[str], line: int, column: int) -> Cursor | None:
    """The cursor at a place in `llmdo.toml`, both from 1; None in a comment."""
    before = lines[line - 1][: column - 1]
    table: tuple[str, ...] = ()
    if re.match(r"^\s*\[", before) and "]" not in before and "=" not in before:
        return Cursor(_names(before.replace("[", ""))[:-1], is_key=True, word=_word(before), quote="")
    for above in reversed(lines[: line - 1]):
        if match := _HEADER.match(above):
            table = _names(match[1])
            break
    above = _unfinished(lines[max(line - 1 - MOST_LINES, 0) : line - 1], table)
    return _within(f"{above}{before}", table, "=")


def in_header(lines: Sequence[str], line: int, column: int) -> Cursor | None:
    """The cursor at a place in the header of a worker file; None outside of it, and in a comment."""
    if not lines or lines[0] != FENCE or line < 2 or FENCE in lines[1 : line - 1]:
        return None
    before = lines[line - 1][: column - 1]
    indentation = len(before) - len(before.lstrip(" "))
    is_item = before.lstrip(" ").startswith("-")
    route: list[str] = []
    least = indentation + (1 if is_item else 0)
    for above in reversed(lines[1 : line - 1]):
        match = _YAML_KEY.match(above)
        if match and len(match[1]) < least:
            route.insert(0, match[2].strip("\"'"))
            least = len(match[1])
    text = before.lstrip(" ")
    cursor = _within(text.removeprefix("-").lstrip(" ") if is_item else text, tuple(route), ":")
    if cursor and is_item and cursor.route == tuple(route):
        return cursor._replace(is_key=False, in_list=True)
    return cursor


def _names(text: str) -> tuple[str, ...]:
    names = [
        next((part for part in match.groups() if part is not None), "") for match in _PARTS.finditer(text)
    ]
    return (*names, "") if text.rstrip().endswith(".") or not names else tuple(names)


def _word(text: str) -> str:
    match = _WORD.search(text)
    return match[0] if match else ""


def _unfinished(lines: Sequence[str], table: tuple[str, ...]) -> str:
    """The last statement of these lines of TOML, if its value has open brackets."""
    for number in range(len(lines) - 1, -1, -1):
        if _HEADER.match(lines[number]):
            break
        if _STATEMENT.match(lines[number]):
            text = "".join(f"{line}\n" for line in lines[number:])
            statement = _read(_COMMENT.sub("", text), table, "=")
            return text if statement.is_open else ""
    return ""


def _within(text: str, table: tuple[str, ...], equals: str) -> Cursor | None:
    """The cursor at the end of a statement in a table; None in a comment."""
    *above, last = _COMMENT.sub("", text).split("\n") if "\n" in text else [text]
    if _COMMENT.search(last):
        return None
    return _read("\n".join([*above, last]), table, equals).cursor


def _read(text: str, table: tuple[str, ...], equals: str) -> _Statement:
    statement = _Statement(table, equals)
    for match in _TOKEN.finditer(text):
        statement.take(match[0])
    return statement


class _Statement:
    """Keys, values and brackets typed so far."""

    def __init__(self, table: tuple[str, ...], equals: str) -> None:
        self._equals = equals
        self._open = [("{", table)]
        self._key: tuple[str, ...] = ()
        self._before = ""
        """The text of the key or value being typed."""
        self._raw = ""
        """The same with its quotes."""
        self._in_value = False
        self._quote = ""

    def take(self, part: str) -> None:
        """Takes the next part of the text."""
        bracket, _ = self._open[-1]
        self._quote = ""
        if part in ("[", "{") and self._in_value:
            self._open.append((part, self._route))
            self._begin(in_value=part == "[")
        elif part in ("]", "}") and len(self._open) > 1:
            self._open.pop()
            self._begin(in_value=True)
        elif part == "," and len(self._open) > 1:
            self._begin(in_value=bracket == "[")
        elif part == self._equals and bracket == "{" and not self._in_value:
            self._key = _names(self._raw) if self._equals == "=" else (self._before,)
            self._before, self._in_value = "", True
        elif part.isspace():
            self._before = "" if self._in_value or "\n" in part else self._before
        elif part[0] in "\"'":
            self._raw += part
            self._quote = part[0] if len(part) == 1 or part[-1] != part[0] else ""
            self._before = part.strip("\"'")
        else:
            self._raw += part
            self._before += part

    @property
    def is_open(self) -> bool:
        """Whether it continues on the next line."""
        return len(self._open) > 1

    @property
    def cursor(self) -> Cursor:
        """The cursor after all parts."""
        bracket, route = self._open[-1]
        is_value = self._in_value and bracket == "{"
        return Cursor(
            self._route if is_value else route,
            not self._in_value,
            self._before if self._quote else _word(self._before),
            self._quote,
            bracket == "[",
        )

    @property
    def _route(self) -> tuple[str, ...]:
        return (*self._open[-1][1], *self._key)

    def _begin(self, *, in_value: bool) -> None:
        self._key, self._before, self._raw, self._in_value = (), "", "", in_value
