"""The model of this example: rules, not a language model."""

from __future__ import annotations

import re
import sys
from functools import cache

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

INTRODUCTIONS = re.compile(r"\b(?:I am|I'm|my name is|this is|call me)\s+([^\W\d_][\w'-]*)", re.IGNORECASE)


def greet(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A greeting that uses the name which the message introduces."""
    announce()
    name = INTRODUCTIONS.search(prompt(messages))
    text = f"Hello {name[1]}, how nice to meet you!" if name else "Hello! May I ask your name?"
    return ModelResponse(parts=[TextPart(text)])


def prompt(messages: list[ModelMessage]) -> str:
    """What the user wrote last."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[-1].content if parts else ""
    return (
        content if isinstance(content, str) else " ".join(item for item in content if isinstance(item, str))
    )


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("greeter: rules, not a language model", file=sys.stderr)


rules = FunctionModel(greet, model_name="rules (not a language model)")
