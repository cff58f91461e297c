"""The intervals of a worker: how often it looks for what others did."""

from __future__ import annotations

from llmdo.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The seconds between two looks of one worker."""

    queue: float = 1.0
    """For something to do."""
    code: float = 1.0
    """At the code, and at whether to stop."""
    dead: float = 10.0
    """For workers that died."""
    unqueued: float = 60.0
    """For items that are in no queue, while nothing waits."""
    busy: float = 10.0
    """At a run that another process has."""
    clock: float = 30.0
    """At the clock, which somebody may have set."""


USUAL = Intervals()
