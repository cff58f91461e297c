"""Where a run is at work, and where it waits: it stops for its questions once all that goes on waits for them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmdo.journal.entries import lineage

if TYPE_CHECKING:
    from collections.abc import Iterator


class Activity:
    """The places of one run, by call path, at which something is at work or waits."""

    def __init__(self) -> None:
        self.begun = 0
        """How often something began, which tells one pause from another."""
        self._works: Counter[str] = Counter()
        self._blocked: set[str] = set()
        """Where something waits, and all that these places are below: what is at work there waits for it."""
        self._busy = 0

    @property
    def is_busy(self) -> bool:
        """Whether something is at work that does not itself wait, as a tool does that called a worker."""
        return self._busy > 0

    @contextmanager
    def at_work(self, path: str) -> Iterator[None]:
        """Around what is at work at `path`."""
        self.begun += 1
        self._count(path, 1)
        try:
            yield
        finally:
            self._count(path, -1)

    def wait(self, path: str) -> None:
        """Something waits at `path` from now on, and all that it is part of."""
        for above in lineage(path):
            if above not in self._blocked:
                self._blocked.add(above)
                self._busy -= self._works[above]

    def _count(self, path: str, number: int) -> None:
        self._works[path] += number
        if not self._works[path]:
            del self._works[path]
        if path not in self._blocked:
            self._busy += number
