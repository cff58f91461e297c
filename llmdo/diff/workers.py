"""The gains and losses of workers below entries that no entry and no other worker shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diff.difference import EntryDifference, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.diff.difference import Change, RowChange
    from llmdo.diff.rows import Comparison
    from llmdo.reach import Hop

_DESCRIPTIVE = frozenset({"path", "prompt", "description", "model", "compatible-models", "python"})
"""Keys of a worker in the lock that do not change its reach."""


def worker_differences(
    comparison: Comparison,
    changes: Iterable[Change],
    rows_by_entry: Mapping[str, Sequence[RowChange]],
    was: Mapping[str, str],
) -> tuple[EntryDifference, ...]:
    """The workers with a changed fact and so a changed reach, sorted by name.

    A row is left out if an entry, or a worker further down, has the same one and its way shows this one; or if a
    toolset is the cause and a shown row ends in it: the toolset's own change names all who use it.
    """
    mine, concerned = _concerned(changes)
    old, new = comparison.before.graph.workers, comparison.after.graph.workers
    if comparison.after.graph.read_from:
        mine |= {name for name in {*old, *new} if old.get(name) != new.get(name)}
    judged = {
        name: comparison.of_worker(name)
        for name in sorted(mine | concerned)
        if any(
            name in side and (side[name].path or not comparison.after.graph.read_from) for side in (old, new)
        )
    }
    of_entries = [row for rows in rows_by_entry.values() for row in rows]
    own_rows: dict[str, list[RowChange]] = {name: [] for name in judged}
    every = [(name, row) for name, rows in judged.items() for row in rows]
    done: dict[str, list[RowChange]] = {name: [] for name in judged}
    for name, row in sorted(every, key=lambda pair: len(_path(pair[1]))):
        steps = len(_path(row)) if name in mine else 1
        shown = (
            of_entries
            if name in mine
            else (*of_entries, *(each for rows in own_rows.values() for each in rows))
        )
        if not _is_told(row, shown, steps) and not any(
            _is_same(row, other) for hop in _path(row)[1:] for other in done.get(hop.name, ())
        ):
            own_rows[name].append(row)
        done[name].append(row)
    return tuple(
        EntryDifference(
            name=name,
            was=was.get(name),
            status="new" if name not in old else "gone" if name not in new else "kept",
            rows=tuple(row for row in judged[name] if row in rows),
            verdict=verdict_of(rows),
            below=comparison.entries_of(name),
        )
        for name, rows in own_rows.items()
        if rows
    )


def _concerned(changes: Iterable[Change]) -> tuple[set[str], set[str]]:
    """The workers that a fact of their own is about, and those about whose toolsets one is."""
    mine: set[str] = set()
    users: set[str] = set()
    for change in changes:
        if change.route[0] != "worker":
            users.update(change.workers)
        elif change.route[2:3] == () or change.route[2] not in _DESCRIPTIVE:
            mine.add(change.route[1])
    return mine, users


def _path(row: RowChange) -> Sequence[Hop]:
    shown = row.before if row.kind == "lost" else row.after
    return shown.path if shown else ()


def _is_told(row: RowChange, others: Iterable[RowChange], steps: int) -> bool:
    """Whether another row says the same of a way that ends in the last steps of this one's."""
    names = [hop.name for hop in _path(row)][-steps:]
    return any(
        _is_same(row, other) and [hop.name for hop in _path(other)][-steps:] == names for other in others
    )


def _is_same(row: RowChange, other: RowChange) -> bool:
    return (
        row.effect == other.effect
        and (row.accepted is None) == (other.accepted is None)
        and other.capability.contains(row.capability)
    )
