"""How often the laws are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

USUAL = 100


def tried(times: int) -> Callable[[Any], Any]:
    """A law that holds for so many examples in `make test`, and for four times as many in `make test-long`."""
    examples = settings(max_examples=times * settings.default.max_examples // USUAL)
    return lambda law: pytest.mark.law(examples(law))
