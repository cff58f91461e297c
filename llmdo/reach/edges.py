"""The calls along each edge of the graph, and the decisions about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.policy.authority import gravity
from llmdo.reach.rows import Along, Hop, Row, arranged, joined, telling, with_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.graph.resolved import Entry
    from llmdo.graph.worker import Use
    from llmdo.reach.analysis import Analysis
    from llmdo.reach.premises import Ruling
    from llmdo.reach.shapes import Group, Shapes
    from llmdo.reach.walk import Walk


def calls_by_worker(analysis: Analysis, walks: Sequence[Walk], name: str) -> Mapping[str, tuple[Row, ...]]:
    """The calls of the worker `name` by each line of its `toolsets`, the worst first.

    A row has the mildest decision over the calls of this edge in any of the `walks`; questions on the way to the worker
    belong to the edges of that way. Calls that no walk comes to are blocked.
    """
    graph = analysis.graph
    node = analysis.workers.nodes[name]
    numbers = analysis.shapes.by_node[node]
    rows_by_name: dict[str, tuple[Row, ...]] = {}
    for use in graph.workers[name].uses:
        way = Along((Hop(name, None), Hop(use.name, use)))
        rows: dict[int, Row] = {}
        for number in numbers:
            if not _is_offered(analysis.shapes, name, use, analysis.shapes.groups[number]):
                continue
            for walk in walks:
                for ruling in walk.rulings.of(number):
                    row = _row(walk, node, ruling, way)
                    known = rows.get(ruling.line)
                    rows[ruling.line] = _either(known, row) if known else row
        rows_by_name[use.name] = _arranged(list(rows.values()))
    return rows_by_name


def calls_by_entry(analysis: Analysis, entry: Entry) -> Mapping[str, tuple[Row, ...]]:
    """The calls of `entry` itself, by the name of the toolset or worker, the worst first."""
    walk = analysis.walk(entry)
    rows_by_name: dict[str, list[Row]] = {}
    for shape, called in analysis.calls_of(entry):
        rows_by_name.setdefault(called.name, []).append(walk.row_of_call(shape, called))
    return {name: arranged(with_rows(rows, ())) for name, rows in rows_by_name.items()}


def _row(walk: Walk, node: int, ruling: Ruling, way: Along) -> Row:
    shape = ruling.shape
    is_reached = ruling.cut is not None and node in walk.search(ruling.cut, free=False).parent
    decision = ruling.verdict.decision if is_reached else "blocked"
    return Row(shape, ruling.verdict, decision, way, way, shape.assurance, implied=shape.implied)


def _either(row: Row, other: Row) -> Row:
    return joined(row, other)._replace(implied=row.implied and other.implied)


def _arranged(rows: list[Row]) -> tuple[Row, ...]:
    return arranged(sorted(telling(rows), key=lambda row: gravity(row.capability)))


def _is_offered(shapes: Shapes, worker: str, use: Use, group: Group) -> bool:
    """Whether the calls of `group` are those by this line of the worker."""
    workers = shapes.graph.workers
    if use.name not in workers:
        return group.toolset == use.name
    if group.toolset or not group.shapes:
        return False
    return shapes.is_delegation(group.shapes[0], workers[worker], use.name)
