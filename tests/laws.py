"""How often the laws are tried, and how much the long tests try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings

USUAL = 100
THOROUGH = 400
FEWEST = 5


def tried(times: int) -> Callable[[Any], Any]:
    """A law that holds for so many examples in `make test-long`: for a seventh of them in `make test`."""
    return settings(max_examples=examples(times))


def examples(times: int) -> int:
    """How many these are now, for a law that needs more settings."""
    return max(times * settings.default.max_examples // USUAL, min(times, FEWEST))


def is_thorough() -> bool:
    """Whether this is `make test-thorough`, which tries all that there is."""
    return settings.default.max_examples >= THOROUGH


def share(times: int) -> int:
    """So much of what a long test can try: all of it in `make test-thorough`, an eighth in `make test-long`."""
    part = (settings.default.max_examples / THOROUGH) ** 1.5
    return max(int(times * part), FEWEST)
