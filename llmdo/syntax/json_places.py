"""The places of keys and values in a text that is JSON, and the keys that it repeats."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.syntax.document import Route

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DEEPEST = 16  # steps to a place: what lies deeper has that of the value around it


class RepeatedKey(NamedTuple):
    """A key of which nothing is left, as its table has it again."""

    name: str
    at: Span
    last: Span
    """The place of the next one of that name; the last one counts."""
    holds_several: bool
    """Whether its value is a table or a list."""


class JsonPlaces(NamedTuple):
    """The places of a text that is JSON."""

    spans: Mapping[Route, tuple[Span, Span]]
    """Those of each key and its value: of a repeated key, those of the last one."""
    repeated: tuple[RepeatedKey, ...]


@lru_cache(maxsize=4)
def json_places(text: str) -> JsonPlaces:
    """The places of a text that is known to be JSON."""
    return _JsonScan(text).scanned()


def _is_left(data: Json, route: Route) -> bool:
    """Whether something is at a route, which a table that was given again may have had."""
    for step in route:
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return False
            data = data[step]
        else:
            if not isinstance(data, dict) or step not in data:
                return False
            data = data[step]
    return True


class _OpenValue:
    """A table or a list whose end is still to come."""

    __slots__ = ("key", "keys", "number", "route", "start")

    def __init__(self, start: int, route: Route, *, is_table: bool) -> None:
        self.start = start
        self.route = route
        self.keys: dict[str, tuple[Span, bool]] | None = {} if is_table else None
        """The keys so far, each with whether its value is a table or a list; None for a list."""
        self.key: str | None = None
        """The key of the next value; None before it."""
        self.number = 0

    @property
    def step(self) -> str | int:
        return self.number if self.key is None else self.key


class _JsonScan:
    """One walk over a text, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._open: list[_OpenValue] = []
        self._spans: dict[Route, tuple[Span, Span]] = {}
        self._repeated: list[RepeatedKey] = []

    def scanned(self) -> JsonPlaces:
        for match in _PIECE.finditer(self._text):
            piece, top = match[0], self._open[-1] if self._open else None
            if piece in ("}", "]"):
                closed = self._open.pop()
                self._note(closed.start, match.end())
            elif piece == "," and top:
                top.key = None
                top.number += 1
            elif top and top.keys is not None and top.key is None:
                self._key(top, json.loads(piece), self._span(*match.span()))
            elif piece in ("{", "["):
                if top and top.keys is not None and top.key is not None:
                    top.keys[top.key] = top.keys[top.key][0], True
                route = (*top.route, top.step) if top and len(self._open) < _DEEPEST else ()
                self._open.append(_OpenValue(match.start(), route, is_table=piece == "{"))
            elif piece != ":":
                self._note(*match.span())
        if self._repeated:
            data = json.loads(self._text)
            self._spans = {route: spans for route, spans in self._spans.items() if _is_left(data, route)}
        return JsonPlaces(self._spans, tuple(self._repeated))

    def _key(self, top: _OpenValue, name: str, at: Span) -> None:
        assert top.keys is not None, "only a table has keys"  # noqa: S101
        if name in top.keys:
            self._repeated.append(RepeatedKey(name, top.keys[name][0], at, top.keys[name][1]))
        top.key = name
        top.keys[name] = at, False

    def _note(self, start: int, end: int) -> None:
        """Notes the place of a value that lies in the innermost open one."""
        if not self._open or len(self._open) > _DEEPEST:
            return
        top = self._open[-1]
        value = self._span(start, end)
        key = value if top.keys is None or top.key is None else top.keys[top.key][0]
        self._spans[*top.route, top.step] = key, value

    def _span(self, start: int, end: int) -> Span:
        line, end_line = bisect_right(self._lines, start), bisect_right(self._lines, end)
        return Span(line, start - self._lines[line - 1] + 1, end_line, end - self._lines[end_line - 1] + 1)
