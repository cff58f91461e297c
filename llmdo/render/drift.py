"""The differences of a new lock from the one before: a line an item, many of one kind as their number."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.workspace.lock import Drift

MOST = 20  # lines of items: more are counted by their kinds
FEW = 3  # names that stand for all of a kind


def lines(changes: Iterable[Drift], *, whole: bool = False) -> Iterator[str]:
    """A line for each item, sorted by kind; if that is too long and not `whole`, one for each kind."""
    ordered = sorted(changes, key=lambda change: change.kind)
    is_folded = len(ordered) > MOST and not whole
    for kind, group in groupby(ordered, key=lambda change: change.kind):
        items = list(group)
        if is_folded and len(items) > FEW:
            names = ", ".join(item.name for item in items[:FEW])
            yield f"{kind}: {len(items):,} changed, such as {names} (-v names all)"
        else:
            for item in items:
                yield f"{item.kind} {item.name}: {', '.join(item.changes)}".replace(" :", ":")
