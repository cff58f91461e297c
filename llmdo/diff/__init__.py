"""The new powers that a change gives each entry, from two graphs alone.

`renames` finds changed names, `rows` compares the reach of entries and of workers below them, `facts` compares the
two locks, and `difference` is the result, as a value with a verdict.
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
from llmdo.diff.renames import renamed, renaming
from llmdo.diff.rows import Comparison, flow_changes, worker_differences
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from llmdo.graph.resolved import Graph

__all__ = [
    "Change", "Difference", "EntryDifference", "HandEdit", "Rename", "RowChange", "diff", "entry_rows",
]  # fmt: skip


def diff(before: Graph, after: Graph) -> Difference:
    """Everything in which `after` differs from `before`; changes that its acceptances name are marked as accepted.

    Toolsets of `after` that nobody has seen yet are unknown, and no loss is claimed of them.
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
    """The changed reach of each entry of either graph, by its name, sorted; the rows that `diff` has.

    With `touched`, the only workers and entries in which the graphs differ, entries that are none of these and reach
    none are left out: their reach is unchanged.
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
