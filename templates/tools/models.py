"""A model without a network: it finds the numbers in a question and calls the tool that fits.

These are rules, not a language model, and every answer says so. `llmdo.toml` shows how to use a real model.
"""

from __future__ import annotations

import re
import sys
from functools import cache

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

NOTICE = "rules, not a language model"


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A call of the tool that fits the question, then what came of it."""
    warn_once()
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart | RetryPromptPart):
            return say(f"{part.tool_name}: {part.content}")
    question = prompt(messages)
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", question)]
    if not numbers:
        return say("There is no number in the question.")
    if "factorial" in question.lower():
        return ModelResponse(parts=[ToolCallPart("factorial", {"number": int(numbers[0])})])
    return ModelResponse(parts=[ToolCallPart("total", {"numbers": numbers})])


def say(text: str) -> ModelResponse:
    """`text` as the answer, with a note on what made it."""
    return ModelResponse(parts=[TextPart(f"{text} ({NOTICE})")])


def prompt(messages: list[ModelMessage]) -> str:
    """What the user said, without attachments."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[-1].content if parts else ""
    return (
        content if isinstance(content, str) else "\n".join(item for item in content if isinstance(item, str))
    )


@cache
def warn_once() -> None:
    """Say on stderr, once a run, what is answering."""
    print(f"models.py: {NOTICE}", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules")
