"""The possible calls of a run of an entry, as a list for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.graph.code_calls import calls_below, calls_by, codes_of
from llmdo.graph.toolkit import own_tool, reachable, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.authority import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool that a worker has, or that code may call in its name."""

    worker: str
    toolset: str
    tool: str
    capabilities: tuple[Capability, ...]
    """Those that the tool declares; a call never raises more."""


def require_ours(entry: Entry) -> None:
    """Check that llmdo itself runs an entry.

    Raises:
        LlmdoError: It is an agent of another tool.
    """
    if entry.format:
        raise LlmdoError(
            f"entry `{entry.name}` is an agent of {entry.format}, which runs it, not llmdo",
            hint="start it there: `llmdo hook` has that tool ask this workspace before each call",
        )


def list_tools(graph: Graph, entry: Entry) -> tuple[Offer, ...]:
    """Every tool that `entry` could call through any delegation, sorted by worker, toolset and tool; first its own."""
    return (*_own(graph, entry), *_of_workers(graph, entry))


def _own(graph: Graph, entry: Entry) -> Iterator[Offer]:
    own = own_tool(graph, entry)
    if own and entry.use:
        yield Offer(worker=entry.name, toolset=entry.use.name, tool=own.name, capabilities=own.capabilities)
    for call in calls_below(graph, codes_of(graph, entry)):
        name, tool = call.use.name, call.tool
        yield Offer(worker=entry.name, toolset=name, tool=tool.name, capabilities=tool.capabilities)


def _of_workers(graph: Graph, entry: Entry) -> Iterator[Offer]:
    for name in reachable(graph, entry):
        worker = graph.workers[name]
        for use in sorted(worker.uses, key=lambda use: use.name):
            for _, tool in sorted(tools_of(graph, worker, use).items()):
                yield Offer(worker=name, toolset=use.name, tool=tool.name, capabilities=tool.capabilities)
            for call in calls_by(graph, use):
                capabilities = call.tool.capabilities
                yield Offer(worker=name, toolset=use.name, tool=call.name, capabilities=capabilities)
