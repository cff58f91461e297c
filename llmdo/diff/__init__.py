"""What a change lets each entry do that it could not do before, from two graphs and nothing else.

`renames` finds who only has another name, `rows` compares what entries reach and `workers` what those below them do,
`facts` compares what the two locks say, and `difference` is what they find, as a value with a verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import topology
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
from llmdo.diff.flows import flow_changes
from llmdo.diff.renames import renamed, renaming
from llmdo.diff.rows import Comparison
from llmdo.diff.workers import worker_differences
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from llmdo.graph.resolved import Graph

__all__ = [
    "Change", "Difference", "EntryDifference", "HandEdit", "Rename", "RowChange", "diff", "entry_rows",
]  # fmt: skip


def diff(before: Graph, after: Graph) -> Difference:
    """Everything in which `after` differs from `before`; what its acceptances name is marked as accepted.

    What `after` has of toolsets that nobody has seen yet is unknown, and no loss is claimed of them.
    """
    names = renaming(before, after)
    before = renamed(before, names)
    was = {
        kind: {new: old for old, new in each.items()}
        for kind, each in (("entry", names.entries), ("worker", names.workers))
    }
    comparison = Comparison(Analysis(before), Analysis(after))
    flowing = flow_changes(comparison.before, comparison.after)
    changed = tuple(sorted((*changes(before, after), *flowing), key=lambda change: change.route))
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


def entry_rows(
    before: Analysis, after: Analysis, touched: Collection[str] | None = None
) -> Mapping[str, tuple[RowChange, ...]]:
    """What each entry of either graph reaches otherwise than before, by its name, sorted; the rows that `diff` has.

    Where the graphs differ in nothing but the workers and entries that are `touched`, entries that are none of these
    and reach none are left out: they reach what they did.
    """
    graphs = (before.graph, after.graph)
    concerned = {name for graph in graphs for name in graph.entries}
    if touched is not None:
        concerned = {name for graph in graphs for name in _reaching(graph, touched)}
    if not concerned:
        return {}
    names = renaming(*graphs)
    concerned = {names.entries.get(name, name) for name in concerned}
    graph = renamed(before.graph, names)
    comparison = Comparison(before if graph is before.graph else Analysis(graph), after)
    return {name: comparison.of_entry(name) for name in sorted(concerned)}


def _reaching(graph: Graph, touched: Collection[str]) -> Iterator[str]:
    """The entries that are among `touched`, or reach one of them."""
    leading = topology.leading_to(graph.edges, touched)
    for name, entry in graph.entries.items():
        if name in touched or any(start.name in leading for start in entry.starts):
            yield name
