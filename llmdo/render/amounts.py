"""Numbers in words: requests, tokens and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal


def counted(number: int, what: str) -> str:
    """`1 request`, `1,200 requests`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def tokens(sent: int, received: int) -> str:
    """`1,200 + 80 tokens`: sent and received."""
    return f"{sent:,} + {received:,} tokens"


def money(cost: Decimal) -> str:
    """`$0.0012`: cents are too coarse for one request."""
    return f"${cost:.4f}"
