"""An entry that is one call of one tool: asks no model, and is gated as models are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai import BinaryContent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tool_manager import ToolManager

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.toolkit import own_tool
from llmdo.policy.authority import decide
from llmdo.runtime.code_tools import NoModel
from llmdo.runtime.gate.toolset import Gate
from llmdo.runtime.signatures import Output, mistakes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Use
    from llmdo.runtime.calls import AgentRuntime


async def call_tool(start: AgentRuntime, text: str) -> Output:
    """The result of the entry's tool; `text` holds its arguments.

    Raises:
        LlmdoError: The call is refused, does not fit the tool, or fails.
    """
    config, frame = start.config, start.frame
    use, tool = config.entry.use, own_tool(config.graph, config.entry)
    if use is None or tool is None:
        raise LlmdoError(f"entry `{config.entry.name}` names a tool that is not declared")
    _require_possible(start, tool)
    gate = Gate(config.resolver.make(use, frame.authority), config, frame, use, {tool.name: tool}, start)
    context = RunContext(
        deps=start, model=NoModel(), usage=config.ledger.usage, usage_limits=config.limits, run_step=1
    )
    toolset = await gate.for_run(context)
    async with toolset:
        manager = await ToolManager(toolset).for_run_step(context)
        known = (manager.tools or {}).get(tool.name)
        if known is None:
            raise LlmdoError(f"`{use.name}` has no tool `{tool.name}`")
        arguments = arguments_of(text, known.tool_def.parameters_json_schema, tool.name)
        call = ToolCallPart(tool.name, arguments, tool_call_id="1")
        try:
            result = await manager.handle_call(call, wrap_validation_errors=False)
        except (ToolFailed, ModelRetry) as failed:
            raise LlmdoError(failed.message) from failed
        except ValidationError as misfit:
            raise LlmdoError(f"the input does not fit `{tool.name}`: {mistakes(misfit)}") from misfit
    return _output(result, use, tool)


def arguments_of(text: str, schema: Mapping[str, Any], tool: str) -> dict[str, object]:
    """The arguments in a tool's input: a JSON object, or any other text if the tool takes one text.

    Raises:
        LlmdoError: It is neither.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return arguments
    properties = schema.get("properties", {})
    if len(properties) == 1:
        [(name, its)] = properties.items()
        if its.get("type") == "string":
            return {name: text}
    if not properties and not text.strip():
        return {}
    names = ", ".join(f"`{name}`" for name in properties) or "none"
    raise LlmdoError(
        f"the input of `{tool}` is not a JSON object",
        hint=f"its arguments are {names}: write {{...}} with them",
    )


def _require_possible(start: AgentRuntime, tool: Tool) -> None:
    """Requires that some call of the tool could run: the gate would only hide it."""
    if tool.hook:
        return
    verdict = decide(tool.capabilities, tool.capabilities, start.frame.authority)
    if verdict.decision == "blocked":
        raise LlmdoError(f"`{tool.name}` is blocked: {'; '.join(map(str, verdict.reasons))}")


def _output(result: object, use: Use, tool: Tool) -> Output:
    value = result.return_value if isinstance(result, ToolReturn) else result
    if isinstance(value, BinaryContent):
        raise LlmdoError(f"`{use.name}.{tool.name}` returned a file, and the output of an entry is text")
    return Output.of("" if value is None else value)
