"""A model without a network: it has words counted, notes what it is told to, and knows how often it was spoken to.

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


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A call where the last words ask for one, then what came of it."""
    warn_once()
    texts = prompts(messages)
    if not info.function_tools:  # the counter has none
        return ModelResponse(parts=[TextPart(f"{len(texts[-1].split())} words")])
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return say(str(part.content))
    word, _, rest = texts[-1].partition(":")
    if word.lower() == "count":
        return ModelResponse(parts=[ToolCallPart("counter", {"input": rest.strip()})])
    if word.lower() == "note":
        arguments = {"path": "notes/note.md", "content": rest.strip() + "\n"}
        return ModelResponse(parts=[ToolCallPart("write_file", arguments)])
    before = f" Before that you said: {texts[-2]}" if len(texts) > 1 else ""
    return say(f"That is message {len(texts)}: {texts[-1]}{before}")


def say(text: str) -> ModelResponse:
    """`text` as the answer, with a note on what made it."""
    return ModelResponse(parts=[TextPart(f"{text} ({NOTICE})")])


def prompts(messages: list[ModelMessage]) -> list[str]:
    """What was said to it, in order."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    return [str(part.content) for part in parts]


@cache
def warn_once() -> None:
    """Say on stderr, once a run, what is answering."""
    print(f"models.py: {NOTICE}", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules")
