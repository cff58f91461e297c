"""The workers of a fleet in their store: their start, and their last sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

ALIVE = 30.0
"""Seconds of silence after which a worker is dead, and has ended itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorker:
    """A process that takes items, or took some."""

    id: str
    """`host:pid:random`, unique to the process."""
    host: str
    pid: int
    lock: str
    """The digest of its `llmdo.lock`."""
    jobs: int
    """The number of items at a time."""
    state: str
    """`working`, `leaving` or, in words, why it takes nothing."""
    age: float
    """Seconds since it began."""
    silent: float
    """Seconds since it was last heard from."""
    ended: int

    @property
    def is_alive(self) -> bool:
        """Whether it may still be running."""
        return self.silent < ALIVE

    @property
    def per_minute(self) -> float:
        """The rate of finished items since it began."""
        return 60 * self.ended / self.age if self.age > 0 else 0.0


class FleetWorkers(Protocol):
    """The workers of one fleet. The clock of the store alone counts."""

    def register(self, worker: str, *, lock: str, jobs: int) -> None:
        """Registers a worker, alive from now on."""
        ...

    def beat(self, worker: str, *, state: str, ended: int) -> bool:
        """Notes that a worker is alive; whether it is still known."""
        ...

    def leave(self, worker: str) -> None:
        """Forgets a worker without work."""
        ...

    def all(self) -> tuple[FleetWorker, ...]:
        """All known ones, the oldest first."""
        ...

    def reaping(self) -> AbstractContextManager[bool]:
        """Whether the caller alone, while the block runs, takes up the work of dead workers."""
        ...

    def now(self) -> float:
        """Seconds since 1970, by the clock of the store."""
        ...

    def has_turn(self, key: str, interval: float) -> bool:
        """Whether the caller has the turn of `key`, one per interval over all workers."""
        ...

    def delay(self, name: str, seconds: float) -> None:
        """Makes this entry of the queue due in so many seconds."""
        ...

    def due(self) -> tuple[str, ...]:
        """The entries of the queue that are due by now."""
        ...

    def released(self, names: Sequence[str]) -> None:
        """Forgets the delays of these entries."""
        ...

    def forget(self) -> int:
        """Forgets workers that have been dead for a day; their number."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...
