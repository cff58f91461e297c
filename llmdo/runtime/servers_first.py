"""The MCP servers of a run with `--locked`: started and held against the lock before any model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed

from llmdo.graph.code_calls import own_uses, uses_with_calls
from llmdo.graph.toolkit import delegating
from llmdo.policy.authority import decide
from llmdo.runtime.calls import below
from llmdo.runtime.gate.call import Refused
from llmdo.runtime.gate.starting import is_server, may_start_unasked, require_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.graph.worker import Use
    from llmdo.runtime.calls import AgentRuntime


async def start_servers(start: AgentRuntime) -> None:
    """Starts the servers that the run may start without a question, each decided on where it would be used first.

    Raises:
        LlmdoError: One of them cannot be started, or is not what was locked; all of it is reported at once.
    """
    servers = start.config.servers
    if servers is None:
        return
    permitted: set[str] = set()
    for runtime, use in _uses(start):
        if use.name not in permitted:
            try:
                await require_start(runtime.config, runtime.frame, use)
            except Refused:
                continue  # by a policy, perhaps of this place alone
            permitted.add(use.name)
    await servers.require_locked(sorted(permitted))


def _uses(start: AgentRuntime) -> Iterator[tuple[AgentRuntime, Use]]:
    """Every use of a server that may be started there, with the runtime of the place, the nearest place first.

    Only what leads there without a question counts. A ceiling that keeps a server from being started keeps all that
    is below from it as well, so that the nearest place of a worker decides for the others.
    """
    config = start.config
    graph = config.graph
    yield from _startable(start, own_uses(graph, config.entry))
    known: set[str] = set()
    level = [start]
    while level:
        deeper: list[AgentRuntime] = []
        for runtime in level:
            for name in _callees(runtime):
                if name not in known and runtime.frame.depth < config.max_depth:
                    try:
                        callee = below(runtime, graph.workers[name], input="", path=_place(runtime, name))
                    except ToolFailed:
                        continue  # a policy has none for this place
                    known.add(name)
                    deeper.append(callee)
                    yield from _startable(callee, uses_with_calls(graph, graph.workers[name].uses))
        level = deeper


def _startable(runtime: AgentRuntime, uses: Iterable[Use]) -> Iterator[tuple[AgentRuntime, Use]]:
    for use in uses:
        if is_server(runtime.config, use) and may_start_unasked(runtime.config, runtime.frame, use):
            yield runtime, use


def _callees(runtime: AgentRuntime) -> tuple[str, ...]:
    """The workers that may be called from here without a question; the entry's own worker is simply started."""
    config, frame = runtime.config, runtime.frame
    if frame.worker is None and config.entry.worker is not None:
        return (config.entry.worker.name,)
    if frame.worker is None:
        names = tuple(called.name for called in config.entry.delegates)
    else:
        names = tuple(name for name in config.graph.edges[frame.worker.name] if name in config.graph.workers)
    raised = ((name, [delegating(name)]) for name in names)
    return tuple(
        name for name, needs in raised if decide(needs, needs, frame.authority).decision == "allowed"
    )


def _place(runtime: AgentRuntime, name: str) -> str:
    """The call path of a worker, without the number that only a call has."""
    is_started = runtime.frame.worker is None and runtime.config.entry.worker is not None
    return name if is_started else f"{runtime.frame.path}/{name}"
