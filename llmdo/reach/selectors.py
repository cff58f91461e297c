"""The workers and entries that a selector such as `+planner` or `cap:proc.exec` means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt, nearest
from llmdo.graph.code_calls import own_tools, own_uses, tools_with_calls, uses_with_calls
from llmdo.graph.toolkit import known_capabilities, known_toolsets
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import has_paths
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Tool
    from llmdo.reach import Analysis

_NAME = re.compile(r"(?P<up>\d*\+)?(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?P<down>\+\d*)?")

MODIFIED = "state:modified"
_FORMS = "name, +name, name+, 2+name, toolset:NAME, cap:CAPABILITY, path:GLOB, state:modified[:REV]"


class Selection(NamedTuple):
    """The workers and entries that selectors mean."""

    workers: frozenset[str]
    entries: frozenset[str] = frozenset()
    """Entries that are meant for the one tool that they call themselves."""


def select(
    analysis: Analysis,
    expressions: Iterable[str],
    modified: Mapping[str, frozenset[str]],
    unread: Collection[str] = (),
) -> Selection:
    """The workers that any of `expressions` means, in the manner of dbt.

    `name` is a worker, the workers that an entry starts, or those that use a toolset; `+name` adds all that can call
    them, `name+` all that they can call, a number limits the delegations. `toolset:shell` is the toolset, even if a
    worker or an entry has that name. `cap:fs.write` are the workers that can raise a capability themselves,
    `path:workers/a/*` those of files, `state:modified:main` those that `modified` has for that revision, by default
    `HEAD`. A comma intersects. A path may also mean some of `unread`, the files of workers that could not be read.

    Raises:
        LlmdoError: an expression names nothing that exists, or has no such form.
    """
    workers: set[str] = set()
    entries: set[str] = set()
    for expression in expressions:
        parts = [_part(analysis, part, modified, unread) for part in expression.split(",")]
        workers |= frozenset.intersection(*(part.workers for part in parts))
        entries |= frozenset.intersection(*(part.entries for part in parts))
    return Selection(frozenset(workers), frozenset(entries))


def entries_of(graph: Graph, selection: Selection) -> tuple[str, ...]:
    """The entries that are selected themselves, or that reach a selected worker, sorted."""
    return tuple(
        name
        for name, entry in sorted(graph.entries.items())
        if name in selection.entries
        or not selection.workers.isdisjoint(closure(graph.edges, [start.name for start in entry.starts]))
    )


def revisions_in(expression: str) -> frozenset[str]:
    """The revisions that an expression compares with."""
    return frozenset(at for part in expression.split(",") if (at := _revision(part)))


def _revision(part: str) -> str | None:
    """The revision with which `part` compares; None if it does not."""
    if part == MODIFIED:
        return "HEAD"
    return part.removeprefix(f"{MODIFIED}:") or None if part.startswith(f"{MODIFIED}:") else None


def _part(
    analysis: Analysis, text: str, modified: Mapping[str, frozenset[str]], unread: Collection[str]
) -> Selection:
    graph = analysis.graph
    if at := _revision(text):
        return Selection(modified[at])
    kind, colon, rest = text.partition(":")
    if colon and kind == "cap":
        return _of_capability(graph, rest)
    if colon and kind == "path":
        return Selection(_of_path(graph, rest, unread))
    if colon and kind == "toolset":
        return _of_toolset(graph, rest)
    match = _NAME.fullmatch(text)
    if not match:
        raise LlmdoError(f"`{excerpt(text)}` is not a selector", hint=_meant(kind, rest) or _FORMS)
    start = _of_name(graph, match["name"])
    workers = set(start.workers)
    if match["up"]:
        workers |= set(closure(callers(graph.edges), start.workers, _steps(match["up"])))
    if match["down"]:
        workers |= set(closure(graph.edges, start.workers, _steps(match["down"])))
    return Selection(frozenset(workers), start.entries)


def _of_name(graph: Graph, name: str) -> Selection:
    if name in graph.workers:
        return Selection(frozenset([name]))
    if entry := graph.entries.get(name):
        starts = frozenset(start.name for start in entry.starts if start.name in graph.workers)
        return Selection(starts, frozenset([name]) if own_uses(graph, entry) else frozenset())
    toolsets = known_toolsets(graph)
    if name in toolsets:
        return _of_toolset(graph, name)
    raise LlmdoError(
        f"`{name}` is neither a worker nor an entry nor a toolset",
        hint=did_you_mean(name, {*graph.workers, *graph.entries, *toolsets}),
    )


def _of_toolset(graph: Graph, name: str) -> Selection:
    toolsets = known_toolsets(graph)
    if name not in toolsets:
        raise LlmdoError(f"there is no toolset `{excerpt(name)}`", hint=did_you_mean(name, toolsets))
    workers = graph.workers.items()
    return Selection(
        frozenset(
            worker
            for worker, read in workers
            if any(use.name == name for use in uses_with_calls(graph, read.uses))
        ),
        frozenset(
            entry.name
            for entry in graph.entries.values()
            if any(use.name == name for use in own_uses(graph, entry))
        ),
    )


def _of_capability(graph: Graph, text: str) -> Selection:
    wanted = Capability.parse(text)
    if wanted.scope is not None and not has_paths(wanted.name):
        raise LlmdoError(f"`{wanted.name}` has no scopes", hint=f"write `cap:{wanted.name}`")
    raising = _raising(graph, wanted)
    known = known_capabilities(graph)
    if not any(raising) and wanted.name not in known:
        raise LlmdoError(
            f"`{excerpt(wanted.name)}` is not a capability", hint=did_you_mean(wanted.name, known)
        )
    return raising


def _of_path(graph: Graph, pattern: str, unread: Collection[str]) -> frozenset[str]:
    glob = Glob(pattern)
    named = frozenset(name for name, worker in graph.workers.items() if glob.matches(worker.path))
    if not named and not any(map(glob.matches, unread)):
        paths = {worker.path for worker in graph.workers.values()}
        folders = {f"{path.rpartition('/')[0]}/*" for path in paths if "/" in path}
        raise LlmdoError(
            f"`{excerpt(pattern)}` matches the file of no worker",
            hint=did_you_mean(pattern, paths | folders) or "paths are relative to the workspace",
        )
    return named


def _meant(kind: str, rest: str) -> str | None:
    """The selector that a misspelt one with a colon may have meant."""
    if not rest:
        return None
    match = nearest(kind, ("cap", "path", "toolset"))
    return f"did you mean `{match}:{rest}`?" if match else did_you_mean(f"{kind}:{rest}", [MODIFIED])


def _steps(mark: str) -> int | None:
    return int(mark.strip("+")) if mark.strip("+") else None


def closure(
    edges: Mapping[str, Sequence[str]], starts: Iterable[str], steps: int | None = None
) -> Iterator[str]:
    """`starts` and all that follows from them along `edges`, in at most `steps`."""
    level = {name for name in starts if name in edges}
    seen: set[str] = set()
    while level:
        yield from level
        seen |= level
        if steps == 0:
            return
        steps = None if steps is None else steps - 1
        level = {other for name in level for other in edges[name]} - seen


def callers(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The reversed edges: the callers of each worker."""
    callers: dict[str, list[str]] = {name: [] for name in edges}
    for caller, callees in edges.items():
        for callee in callees:
            callers[callee].append(caller)
    return callers


def _raising(graph: Graph, wanted: Capability) -> Selection:
    def can_raise(tool: Tool) -> bool:
        return any(wanted.touches(declared) or declared.touches(wanted) for declared in tool.capabilities)

    workers = {
        name
        for name, worker in graph.workers.items()
        if any(can_raise(tool) for use in worker.uses for tool in tools_with_calls(graph, worker, use))
    }
    entries = {name for name, entry in graph.entries.items() if any(map(can_raise, own_tools(graph, entry)))}
    return Selection(frozenset(workers), frozenset(entries))
