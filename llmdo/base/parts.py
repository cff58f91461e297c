"""Parts of JSON values whose format was judged before; an absent part is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.base.values import Json

_NOTHING: Mapping[str, Json] = {}


def table(value: object, *route: str) -> Mapping[str, Json]:
    """The value, or its part at `route`, if it is a table; else an empty one."""
    for key in route:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else _NOTHING


def tables(value: object, *route: str) -> dict[str, Mapping[str, Json]]:
    """The tables in a table, by their names."""
    return {name: table(part) for name, part in table(value, *route).items()}


def items(value: object) -> Sequence[Json]:
    """The items of a list; none for any other value."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """The value if it is a text; else an empty one."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The texts in a list."""
    return tuple([item for item in items(value) if isinstance(item, str)])
