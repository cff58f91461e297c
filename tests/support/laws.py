"""How often the laws are tried, and how much the long tests try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings

BRIEF = 8  # examples of a law in `make test`
USUAL = 100
THOROUGH = 400
FEWEST = 5


def tried(times: int) -> Callable[[Any], Any]:
    """A law that is tried with so many of 100 examples: `make test` takes 8, `make test-long` 60, the thorough one 400."""
    return settings(max_examples=examples(times))


def examples(times: int) -> int:
    """How many these are now, for a law that needs more settings."""
    return max(times * settings.default.max_examples // USUAL, min(times, FEWEST))


def is_thorough() -> bool:
    """Whether this is `make test-thorough`, which tries all that there is."""
    return settings.default.max_examples >= THOROUGH


def share(times: int) -> int:
    """So much of what a long test can try: all of it in `make test-thorough`, an eighth in `make test-long`."""
    if is_thorough():
        return times
    return max(times // (8 if settings.default.max_examples > BRIEF else 128), FEWEST)
