"""Numbers in words: requests, tokens and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal


def counted(number: int, noun: str) -> str:
    """`1 request`, `1,200 requests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tokens(sent: int | None, received: int | None) -> Iterator[str]:
    """`1,200 + 80 tokens`, sent and received; nothing if nobody measured them."""
    if sent is not None and received is not None:
        yield f"{sent:,} + {received:,} tokens"


def money(cost: Decimal) -> str:
    """`$0.0012`: cents are too coarse for one request."""
    return f"${cost:.4f}"


def since(seconds: float) -> str:
    """How long ago something was, in its largest unit: `12 s`, `5 min`, `3 h`, `2 d`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
