"""A model without a network: it picks the sentence that shares the most words with the others.

These are rules, not a language model, and every answer says so. `llmdo.toml` shows how to use a real model.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

NOTICE = "rules, not a language model"


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """The one sentence that says the most about the text."""
    warn_once()
    text = prompt(messages)
    return ModelResponse(parts=[TextPart(f"{summary(text) or 'There is no text to sum up.'} ({NOTICE})")])


def summary(text: str) -> str:
    """The sentence whose words occur most often in the whole of `text`; the first of equals."""
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    count = Counter(words(text))
    return max(sentences, key=lambda sentence: sum(count[word] for word in set(words(sentence))))


def words(text: str) -> list[str]:
    """The words of `text` that carry meaning, as far as their length tells."""
    return re.findall(r"\w{4,}", text.lower())


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
