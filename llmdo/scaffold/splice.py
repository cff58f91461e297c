"""Edits of TOML text that leave every other byte as it is.

Text is spliced in and cut out at the places found by the scanner of `syntax.toml`. tomlkit would put a new table below
the comment that belongs to the next one, and gives a CRLF file LF lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.source import Source
from llmdo.scaffold import files
from llmdo.syntax import toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Span
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route


_BLANK_LINE = re.compile(r"[ \t]*\r?(?:\n|\Z)")
_BLANK_LINE_BEFORE = re.compile(r"(?<=\n)[ \t]*\r?\n\Z")
_COMMENTS = re.compile(r"(?:[ \t]*+#[^\n]*+\n)+(?![ \t]*[#\[])")  # those right above a header belong to it
_SPACE = re.compile(r"[ \t\r\n]*+(?:#[^\n]*+[ \t\r\n]*+)*")
_COMMA = re.compile(rf"{_SPACE.pattern},")
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?\r?\n")


def insert(text: str, route: tuple[str, ...], value: Json) -> str:
    """`text` with a new key at `route`, at the end of its table and in the form of its neighbours.

    A table becomes a section of its own if TOML allows one.
    """
    layout = _Layout.of(text)
    for length in range(len(route) - 1, 0, -1):
        if layout.is_inline(route[:length]):
            return layout.spliced(*layout.items(route[:length]).with_new(_pair(route[length:], value)))
    neighbour = layout.last_in(route[:-1])
    if isinstance(value, dict):
        return layout.spliced(layout.new_section(route, value))
    if neighbour is None:
        return layout.spliced(layout.new_section(route[:-1], {route[-1]: value}))
    at = layout.end_with_comments(neighbour)
    indentation = re.match(r"[ \t]*", layout.text[layout.line_start(neighbour.start) :])
    line = f"{indentation[0] if indentation else ''}{_pair(route[len(neighbour.table) :], value)}"
    return layout.spliced(Splice(at, at, line + layout.newline))


def append(text: str, route: Route, item: str) -> str:
    """`text` with `item` at the end of the array at `route`, on its own line if the last item is."""
    layout = _Layout.of(text)
    return layout.spliced(*layout.items(route).with_new(files.toml(item)))


def withdraw(text: str, route: Route, number: int) -> str:
    """`text` without the item `number` of the array at `route`."""
    layout = _Layout.of(text)
    return layout.spliced(*layout.items(route).without(number))


def delete(text: str, route: tuple[str, ...]) -> str:
    """`text` without the value at `route`, in any form and number of places.

    Comments stay, except inside removed values. A section without key and comment is removed too.
    """
    while True:
        layout = _Layout.of(text)
        parts = [part for part in layout.parts if part.route[: len(route)] == route]
        if not parts:
            return text
        text = _without(layout, parts[-1])


def _without(layout: _Layout, part: _Part) -> str:
    if part.inside is not None:
        items = layout.items(part.inside)
        number = next(number for number, (_, end) in enumerate(items.spans) if end == part.end)
        return layout.spliced(*items.without(number))
    if part.is_header:
        return layout.spliced(layout.old_section(part))
    line = Splice(layout.line_start(part.start), layout.line_end(part.end), "")
    return _without_empty_section(layout.spliced(line), part.table)


def _without_empty_section(text: str, route: Route) -> str:
    layout = _Layout.of(text)
    header = layout.last_in(route) if route else None
    if header is None or not header.is_header:
        return text
    after = layout.end_with_comments(header)
    return text if layout.text[header.end : after].strip() else layout.spliced(layout.old_section(header))


def _pair(route: Route, value: Json) -> str:
    return f"{files.toml_key(*map(str, route))} = {files.toml(value)}"


class Splice(NamedTuple):
    """A replacement for `text[start:end]`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A table header, or a key with its value."""

    route: Route
    start: int
    """The start of the last name of the key."""
    value: int
    """The start of the value; of a header, its bracket."""
    end: int
    table: Route
    """The route of the nearest header above; of a header, its own."""
    inside: Route | None
    """The innermost value that holds this key, or None."""

    @property
    def is_header(self) -> bool:
        """Whether this is a table header."""
        return self.value < self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """The text between the brackets of an array or an inline table."""

    layout: _Layout
    start: int
    end: int
    spans: tuple[tuple[int, int], ...]

    def with_new(self, new: str) -> Iterator[Splice]:
        """The splices that put `new` after the last item."""
        layout = self.layout
        if not self.spans:
            yield Splice(self.start, self.start, new)
            return
        start, end = self.spans[-1]
        if not self._starts_line(start) or "\n" not in layout.text[end : self.end]:
            yield Splice(end, end, f", {new}")
            return
        has_comma = _COMMA.match(layout.text, end, self.end)
        if not has_comma:
            yield Splice(end, end, ",")
        line = layout.line_end(end)
        indentation = layout.text[layout.line_start(start) : start]
        yield Splice(line, line, f"{indentation}{new}{',' if has_comma else ''}{layout.newline}")

    def without(self, number: int) -> Iterator[Splice]:
        """The splices that remove the item `number` and its comma."""
        text = self.layout.text
        start, end = self.spans[number]
        own = _COMMA.match(text, end, self.end)
        before = _COMMA.match(text, self.spans[number - 1][1], self.end) if number else None
        line = _REST_OF_LINE.match(text, end) if self._starts_line(start) else None
        if line and (not own or own.end() <= line.end()):
            if before and not own:
                yield Splice(before.end() - 1, before.end(), "")
            yield Splice(self.layout.line_start(start), line.end(), "")
        elif number + 1 < len(self.spans):
            yield Splice(start, self.spans[number + 1][0], "")
        elif before:
            yield Splice(before.end() - 1, before.end(), "")
            yield Splice(len(text[:start].rstrip(" \t")), end, "")
        else:
            yield Splice(start, own.end() if own else end, "")

    def _starts_line(self, offset: int) -> bool:
        return not self.layout.text[self.layout.line_start(offset) : offset].strip(" \t")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The places of the parts of a TOML text, by offsets into it."""

    text: str
    """The text, with a line end added if the file ends without one."""
    newline: str
    is_complete: bool
    """Whether the file ends in a line end."""
    parts: tuple[_Part, ...]
    """The parts in the order of the text."""
    array_items: Mapping[Route, tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> _Layout:
        """The layout of a text that TOML accepts."""
        newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        is_complete = text.endswith("\n")
        whole = text if is_complete else text + newline
        starts = [0, *(match.end() for match in re.finditer("\n", whole))]

        def offsets(span: Span) -> tuple[int, int]:
            return starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1

        index = toml.parse(Source("", whole.replace("\r\n", "\n"))).index()
        spans = {route: (offsets(key), offsets(value)) for route, (key, value) in index.items()}
        return cls(
            text=whole,
            newline=newline,
            is_complete=is_complete,
            parts=tuple(_parts({route: pair for route, pair in spans.items() if pair[0] != pair[1]})),
            array_items={route: value for route, (key, value) in spans.items() if isinstance(route[-1], int)},
        )

    def spliced(self, *splices: Splice) -> str:
        """The text after these splices, which do not overlap; it ends as the file did."""

        def apply(text: str, splice: Splice) -> str:
            return text[: splice.start] + splice.new + text[splice.end :]

        text = reduce(apply, sorted(splices, reverse=True), self.text)
        return text if self.is_complete else text.removesuffix("\n").removesuffix("\r")

    def line_start(self, offset: int) -> int:
        """The start of the line around `offset`."""
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """The start of the line after the one around `offset`."""
        return self.text.find("\n", offset) + 1

    def is_inline(self, route: Route) -> bool:
        """Whether an inline table is at `route`."""
        return any(part.route == route and self.text[part.value] == "{" for part in self.parts)

    def items(self, route: Route) -> _Items:
        """The items of the array or inline table at `route`."""
        holder = next(part for part in self.parts if part.route == route)
        array = (end for item, (_, end) in self.array_items.items() if item[:-1] == route)
        pairs = (part.end for part in self.parts if part.inside == route)
        spans = []
        at = holder.value + 1
        for end in [*array, *pairs]:
            space = _SPACE.match(self.text, at)
            spans.append((space.end() if space else at, end))
            comma = _COMMA.match(self.text, end)
            at = comma.end() if comma else end
        return _Items(layout=self, start=holder.value + 1, end=holder.end - 1, spans=tuple(spans))

    def last_in(self, route: Route) -> _Part | None:
        """The last key in the section of the table at `route`, or its header, or the last dotted key for it."""
        top = [part for part in self.parts if part.inside is None]
        section = [part for part in top if part.table == route]
        if section:
            return section[-1]
        dotted = [part for part in top if not part.is_header and part.route[: len(route)] == route]
        return dotted[-1] if dotted else None

    def end_with_comments(self, part: _Part) -> int:
        """The end of a section's last key, or of a lone header, with its comments."""
        end = self.line_end(part.end)
        comments = _COMMENTS.match(self.text, end)
        return comments.end() if comments else end

    def new_section(self, route: Route, table: Mapping[str, Json]) -> Splice:
        """A section for the table at `route`: below its relatives, or at the end."""
        relatives = [part for part in self.parts if part.inside is None and part.table[:1] == route[:1]]
        at = self.end_with_comments(relatives[-1]) if relatives else self.line_end(len(self.text.rstrip()))
        is_apart = at > 0 and _BLANK_LINE.match(self.text, at)
        header = f"[{files.toml_key(*map(str, route))}]"
        lines = [header, *(_pair((name,), value) for name, value in table.items())]
        section = "".join(f"{line}{self.newline}" for line in lines)
        return Splice(at, at, (self.newline if is_apart else "") + section)

    def old_section(self, header: _Part) -> Splice:
        """The section of `header`, with one of the blank lines if it has them on both sides."""
        start = self.line_start(header.start)
        last = self.last_in(header.route)
        end = self.end_with_comments(last or header)
        blank = _BLANK_LINE_BEFORE.search(self.text, 0, start)
        if blank and _BLANK_LINE.match(self.text, end):
            start = blank.start()
        return Splice(start, end, "")


def _parts(spans: Mapping[Route, tuple[tuple[int, int], tuple[int, int]]]) -> Iterator[_Part]:
    """The headers and keys of a text, in order; an array's header has the route of its table."""
    by_start = {key[0]: (route, value) for route, (key, value) in spans.items()}
    table: Route = ()
    open_values: list[tuple[int, Route]] = []
    for start, (route, (value, end)) in sorted(by_start.items()):
        while open_values and open_values[-1][0] <= start:
            open_values.pop()
        table = route if value < start else table
        inside = open_values[-1][1] if open_values else None
        yield _Part(route=route, start=start, value=value, end=end, table=table, inside=inside)
        if value > start:
            open_values.append((end, route))
