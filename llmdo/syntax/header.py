"""The YAML of a header to `Document`, with a place for every key and value.

YAML is read as a stream of events: the loaders that build nodes recurse, and a few kilobytes of brackets crash them.
YAML's features beyond plain data (anchors, aliases, tags, merge keys) are refused, and scalars follow the YAML 1.2 core
schema, in which `on` and `12:30` are text.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from llmdo.base.diagnostic import Diagnostic, Related, excerpt, finding
from llmdo.base.source import Span
from llmdo.syntax.document import Document
from llmdo.syntax.header_problems import (
    bad_character,
    merge_conflict,
    no_blank_behind,
    quotes_problem,
    syntax_problem,
    unspaced_key,
)
from llmdo.syntax.plain import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from yaml._yaml import Mark as MarkOfC
    from yaml.error import Mark as MarkOfPython

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route

    Mark = MarkOfPython | MarkOfC

FENCE = "---"

MAX_HEADER = 64 * 1024  # bytes: more is a missing closing line
MAX_NESTING = 16


class YamlBounds(NamedTuple):
    """The limits on YAML, beyond which it is refused."""

    size: int
    """In bytes."""
    events: int
    """Keys, values, and the ends of lists and mappings."""


HEADER_BOUNDS = YamlBounds(MAX_HEADER, 5_000)
MAX_DIGITS = 18  # every such integer fits into 64 bits


class _PythonLoader(yaml.SafeLoader):
    """PyYAML's loader where libyaml is missing: it takes the same tabs, and refuses the same escapes."""

    def _skip_blanks(self) -> str:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks: str = self.prefix(length)
        self.forward(length)
        return blanks

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self._skip_blanks()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: MarkOfPython) -> list[str] | None:
        blanks = self._skip_blanks()
        parts = super().scan_plain_spaces(indent, start_mark)
        return [blanks] if parts == [] and blanks else parts

    def scan_flow_scalar_non_spaces(self, double: bool, start_mark: MarkOfPython) -> list[str]:  # noqa: FBT001
        try:
            parts: list[str] = super().scan_flow_scalar_non_spaces(double, start_mark)
            "".join(parts).encode()
        except (ValueError, OverflowError):
            context, problem = "while scanning a double-quoted scalar", "found an escape of no character"
            raise yaml.scanner.ScannerError(context, start_mark, problem, start_mark) from None
        return parts


LOADER = getattr(yaml, "CSafeLoader", _PythonLoader)
"""The loader by which YAML is read as events."""


def is_yaml(text: str) -> bool:
    """Whether a text has no mistake of syntax."""
    try:
        return all(True for _ in yaml.parse(text, Loader=LOADER))
    except yaml.YAMLError:
        return False


_NO_MAPPING = "a header is a mapping: lines of `key: value`"
_NUMERIC = frozenset("0123456789+-.")
# Digits may be grouped by `_`, as in TOML: the one step beyond the 1.2 core scalars.
_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]+(?:_[0-9]+)*)|(?P<octal>0o[0-7]+)|(?P<hexadecimal>0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<endless>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_BASES = {"decimal": 10, "octal": 8, "hexadecimal": 16}

_INVISIBLE_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""Line breaks to YAML, or nothing at all, while an editor shows something else: they could hide a key."""
_MERGE_MARKER = re.compile(r"^<{7}(?= )", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse(
    source: Source, header: str, *, aliases: bool = False, bounds: YamlBounds = HEADER_BOUNDS
) -> Document:
    """The document of the header of `source`; its readable part if it has problems.

    With `aliases`, an alias repeats its value as the same object: whoever walks over it keeps count.
    """
    if len(header) > bounds.size or len(header.encode()) > bounds.size:
        message = f"the header is larger than {bounds.size // 1024} KiB"
        problem = finding("LDO101", source.location(Span(1, 1, 1, len(FENCE) + 1)), message)
        return Document(source, {}, dict, (problem,))
    find = partial(places, source, header, aliases=aliases, bounds=bounds)
    reader = _HeaderReader(source, lambda route: find()[route], aliases=aliases, bounds=bounds)
    reader.read(header)
    problems = tuple(reader.problems)
    # Whatever went wrong first: the conflict is the reason, and no key starts like that.
    if problems and (marker := _MERGE_MARKER.search(header)):
        problems = (merge_conflict(source, marker),)
    return Document(source, reader.data, find, problems)


@lru_cache(maxsize=16)
def places(
    source: Source, header: str, *, aliases: bool = False, bounds: YamlBounds = HEADER_BOUNDS
) -> Mapping[Route, tuple[Span, Span]]:
    """The place of every key and of its value."""
    places: dict[Route, tuple[Span, Span]] = {}
    _HeaderReader(source, places.__getitem__, places, aliases=aliases, bounds=bounds).read(header)
    return places


class _Open:
    """A mapping or a list whose end is still to come."""

    __slots__ = ("at_key", "end", "flow", "key", "key_event", "route", "start", "values")

    def __init__(
        self, event: yaml.CollectionStartEvent, values: dict[str, Json] | list[Json], route: Route | None
    ) -> None:
        self.values = values
        self.route = route
        """None if it is thrown away."""
        self.flow = event.flow_style
        self.start = event.start_mark
        self.end = event.end_mark
        self.at_key = isinstance(values, dict)
        self.key: str | None = None
        """The key of the next value; None if that is thrown away."""
        self.key_event: yaml.ScalarEvent | None = None


class _RefusedError(Exception):
    """The rest of the header must not be read."""


class _HeaderReader:
    """Builds data from events, without recursion; notes places only if given a mapping for them."""

    def __init__(
        self,
        source: Source,
        first_place: Callable[[Route], tuple[Span, Span]],
        places: dict[Route, tuple[Span, Span]] | None = None,
        *,
        aliases: bool = False,
        bounds: YamlBounds = HEADER_BOUNDS,
    ) -> None:
        self._most = bounds.events
        self.data: dict[str, Json] = {}
        self.problems: list[Diagnostic] = []
        self._source = source
        self._first_place = first_place
        self._places = places
        self._anchored: dict[str, Json] | None = {} if aliases else None
        self._open: list[_Open] = []
        self._documents = 0
        self._scalar_before: yaml.ScalarEvent | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: lambda event: self._start(event, {}),
            yaml.SequenceStartEvent: lambda event: self._start(event, []),
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }

    def read(self, header: str) -> None:
        """Reads all of `header`, or as far as it can be read."""
        if hidden := _INVISIBLE_BREAKS.search(header):
            self.problems.append(bad_character(self._source, hidden))
            return
        handlers = self._handlers
        try:
            for count, event in enumerate(yaml.parse(header, Loader=LOADER)):
                if count >= self._most:
                    self._stop(event, "the header has too many keys and values")
                if handler := handlers.get(type(event)):
                    handler(event)
        except _RefusedError:
            pass
        except yaml.reader.ReaderError:
            if unprintable := _UNPRINTABLE.search(header):
                self.problems.append(bad_character(self._source, unprintable))
        except yaml.MarkedYAMLError as error:
            self.problems.append(
                quotes_problem(self._source, header, self._scalar_before, error)
                or syntax_problem(self._source, header, error, is_yaml)
            )

    def _refuse(
        self, event: yaml.Event, message: str, hint: str | None = None, related: Related | None = None
    ) -> None:
        at = self._source.location(_span(event.start_mark, event.end_mark))
        self.problems.append(finding("LDO101", at, message, hint=hint, related=[related] if related else []))

    def _stop(self, event: yaml.Event, message: str, hint: str | None = None) -> NoReturn:
        self._refuse(event, message, hint)
        raise _RefusedError

    def _refuse_properties(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor is not None and self._anchored is None:
            self._refuse(event, "an anchor is not allowed in a header", _quote_hint("&"))
        if event.tag is not None:
            self._refuse(event, "a tag is not allowed in a header", _quote_hint("!"))

    def _document(self, event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        if event.version or event.tags:
            self._stop(event, "a directive is not allowed in a header")
        if event.explicit or self._documents > 1:
            self._stop(
                event,
                "a header is one YAML document and has no `---` of its own",
                "the `---` that ends the header stands alone on its line, without blanks",
            )

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._scalar_before = event
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        if not self._open:
            if key := unspaced_key(event.value):
                self._stop(event, *no_blank_behind(key))
            self._stop(event, f"{_NO_MAPPING}, and this is text")
        top = self._open[-1]
        if top.at_key:
            self._key(event, top)
            return
        text = event.value
        value: Json = text
        if event.implicit[0]:
            if text in WORDS:
                value = WORDS[text]
            elif text[0] in _NUMERIC:
                value = self._number(event)
        self._attach(top, value, event)

    def _attach(self, top: _Open, value: Json, event: yaml.NodeEvent) -> None:
        part = _attach(top, value)
        if self._anchored is not None and event.anchor is not None:
            self._anchored[event.anchor] = value
        if self._places is not None:
            self._note(top, part, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if self._can_stand_for_more(event):
            self._attach(self._open[-1], (self._anchored or {})[event.anchor or ""], event)
            return
        self._refuse(event, "an alias is not allowed in a header", _quote_hint("*"))
        if not self._open:
            raise _RefusedError
        top = self._open[-1]
        if top.at_key:
            top.key = None
        if isinstance(top.values, dict):
            top.at_key = not top.at_key

    def _can_stand_for_more(self, event: yaml.AliasEvent) -> bool:
        """Whether aliases are read here, and the value of this one is whole."""
        if (
            not self._anchored
            or event.anchor not in self._anchored
            or not self._open
            or self._open[-1].at_key
        ):
            return False
        value = self._anchored[event.anchor]
        return not any(value is each.values for each in self._open)

    def _start(self, event: yaml.CollectionStartEvent, values: dict[str, Json] | list[Json]) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        if len(self._open) == MAX_NESTING:
            self._stop(event, f"the header is nested more than {MAX_NESTING} levels deep")
        route: Route | None = ()
        if self._open:
            top = self._open[-1]
            if top.at_key:
                self._stop(
                    event,
                    "a key is a list or a mapping, not text",
                    "put text that starts with `[` or `{` in quotes",
                )
            part = _attach(top, values)
            if self._anchored is not None and event.anchor is not None:
                self._anchored[event.anchor] = values
            route = None if top.route is None or part is None else (*top.route, part)
            if self._places is not None:
                self._note(top, part, event)
        elif isinstance(values, dict):
            self.data = values
        else:
            self._stop(event, f"{_NO_MAPPING}, and this is a list")
        self._open.append(_Open(event, values, route))

    def _end(self, event: yaml.Event) -> None:
        closed = self._open.pop()
        if self._places is None or not self._open:
            return
        # A block ends where its last child does: its own mark stands at whatever follows.
        end = self._open[-1].end = event.end_mark if closed.flow else closed.end
        if closed.route:
            whole = _span(closed.start, end)
            key = whole if isinstance(closed.route[-1], int) else self._places[closed.route][0]
            self._places[closed.route] = (key, whole)

    def _note(self, top: _Open, part: str | int | None, event: yaml.Event) -> None:
        """Notes the place of a value that was attached to `top`."""
        top.end = event.end_mark
        if self._places is None or top.route is None or part is None:
            return
        value = _span(event.start_mark, event.end_mark)
        key = value
        if top.key_event is not None:
            key = _span(top.key_event.start_mark, top.key_event.end_mark)
        self._places[*top.route, part] = (key, value)

    def _key(self, event: yaml.ScalarEvent, top: _Open) -> None:
        name = event.value
        top.at_key = False
        top.key = None
        top.key_event = event
        if event.implicit[0] and name == "<<":
            self._refuse(event, "a merge key is not allowed in a header", "write the keys out")
        elif event.implicit[0] and (name in WORDS or _NUMBER.fullmatch(name)):
            hint = f'put it in quotes: `"{excerpt(name)}"`' if name else None
            self._refuse(
                event, f"the key `{excerpt(name)}` is not text" if name else "a key is missing here", hint
            )
        elif name in top.values:
            first = None
            if top.route is not None:
                first = Related(
                    self._source.location(self._first_place((*top.route, name))[0]), "first given here"
                )
            self._refuse(event, f"`{excerpt(name)}` is given twice", related=first)
        else:
            top.key = name

    def _number(self, event: yaml.ScalarEvent) -> int | float | str:
        text = event.value
        match = _NUMBER.fullmatch(text)
        if match is None or match.lastgroup is None:
            return text
        if base := _BASES.get(match.lastgroup):
            if len(text) <= MAX_DIGITS + 2 and abs(integer := int(text, base)) < 10**MAX_DIGITS:
                return integer
            self._refuse(
                event, f"an integer has more than {MAX_DIGITS} digits", "put it in quotes if it is text"
            )
        elif match.lastgroup == "float" and isfinite(number := float(text)):
            return number
        else:
            self._refuse(
                event, "only finite numbers are allowed in a header", "put it in quotes if it is text"
            )
        return text


def _attach(top: _Open, value: Json) -> str | int | None:
    """Puts `value` into `top`; returns its key or index, None if it is thrown away."""
    if isinstance(top.values, list):
        top.values.append(value)
        return len(top.values) - 1
    top.at_key = True
    if top.key is not None:
        top.values[top.key] = value
    return top.key


def _span(start: Mark | None, end: Mark | None) -> Span:
    """Two marks of the header as a place in the file, of which the opening line is the first."""
    assert start is not None and end is not None, "whatever was parsed has marks"  # noqa: S101, PT018
    return Span(start.line + 2, start.column + 1, end.line + 2, end.column + 1)


def _quote_hint(character: str) -> str:
    return f"put text that starts with `{character}` in quotes"
