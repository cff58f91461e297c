"""What a change lets each entry do that it could not do before, from two graphs and nothing else.

`renames` finds who only has another name, `rows` compares what entries reach and `workers` what those below them do,
`facts` compares what the two locks say, and `difference` is what they find, as a value with a verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diff.difference import (
    Change,
    Difference,
    EntryDifference,
    HandEdit,
    Rename,
    RowChange,
    verdict_of,
)
from llmdo.diff.facts import changes, hand_edits
from llmdo.diff.renames import renamed, renaming
from llmdo.diff.rows import Comparison
from llmdo.diff.workers import worker_differences

if TYPE_CHECKING:
    from llmdo.graph.resolved import Graph

__all__ = ["Change", "Difference", "EntryDifference", "HandEdit", "Rename", "RowChange", "diff"]


def diff(before: Graph, after: Graph) -> Difference:
    """Everything in which `after` differs from `before`; what its acceptances name is marked as accepted."""
    names = renaming(before, after)
    before = renamed(before, names)
    was = {
        kind: {new: old for old, new in each.items()}
        for kind, each in (("entry", names.entries), ("worker", names.workers))
    }
    changed = changes(before, after)
    comparison = Comparison(before, after)
    rows = {name: comparison.of_entry(name) for name in sorted({*before.entries, *after.entries})}
    entries = []
    for name in sorted({*before.entries, *after.entries}):
        own = tuple(change for change in changed if name in change.entries)
        verdict = verdict_of((*rows[name], *own))
        entries.append(
            EntryDifference(
                name=name,
                was=was["entry"].get(name),
                status="new"
                if name not in before.entries
                else "gone"
                if name not in after.entries
                else "kept",
                rows=rows[name],
                verdict="changed" if verdict == "same" and name in was["entry"] else verdict,
            )
        )
    return Difference(
        entries=tuple(entries),
        workers=worker_differences(comparison, changed, rows, was["worker"]),
        renames=names.renames(after),
        changes=changed,
        hand_edits=() if after.read_from else hand_edits(before, after),
    )
