"""The start of an MCP server: whether a worker may start it, and the refusal of a changed tool."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llmdo.graph.toolkit import START
from llmdo.policy.authority import decide
from llmdo.runtime.gate.call import Call
from llmdo.runtime.gate.decisions import judge, refused
from llmdo.runtime.labels import NO_LABELS
from llmdo.runtime.telemetry.events import Decided

if TYPE_CHECKING:
    from pydantic_ai import RunContext

    from llmdo.graph.described import Server
    from llmdo.graph.worker import Use
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Refused
    from llmdo.runtime.labels import Labels
    from llmdo.toolsets.servers import Drifted

[START_TOOL] = START.values()


async def require_start(
    config: RuntimeConfig,
    frame: CallFrame,
    use: Use,
    ctx: RunContext[object] | None = None,
    labels: Labels = NO_LABELS,
) -> None:
    """Returns when this call of a worker may use the MCP server `use`; other toolsets need no start.

    Decided once for each call of a worker, before its first call of the server's tools, even if another worker has it
    running: a worker's rights do not depend on who came first. `labels` are those of the call that needs it.

    Raises:
        Refused: The rules block it, or it needs an approval that was not given.
    """
    if not is_server(config, use):
        return
    server = config.graph.toolsets[use.name].server
    path = f"{frame.path}/{use.name}{START_TOOL.name}"
    starts = config.ledger.starts
    if path not in starts:
        call = Call(
            path=path,
            toolset=use.name,
            tool=START_TOOL.name,
            arguments=_description(server),
            raised=START_TOOL.capabilities,
            declared=START_TOOL.capabilities,
            labels=labels,
        )
        starts[path] = asyncio.ensure_future(judge(config, frame, call, ctx))
    await asyncio.shield(starts[path])


def may_start_unasked(config: RuntimeConfig, frame: CallFrame, use: Use) -> bool:
    """Whether the rules let a worker start `use` without a question; decides nothing."""
    raised = START_TOOL.capabilities
    return not is_server(config, use) or decide(raised, raised, frame.authority).decision == "allowed"


def is_server(config: RuntimeConfig, use: Use) -> bool:
    """Whether `use` is an MCP server."""
    toolset = config.graph.toolsets.get(use.name)
    return toolset is not None and toolset.kind == "mcp"


def _description(server: Server | None) -> dict[str, Any]:
    """The command or address for a person to see, without values of variables."""
    if server is None:
        return {}
    if server.url is not None:
        return {"url": server.url}
    return {"command": [server.command, *server.args]}


def refused_by_lock(config: RuntimeConfig, frame: CallFrame, call: Call, why: Drifted) -> Refused:
    """The gate's no to a tool that differs from the locked one; no rule and no answer lifts it."""
    decided = call.decided(
        worker=frame.name,
        decision="blocked",
        allowed=False,
        by="lock",
        reasons=(why.message,),
        refusal=f"`{call.tool}` is blocked: it is not the tool that was reviewed",
    )
    config.log.append(Decided(path=call.path, call=decided, lasts=False))
    return refused(config, decided)
