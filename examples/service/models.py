"""A model without a network: it writes down what begins with "Note:", and repeats the rest.

These are rules, not a language model, and every answer says so. `llmdo.toml` shows how to use a real model.
"""

from __future__ import annotations

import sys
from functools import cache

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

NOTICE = "rules, not a language model"


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A call that writes the note down, then what came of it."""
    warn_once()
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return say(str(part.content))
    question = prompt(messages)
    if question.lower().startswith("note:"):
        arguments = {"path": "notes/note.md", "content": question[5:].strip() + "\n"}
        return ModelResponse(parts=[ToolCallPart("write_file", arguments)])
    return say(f"You said: {question}")


def say(text: str) -> ModelResponse:
    """`text` as the answer, with a note on what made it."""
    return ModelResponse(parts=[TextPart(f"{text} ({NOTICE})")])


def prompt(messages: list[ModelMessage]) -> str:
    """What the user said last."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    return str(parts[-1].content) if parts else ""


@cache
def warn_once() -> None:
    """Say on stderr, once a run, what is answering."""
    print(f"models.py: {NOTICE}", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules")
