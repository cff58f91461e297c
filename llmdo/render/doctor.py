"""The results of `llmdo doctor`, as text for people and as the JSON document `llmdo.doctor/1`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.services.doctor import Item


def lines(items: Sequence[Item]) -> Iterator[str]:
    """A line for each item below the name of its section, and last the missing ones."""
    width = max((len(item.name) for item in items), default=0)
    for section, group in groupby(items, key=lambda item: item.section):
        yield section
        for item in group:
            hint = f" ({item.hint})" if item.hint else ""
            yield shown(f"  {item.name:<{width}}  {item.state}{hint}")
    for item in items:
        if item.problem:
            first, *rest = item.problem.split("\n")
            yield shown(f"missing: {item.name}: {first}")
            yield from map(shown, rest)


def to_json(items: Sequence[Item]) -> str:
    """The document: every item, and whether a run here has all that it needs."""
    status = "missing" if any(item.problem for item in items) else "fine"
    return document("llmdo.doctor/1", {"status": status, "items": items}, in_ascii=True)
