"""Which workers a selector such as `+planner` or `cap:proc.exec` means."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.authority import Capability
from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.inventory import tools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.graph import Graph
    from llmdo.reach import Analysis

_NAME = re.compile(r"(?P<up>\d*\+)?(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?P<down>\+\d*)?")

MODIFIED = "state:modified"


def select(analysis: Analysis, expressions: Iterable[str], modified: Iterable[str] = ()) -> frozenset[str]:
    """The workers that any of `expressions` means, in the manner of dbt.

    `name` is a worker, or the workers that an entry starts; `+name` adds all that can call it, `name+` all that it
    can call, a number says how many delegations far. `cap:fs.write` are the workers that can raise a capability
    themselves, `path:workers/a/*` those of files, `state:modified` those in `modified`. A comma intersects.

    Raises:
        LlmdoError: an expression names nothing that exists, or is not of such a form.
    """
    chosen: set[str] = set()
    for expression in expressions:
        parts = [_one(analysis, part, frozenset(modified)) for part in expression.split(",")]
        chosen |= frozenset.intersection(*parts)
    return frozenset(chosen)


def entries_of(graph: Graph, workers: frozenset[str], analysis: Analysis) -> tuple[str, ...]:
    """The entries from which one of `workers` can be reached, sorted."""
    return tuple(
        name
        for name, entry in graph.entries.items()
        if workers & set(_closure(analysis.graph.edges, [one.name for one in entry.starts], None))
    )


def _one(analysis: Analysis, text: str, modified: frozenset[str]) -> frozenset[str]:
    graph = analysis.graph
    if text == MODIFIED:
        return modified
    kind, colon, rest = text.partition(":")
    if colon and kind == "cap":
        return frozenset(_raising(graph, Capability.parse(rest)))
    if colon and kind == "path":
        return frozenset(name for name, worker in graph.workers.items() if fnmatchcase(worker.path, rest))
    match = _NAME.fullmatch(text)
    if not match:
        raise LlmdoError(
            f"`{text}` is not a selector",
            hint="name, +name, name+, 2+name, cap:CAPABILITY, path:GLOB, state:modified",
        )
    name = match["name"]
    if name in graph.workers:
        starts = [name]
    elif name in graph.entries:
        starts = [one.name for one in graph.entries[name].starts if one.name in graph.workers]
    else:
        raise LlmdoError(
            f"`{name}` is neither a worker nor an entry",
            hint=did_you_mean(name, {*graph.workers, *graph.entries}),
        )
    found = set(starts)
    if match["up"]:
        found |= set(_closure(_reversed(analysis.graph.edges), starts, _steps(match["up"])))
    if match["down"]:
        found |= set(_closure(analysis.graph.edges, starts, _steps(match["down"])))
    return frozenset(found)


def _steps(mark: str) -> int | None:
    return int(mark.strip("+")) if mark.strip("+") else None


def _closure(edges: Mapping[str, Sequence[str]], starts: Iterable[str], steps: int | None) -> Iterator[str]:
    level = {name for name in starts if name in edges}
    seen: set[str] = set()
    while level:
        yield from level
        seen |= level
        if steps == 0:
            return
        steps = None if steps is None else steps - 1
        level = {other for name in level for other in edges[name]} - seen


def _reversed(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    callers: dict[str, list[str]] = {name: [] for name in edges}
    for caller, callees in edges.items():
        for callee in callees:
            callers[callee].append(caller)
    return callers


def _raising(graph: Graph, wanted: Capability) -> Iterator[str]:
    for name, worker in graph.workers.items():
        tools = [tool for use in worker.uses for tool in tools_of(graph, worker, use).values()]
        if any(wanted.touches(one) or one.touches(wanted) for tool in tools for one in tool.capabilities):
            yield name
