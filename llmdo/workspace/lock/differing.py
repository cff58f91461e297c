"""Reading a stale lock next to the graph of the sources: only the workers that differ are read.

Usually few do, and writing a worker again takes a third of the time of reading one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.workspace.lock.state import Locked, read, text_of_worker
from llmdo.workspace.resolve import with_implied

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Source
    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Worker
    from llmdo.workspace.remembered import Remembered

_WORKER = re.compile(r"^\[worker\.([A-Za-z0-9_-]+)\]$", re.MULTILINE)
_OTHER = re.compile(r"^\[(?!worker\.)", re.MULTILINE)


def read_beside(source: Source | None, graph: Graph, remembered: Remembered[str] | None = None) -> Locked:
    """The result of `lock.read` for `source`, except that each unchanged worker is that of `graph`.

    The places of such a worker are in the sources. `remembered` holds the texts of workers.
    """
    if source is None:
        return read(None)
    same, others = _split(source.text, graph, remembered)
    locked = read(source, others) if same else None
    # Whatever is odd about the others is told by a reading of the whole.
    if locked is None or locked.graph is None or not same.keys().isdisjoint(locked.graph.workers):
        return read(source)
    workers = dict(sorted({**locked.graph.workers, **same}.items()))
    declared = {name: entry for name, entry in locked.graph.entries.items() if entry.declared}
    merged = replace(locked.graph, workers=workers, entries=with_implied(declared, workers))
    return replace(locked, graph=merged)


def _split(text: str, graph: Graph, remembered: Remembered[str] | None) -> tuple[Mapping[str, Worker], str]:
    """The workers whose text in a lock is exactly that of `graph`, and the lock's text without them."""
    same: dict[str, Worker] = {}
    others: list[str] = []
    for name, block in _blocks(text):
        worker = graph.workers.get(name)
        if worker is None or block != text_of_worker(graph, worker, remembered):
            others.append(block)
        elif name in same:
            return {}, text
        else:
            same[name] = worker
    return same, "".join(others)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces: each table of a worker, with its subtables, by the name; the rest by an empty name."""
    tables = list(_WORKER.finditer(text))
    if not tables:
        yield "", text
        return
    # A table begins with the empty line above it.
    starts = [max(table.start() - 1, 0) for table in tables]
    behind = _OTHER.search(text, tables[-1].end())
    ends = [*starts[1:], max(behind.start() - 1, 0) if behind else len(text)]
    yield "", text[: starts[0]]
    for heading, start, end in zip(tables, starts, ends, strict=True):
        yield heading[1], text[start:end]
    yield "", text[ends[-1] :]
