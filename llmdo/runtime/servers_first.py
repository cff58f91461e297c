"""The MCP servers of a run with `--locked`: started and compared with the lock before any model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed

from llmdo.graph.code_calls import own_uses, uses_with_calls
from llmdo.graph.toolkit import delegating
from llmdo.policy.authority import decide
from llmdo.runtime.frames import frame_below
from llmdo.runtime.gate.call import Refused
from llmdo.runtime.gate.starting import is_server, may_start_unasked, require_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.graph.worker import Use
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


async def start_servers(config: RuntimeConfig, entry: CallFrame) -> None:
    """Starts the servers that need no question, each decided on at its first place of use.

    Raises:
        LlmdoError: Some cannot be started, or differ from the lock; all are reported at once.
    """
    if config.servers is None:
        return
    permitted: set[str] = set()
    for frame, use in _uses(config, entry):
        if use.name not in permitted:
            try:
                await require_start(config, frame, use)
            except Refused:
                continue  # by a policy, perhaps of this place alone
            permitted.add(use.name)
    await config.servers.require_locked(sorted(permitted))


def _uses(config: RuntimeConfig, entry: CallFrame) -> Iterator[tuple[CallFrame, Use]]:
    """Every use of a server that may be started at its place, with that place's frame, the nearest first.

    Only places reached without a question count. A ceiling against starting a server also holds below, so that a
    worker's nearest place decides for the others.
    """
    graph = config.graph
    yield from _startable(config, entry, own_uses(graph, config.entry))
    known: set[str] = set()
    level = [entry]
    while level:
        deeper: list[CallFrame] = []
        for frame in level:
            for name in _callees(config, frame):
                if name not in known and frame.depth < config.max_depth:
                    worker, path = graph.workers[name], _place(config, frame, name)
                    try:
                        callee = frame_below(config, frame, worker, input="", path=path)
                    except ToolFailed:
                        continue  # a policy has none for this place
                    known.add(name)
                    deeper.append(callee)
                    yield from _startable(config, callee, uses_with_calls(graph, worker.uses))
        level = deeper


def _startable(
    config: RuntimeConfig, frame: CallFrame, uses: Iterable[Use]
) -> Iterator[tuple[CallFrame, Use]]:
    for use in uses:
        if is_server(config, use) and may_start_unasked(config, frame, use):
            yield frame, use


def _callees(config: RuntimeConfig, frame: CallFrame) -> tuple[str, ...]:
    """The workers that may be called from here without a question; the entry's own is simply started."""
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


def _place(config: RuntimeConfig, frame: CallFrame, name: str) -> str:
    """A worker's call path, without the number that only a call has."""
    is_started = frame.worker is None and config.entry.worker is not None
    return name if is_started else f"{frame.path}/{name}"
