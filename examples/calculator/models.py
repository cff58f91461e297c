"""The model of this example: rules, not a language model."""

from __future__ import annotations

import re
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

QUESTIONS = {
    "factorial": re.compile(r"(\d+)\s*!|factorial of (\d+)", re.IGNORECASE),
    "fibonacci": re.compile(
        r"(\d+)(?:st|nd|rd|th) fibonacci|fibonacci(?: number)? (?:of )?(\d+)", re.IGNORECASE
    ),
    "prime_factors": re.compile(r"prime factors of (\d+)|factori[sz]e (\d+)", re.IGNORECASE),
}
"""Tool to the ways in which a question may ask for it."""


def calculate(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """The tool calls that the question asks for; once they are answered, a line for each."""
    announce()
    calls = asked(prompt(messages))
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not calls:
        return ModelResponse(parts=[TextPart("I can do factorials, Fibonacci numbers and prime factors.")])
    if not results:
        return ModelResponse(parts=list(calls))
    by_id = {result.tool_call_id: result for result in results}
    lines = [line(call, by_id.get(call.tool_call_id)) for call in calls]
    return ModelResponse(parts=[TextPart("\n".join(lines))])


def asked(question: str) -> list[ToolCallPart]:
    """The calls that a question asks for, in its order."""
    asked_for = [
        (match.start(), tool, int(match[1] or match[2]))
        for tool, pattern in QUESTIONS.items()
        for match in pattern.finditer(question)
    ]
    return [
        ToolCallPart(tool, {"n": n}, tool_call_id=f"{tool}-{number}")
        for number, (_, tool, n) in enumerate(sorted(asked_for), 1)
    ]


def line(call: ToolCallPart, result: ToolReturnPart | None) -> str:
    """One result in words."""
    name = call.tool_name.replace("_", " ")
    n = call.args_as_dict()["n"]
    if result is None or result.outcome != "success":
        return f"{name} of {n}: no result ({result.content if result else 'the tool did not answer'})"
    content = result.content
    return f"{name} of {n}: {' x '.join(map(str, content)) if isinstance(content, list) else content}"


def prompt(messages: list[ModelMessage]) -> str:
    """What the user wrote."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[0].content if parts else ""
    return (
        content if isinstance(content, str) else " ".join(item for item in content if isinstance(item, str))
    )


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("calculator: rules, not a language model", file=sys.stderr)


rules = FunctionModel(calculate, model_name="rules (not a language model)")
