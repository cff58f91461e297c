"""The result of every parser of this package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Fix
from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location, Source, Span
    from llmdo.base.values import Json

_MANY = (
    1_000  # keys or items beside a name: nobody wrote them, and looking through them for each costs a square
)
_NOT_NAMES = frozenset({"null", "true", "false"})  # YAML takes them for something else where no quotes are

Route = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a document to a value."""


class LazyPlaces:
    """The finder of a document's places, which can find some without looking for all."""

    __slots__ = ()

    def __call__(self) -> Mapping[Route, tuple[Span, Span]]:
        """All places."""
        raise NotImplementedError

    def quickly(self, route: Route, part: int) -> Span | None:
        """The place of the key (0) or of the value (1) at `route`; None if it takes a search for all places."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Document:
    """A file's data as the format's parser read it, before anything judged it."""

    source: Source
    data: Mapping[str, Json]
    """The content of the file; its readable part if `problems` is not empty."""
    index: Callable[[], Mapping[Route, tuple[Span, Span]]] = field(compare=False, repr=False)
    """Finds the places, on first use: a clean document never pays for them."""
    problems: tuple[Diagnostic, ...] = ()

    def key(self, *route: str | int) -> Location:
        """The place of the key at `route`, or of the nearest enclosing one that has a place."""
        return self._nearest(route, 0)

    def value(self, *route: str | int) -> Location:
        """The place of the value at `route`, or of the nearest enclosing one that has a place."""
        return self._nearest(route, 1)

    def _nearest(self, route: Route, part: int) -> Location:
        if isinstance(self.index, LazyPlaces) and (span := self.index.quickly(route, part)):
            return self.source.location(span)
        index = self.index()
        for length in range(len(route), 0, -1):
            if spans := index.get(route[:length]):
                return self.source.location(spans[part if length == len(route) else 0])
        return self.source.location()


class Place(NamedTuple):
    """A place in the user's text, not yet looked up: a document and a route in it."""

    document: Document
    route: Route
    of_key: bool = False

    @property
    def location(self) -> Location:
        """The place in the text."""
        return self.document.key(*self.route) if self.of_key else self.document.value(*self.route)

    def respelt(self, before: str, after: str, *, safe: bool) -> Fix | None:
        """The edit that writes the name `after` for `before` in the text of this place, however it is quoted.

        None unless that is surely right: the text spells `before` exactly once, its table has no `after` yet, and the
        name is not that of a table found at other places as well.
        """
        at = self.location
        text = self.document.source.marked(at.span) if at.span else ""
        *parents, last = self.route
        table = Place(self.document, tuple(parents)).data
        as_key = self.of_key and isinstance(last, str)
        written = last if as_key else self.data
        if text.count(before) != 1 or not isinstance(written, str):
            return None
        if not isinstance(table, dict | list) or len(table) > _MANY:
            return None
        word = rf"(?<![\w-]){re.escape(before)}(?![\w-])"
        if as_key and isinstance(self.data, dict) and len(re.findall(word, self.document.source.text)) != 1:
            return None
        if written.replace(before, after) in table and (as_key or isinstance(last, int)):
            return None
        if after in _NOT_NAMES:
            return None
        return Fix(at, text, text.replace(before, after), safe)

    @property
    def data(self) -> Json:
        """The document's data at this place; None if there is none."""
        at: Json = self.document.data
        for step in self.route:
            if isinstance(step, str):
                at = at.get(step) if isinstance(at, dict) else None
            else:
                at = at[step] if isinstance(at, list) and step < len(at) else None
        return at
