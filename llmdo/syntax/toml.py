"""TOML text to `Document`: `tomllib` reads it, and a scanner of the same text finds the places when asked."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Diagnostic, Related, excerpt, finding
from llmdo.base.source import Span
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route

MAX_NESTING = 32  # tables and arrays: no file of ours needs ten, and later stages may recurse over data

_INTEGERS = range(-(2**63), 2**63)

# A possessive group of alternatives takes too much before Python 3.11.5, so only single characters are repeated so.
_BASIC = r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*"?'
_LITERAL = r"'[^'\n]*+'?"
_LONG_BASIC = r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*(?:"{3,5})?'
_LONG_LITERAL = r"'''[^']*+(?:'(?!'')[^']*+)*(?:'{3,5})?"
_BARE = r"[A-Za-z0-9_-]++"

_BLANK = re.compile(r"[ \t\n]*+(?:#[^\n]*+[ \t\n]*+)*")
_PART = rf"(?:{_BARE}|{_BASIC}|{_LITERAL})"
_KEY_PART = re.compile(rf"[ \t]*+({_PART})[ \t]*+(\.?)")
_EQUALS = re.compile(r"=[ \t]*+")
_OPENING = re.compile(rf"[\[{{]{_BLANK.pattern}")
_SEPARATOR = re.compile(rf"{_BLANK.pattern}(?:,{_BLANK.pattern}|(?=[\]}}]))")
_HEADER_END = re.compile(r"\]{1,2}")
_SCALAR = re.compile(
    rf"{_LONG_BASIC}|{_LONG_LITERAL}|{_BASIC}|{_LITERAL}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[ ][0-9][^ \t\n,\]}#]*+|[^ \t\n,\]}#]++",
    re.DOTALL,
)
_TOKEN = re.compile(
    rf"\#[^\n]*+|{_LONG_BASIC}|{_LONG_LITERAL}"
    rf"|(?P<long_key>(?:{_PART}[ \t]*+\.[ \t]*+){{{MAX_NESTING}}})"
    rf"|{_BASIC}|{_LITERAL}|(?P<digits>[0-9_]{{640,}}+)|{_BARE}|(?P<opening>[\[{{])|(?P<closing>[\]}}])",
    re.DOTALL,
)
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_MERGE_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?:[ \n]|$)")
_WORD = re.compile(r"[^\W\d][^\s,\]}#]*")
_ERROR_TEXT = re.compile(rf"{_WORD.pattern}|[^\n]?")

_SENTENCES: tuple[tuple[str, str, str | None], ...] = (
    ("Invalid statement", "neither a key nor a table header starts like this", None),
    (
        "Invalid initial character for a key part",
        "a key cannot start like this",
        "a key is made of letters, digits, `_` and `-`, or stands in quotes",
    ),
    ("Expected '=' after a key", "`=` is missing after the key", None),
    ("Expected newline or end of document", "nothing but a comment may follow on this line", None),
    ("Unclosed array", "`,` or `]` is missing in this array", None),
    ("Unclosed inline table", "`,` or `}` is missing in this inline table", None),
    ("Expected ']' at the end", "`]` is missing after the name of the table", None),
    ("Expected ']]' at the end", "`]]` is missing after the name of the table", None),
    (
        "Unescaped '\\' in a string",
        "the `\\` in this string starts no escape that TOML has",
        "write `\\\\`, or put the text in single quotes",
    ),
    ("Unterminated string", "a string is never closed", None),
    ("Expected \"'", "a string is never closed", None),
    ("Illegal character '\\n'", "a string is not closed on its line", 'use `"""` around several lines'),
    ("Found invalid character '\\n'", "a string is not closed on its line", "use `'''` around several lines"),
    ("Invalid hex value", "`\\u` takes 4 hexadecimal digits and `\\U` takes 8", None),
    ("Escaped character is not", "this escape is not a Unicode character", None),
    ("Invalid date or datetime", "there is no such date", None),
)
"""The start of a message of `tomllib`, our sentence for it, and a hint."""

_TAKEN = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Cannot redefine", "Duplicate inline")


def parse(source: Source) -> Document:
    """The data of `source` as TOML; none if there is a problem."""
    data, problem = _load(source)
    return document(source, data, (problem,) if problem else ())


def data_of(text: str) -> dict[str, Json] | None:
    """The data of a text that may be large; None if it is not TOML, or too deep. Places of mistakes are not sought."""
    if any(line.count(".") >= MAX_NESTING for line in text.split("\n")):  # as in `_load`
        return None
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError):
        return None
    return data if _is_modest(data) else None


def document(source: Source, data: dict[str, Json], problems: tuple[Diagnostic, ...] = ()) -> Document:
    """The document of `source`, given its data as TOML."""

    @cache
    def index() -> Mapping[Route, tuple[Span, Span]]:
        return _Scanner(source.text).scan().places

    return Document(source, data, index, problems)


def _load(source: Source) -> tuple[dict[str, Json], Diagnostic | None]:
    text = source.text
    try:
        # A key of thousands of parts would become as many nested tables before anything could refuse it.
        if any(line.count(".") >= MAX_NESTING for line in text.split("\n")) and (
            problem := _token_problem(source, "long_key")
        ):
            return {}, problem
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, _syntax_problem(source, str(error))
    except RecursionError:
        return {}, _token_problem(source, "opening") or _too_deep(source, None)
    except ValueError:
        return {}, _token_problem(source, "digits") or _too_large(source, None)
    except MemoryError:
        return {}, finding("LDO101", source.location(), "the file is too large to read")
    if _is_modest(data):
        return data, None
    return {}, _immodest_problem(source, data)


def _is_modest(data: dict[str, Json]) -> bool:
    """Whether `data` keeps to the limits on nesting and integers."""
    level: list[Mapping[str, Json] | Sequence[Json]] = [data]
    for _ in range(MAX_NESTING + 1):
        below: list[Mapping[str, Json] | Sequence[Json]] = []
        for container in level:
            for value in container.values() if isinstance(container, dict) else container:
                if isinstance(value, (dict, list)):
                    below.append(value)
                elif isinstance(value, int) and value not in _INTEGERS:
                    return False
        if not below:
            return True
        level = below
    return False


def _immodest_problem(source: Source, data: dict[str, Json]) -> Diagnostic:
    for route, (_, span) in _Scanner(source.text).scan().places.items():
        if len(route) > MAX_NESTING:
            return _too_deep(source, span)
        value = Place(document(source, data), route).data
        if isinstance(value, int) and value not in _INTEGERS:
            return _too_large(source, span)
    return _too_deep(source, None)


def _token_problem(source: Source, kind: str) -> Diagnostic | None:
    """The first thing in the text that breaks the limit named by `kind`, a group of `_TOKEN`."""
    depth = 0
    for match in _TOKEN.finditer(source.text):
        depth += (match.lastgroup == "opening") - (match.lastgroup == "closing")
        if match.lastgroup != kind or (kind == "opening" and depth <= MAX_NESTING):
            continue
        span = source.span_between(*match.span())
        return _too_large(source, span) if kind == "digits" else _too_deep(source, span)
    return None


def _too_deep(source: Source, span: Span | None) -> Diagnostic:
    message = f"tables and arrays are nested more than {MAX_NESTING} levels deep"
    return finding("LDO101", source.location(span), message)


def _too_large(source: Source, span: Span | None) -> Diagnostic:
    return finding("LDO101", source.location(span), "an integer does not fit into 64 bits")


def _syntax_problem(source: Source, error: str) -> Diagnostic:
    """The message of `tomllib` as a finding, at the place that it names."""
    text = source.text
    place = _ERROR_PLACE.search(error)
    reason = error[: place.start()] if place else error
    offset = _Lines(text).offset(int(place[1]), int(place[2])) if place and place[1] else len(text)
    if marker := _MERGE_MARKER.match(text, text.rfind("\n", 0, offset) + 1):
        return _merge_conflict(source, source.span_between(*marker.span(1)))
    if reason.startswith(_TAKEN) and (clash := _Scanner(text[:offset]).scan().clash):
        return _taken(source, clash)
    if offset == len(text):
        offset = len(text.rstrip(" \t\n"))
    shown = _ERROR_TEXT.match(text, offset)
    span = source.span_between(*shown.span()) if shown else None
    message, hint = _reworded(reason, text, offset)
    return finding("LDO101", source.location(span), message, hint=hint)


def _merge_conflict(source: Source, span: Span) -> Diagnostic:
    hint = "keep one side and delete the lines that start with `<<<<<<<`, `=======` and `>>>>>>>`"
    return finding("LDO101", source.location(span), "a merge conflict is left in this file", hint=hint)


def _taken(source: Source, clash: _Clash) -> Diagnostic:
    name = excerpt(".".join(str(part) for part in clash.route))
    message = f"`{name}` is given twice" if clash.whole else f"`{name}` is complete and takes no more keys"
    first = Related(source.location(clash.first), "first given here")
    return finding("LDO101", source.location(clash.span), message, related=[first])


def _reworded(reason: str, text: str, offset: int) -> tuple[str, str | None]:
    """Our sentence for the message of `tomllib` about the text at `offset`, and a hint if the mistake is sure."""
    symbol = text[offset : offset + 1]
    if reason == "Invalid value":
        problem = "a value is missing here" if symbol in ("", "\n", "#", ",") else "this is not a value"
        return problem, _value_hint(text, offset)
    if symbol == "\r":
        return "a carriage return stands in the middle of a line", None
    for start, sentence, usual_hint in _SENTENCES:
        if not reason.startswith(start):
            continue
        hint = usual_hint
        if symbol == ":" and "`=`" in sentence:
            hint = "TOML writes `key = value`"
        elif symbol in ("\n", "#") and "inline table" in sentence:
            hint = "an inline table stands on one line"
        return sentence, hint
    if character := re.fullmatch(r"(?:Found invalid|Illegal) character '(.+)'", reason):
        return f"the character `{character[1]}` is not allowed here", None
    return reason[:1].lower() + reason[1:].replace('"', "`").replace("'", "`"), None


def _value_hint(text: str, offset: int) -> str | None:
    word = _WORD.match(text, offset)
    if word is None:
        return None
    if word[0].lower() in ("true", "false"):
        return f"write `{word[0].lower()}`"
    if word[0].lower() in ("null", "none", "nil"):
        return "TOML has no null: leave the key out"
    return f'put text in quotes: `"{excerpt(word[0])}"`'


class _Lines:
    """The starts of the lines of a text: offsets to columns and back."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column - 1

    def span(self, start: int, end: int) -> Span:
        first = bisect_right(self._starts, start)
        last = bisect_right(self._starts, end, first - 1)
        return Span(first, start - self._starts[first - 1] + 1, last, end - self._starts[last - 1] + 1)


class _Clash(NamedTuple):
    """A key that cannot be given because of an earlier one."""

    route: Route
    span: Span
    first: Span
    whole: bool
    """Whether the earlier key is the same one, not a part of its path."""


class _Scanner:
    """Finds the places of all keys and values in text that `tomllib` accepts, or accepted up to its end."""

    def __init__(self, text: str) -> None:
        self.places: dict[Route, tuple[Span, Span]] = {}
        self.clash: _Clash | None = None
        """The clash of the key that was completed last."""
        self._text = text
        self._at = 0
        self._lines = _Lines(text)
        self._lengths: dict[Route, int] = {}
        """Of the arrays of tables."""

    def scan(self) -> _Scanner:
        """This scanner, after reading as far as the text can be read."""
        table: Route = ()
        try:
            self._take(_BLANK)
            while self._at < len(self._text):
                if self._text[self._at] == "[":
                    table = self._header()
                else:
                    self._pair(table)
                self._take(_BLANK)
        except ValueError:
            pass  # the text was cut where `tomllib` stopped: what was found so far is what is wanted
        return self

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(pattern.pattern)
        self._at = match.end()
        return match

    def _parts(self) -> Iterator[tuple[str, Span]]:
        """The parts of a dotted key, with their places."""
        dot = "."
        while dot:
            match = self._take(_KEY_PART)
            name, dot = match.groups()
            if name[0] in "\"'":
                name = tomllib.loads(f"_ = {name}")["_"] if "\\" in name else name[1:-1]
            yield name, self._lines.span(*match.span(1))

    def _enter(self, route: Route) -> tuple[Route, Span, _Clash | None]:
        """Reads a key in the table at `route`: its own route, its place, and its clash."""
        clash, before = None, None
        for name, span in self._parts():
            if route in self._lengths:
                route = (*route, self._lengths[route] - 1)
            route = (*route, name)
            before = self.places.get(route)
            if before:
                clash = _Clash(route, span, before[0], whole=False)
            else:
                self.places[route] = (span, span)
        return route, span, clash._replace(whole=True) if clash and before else clash

    def _header(self) -> Route:
        start = self._at
        is_array = self._text.startswith("[[", start)
        self._at += 1 + is_array
        route, key, self.clash = self._enter(())
        self._take(_HEADER_END)
        whole = self._lines.span(start, self._at)
        if not is_array:
            self.places[route] = (key, whole)
            return route
        index = self._lengths.get(route, 0)
        self._lengths[route] = index + 1
        if index == 0:
            self.places[route] = (key, whole)
        self.places[*route, index] = (key, whole)
        return (*route, index)

    def _pair(self, table: Route) -> None:
        route, key, clash = self._enter(table)
        self._take(_EQUALS)
        self.places[route] = (key, self._value(route))
        self.clash = clash

    def _value(self, route: Route) -> Span:
        start = self._at
        opening = self._text[start : start + 1]
        if opening == "[":
            self._take(_OPENING)
            index = 0
            while not self._text.startswith("]", self._at):
                item = (*route, index)
                span = self._value(item)
                self.places[item] = (span, span)
                index += 1
                self._take(_SEPARATOR)
            self._at += 1
        elif opening == "{":
            self._take(_OPENING)
            while not self._text.startswith("}", self._at):
                self._pair(route)
                self._take(_SEPARATOR)
            self._at += 1
        else:
            self._take(_SCALAR)
        return self._lines.span(start, self._at)
