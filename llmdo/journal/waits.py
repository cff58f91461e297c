"""The time in which calls of a run waited for a person: from a question to the decision that followed its answer."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from llmdo.journal.entries import lineage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.journal.entries import JournalEntry


class Waits:
    """The waits of calls, each a wait of the calls above it as well."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._asked: dict[str, float] = {}
        self._waits: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for entry in entries:
            self.take(entry)

    def take(self, entry: JournalEntry) -> None:
        """Takes in the next entry of a journal."""
        if entry.kind == "asked":
            self._asked.setdefault(entry.path, entry.at)
        elif entry.kind == "decision" and (asked := self._asked.pop(entry.path, None)) is not None:
            for path in lineage(entry.path):
                self._waits[path].append((asked, entry.at))

    def seconds(self, path: str, began: float, ended: float) -> float:
        """The time between `began` and `ended` in which the call at `path`, or one below it, waited."""
        still = [
            (at, inf) for asked, at in self._asked.items() if path == asked or asked.startswith(f"{path}/")
        ]
        seconds, reached = 0.0, began
        for start, end in sorted(chain(self._waits.get(path, ()), still)):
            start, end = max(start, reached), min(end, ended)
            if end > start:
                seconds, reached = seconds + end - start, end
        return seconds
