"""The default model of this example: rules, not a language model. No key and no network needed."""

from __future__ import annotations

import asyncio
import sys
from functools import cache
from typing import TYPE_CHECKING

from pitchdeck_rules.conversation import delegate, evaluate_attachments, orchestrate
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

MODEL_NAME = "rules (not a language model)"


@cache
def _announce() -> None:
    print("rules, not a language model: keywords and numbers decide, nothing is understood", file=sys.stderr)


async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next response: an orchestrator's where the evaluator is offered as a tool, else the evaluator's."""
    _announce()
    evaluator = delegate(info)
    if evaluator is not None:
        return orchestrate(messages, evaluator.name)
    return await asyncio.to_thread(evaluate_attachments, messages, MODEL_NAME)


async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """The same response, piece by piece: calls one at a time, text line by line."""
    response = await respond(messages, info)
    for index, part in enumerate(response.parts):
        if isinstance(part, ToolCallPart):
            yield {
                index: DeltaToolCall(
                    name=part.tool_name, json_args=part.args_as_json_str(), tool_call_id=part.tool_call_id
                )
            }
        elif isinstance(part, TextPart):
            for line in part.content.splitlines(keepends=True):
                yield line


rules = FunctionModel(respond, stream_function=stream, model_name=MODEL_NAME)
