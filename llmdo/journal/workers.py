"""The workers of a fleet as their store has them: who is there, since when, and when each was last heard from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

ALIVE = 30.0
"""Seconds after which a worker that nobody heard from is dead; it has ended itself by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorker:
    """A process that takes items, or took some."""

    id: str
    """`host:pid:random`, which no other process ever has."""
    host: str
    pid: int
    lock: str
    """The digest of its `llmdo.lock`."""
    jobs: int
    """How many items it works on at a time."""
    state: str
    """`working`, `leaving` or, in words, why it takes nothing."""
    age: float
    """Seconds since it began."""
    silent: float
    """Seconds since it was last heard from."""
    ended: int
    """How many items it is through with."""

    @property
    def is_alive(self) -> bool:
        """Whether it may still do something."""
        return self.silent < ALIVE

    @property
    def per_minute(self) -> float:
        """How many items a minute it is through with, since it began."""
        return 60 * self.ended / self.age if self.age > 0 else 0.0


class FleetWorkers(Protocol):
    """The workers of one fleet. The clock of the store alone counts."""

    def register(self, worker: str, *, lock: str, jobs: int) -> None:
        """Makes a worker known, which is alive from now on."""
        ...

    def beat(self, worker: str, *, state: str, ended: int) -> bool:
        """Says that a worker is alive; whether it is still known."""
        ...

    def leave(self, worker: str) -> None:
        """Forgets a worker that has nothing any more."""
        ...

    def all(self) -> tuple[FleetWorker, ...]:
        """All that are known, the oldest first."""
        ...

    def reaping(self) -> AbstractContextManager[bool]:
        """Whether the caller is the only one, for as long as the block runs, that takes up what dead workers left."""
        ...

    def now(self) -> float:
        """Seconds since 1970, by the clock of the store."""
        ...

    def has_turn(self, key: str, interval: float) -> bool:
        """Whether the caller has the turn of `key`, of which there is one in so many seconds over all workers."""
        ...

    def delay(self, name: str, seconds: float) -> None:
        """Keeps that this entry of the queue is due so many seconds from now on."""
        ...

    def due(self) -> tuple[str, ...]:
        """The entries of the queue that are due by now."""
        ...

    def released(self, names: Sequence[str]) -> None:
        """Forgets that these were delayed."""
        ...

    def forget(self) -> int:
        """Forgets workers that have been dead for a day; how many."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...
