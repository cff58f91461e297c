"""What every parser of this package returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmdo.diagnostic import Diagnostic
    from llmdo.source import Location, Source, Span

Route = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a document to a value."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's data as the format's parser read it, before anything judged it."""

    source: Source
    data: dict[str, Any]
    """What the file says; what could be read of it where `problems` is not empty."""
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
        index = self.index()
        for length in range(len(route), 0, -1):
            if spans := index.get(route[:length]):
                return self.source.location(spans[part if length == len(route) else 0])
        return self.source.location()


class Place(NamedTuple):
    """Where the user wrote something, not yet looked up: a document and a route in it."""

    document: Document
    route: Route
    of_key: bool = False

    @property
    def location(self) -> Location:
        """The place in the text."""
        return self.document.key(*self.route) if self.of_key else self.document.value(*self.route)

    @property
    def data(self) -> Any:
        """What the document says there; None where it says nothing."""
        at: Any = self.document.data
        for step in self.route:
            try:
                at = at[step]
            except (KeyError, IndexError, TypeError):
                return None
        return at
