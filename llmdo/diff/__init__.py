"""What a change lets each entry do that it could not do before, from two graphs and nothing else.

`rows` compares what entries reach, `facts` compares what the two locks say, and `difference` is what both find,
as a value with a verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diff.difference import (
    Change,
    Difference,
    EntryDifference,
    HandEdit,
    RowChange,
    verdict_of,
)
from llmdo.diff.facts import changes, hand_edits
from llmdo.diff.rows import compared

if TYPE_CHECKING:
    from llmdo.graph.resolved import Graph

__all__ = ["Change", "Difference", "EntryDifference", "HandEdit", "RowChange", "diff"]


def diff(before: Graph, after: Graph) -> Difference:
    """Everything in which `after` differs from `before`; what its acceptances name is marked as accepted."""
    changed = changes(before, after)
    rows = compared(before, after)
    entries = []
    for name in sorted({*before.entries, *after.entries}):
        own = tuple(change for change in changed if name in change.entries)
        entries.append(
            EntryDifference(
                name=name,
                status="new"
                if name not in before.entries
                else "gone"
                if name not in after.entries
                else "kept",
                rows=rows[name],
                verdict=verdict_of((*rows[name], *own)),
            )
        )
    return Difference(
        entries=tuple(entries),
        changes=changed,
        hand_edits=() if after.read_from else hand_edits(before, after),
    )
