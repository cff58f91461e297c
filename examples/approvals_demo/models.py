"""The model of this example: rules, not a language model. It does what each line of the request says."""

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

STEPS = {
    "read_file": r"read (?P<path>\S+?)",
    "write_file": r'write "(?P<content>[^"]*)" to (?P<path>\S+?)',
    "send_letter": r'send "(?P<text>[^"]*)" to (?P<to>\S+?)',
    "shred": r"shred (?P<path>\S+?)",
    "publish": r'publish "(?P<text>[^"]*)"',
}
"""Tool to the form of a line that asks for it."""


def carry_out(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The call of the next step; after the last one, a line for each."""
    announce()
    steps = steps_of(messages)
    if not steps:
        return ModelResponse(parts=[TextPart('No step that I know, such as: Send "Hello." to Ada.')])
    offered = {tool.name for tool in info.function_tools}
    results = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart | RetryPromptPart)
    }
    for number, (tool, arguments) in enumerate(steps, 1):
        if tool in offered and str(number) not in results:
            return ModelResponse(parts=[ToolCallPart(tool, arguments, tool_call_id=str(number))])
    lines = (
        f"{number} {tool}: {outcome_line(results.get(str(number)))}"
        for number, (tool, _) in enumerate(steps, 1)
    )
    return ModelResponse(parts=[TextPart("\n".join(lines))])


def steps_of(messages: list[ModelMessage]) -> list[tuple[str, dict[str, str]]]:
    """The calls that the lines of the request ask for; other lines are left out."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    text = "\n".join(part.content for part in parts if isinstance(part.content, str))
    return [
        (tool, match.groupdict())
        for line in text.splitlines()
        for tool, form in STEPS.items()
        if (match := re.fullmatch(rf"\W*{form}\.?\s*", line, re.IGNORECASE))
    ]


def outcome_line(result: ToolReturnPart | RetryPromptPart | None) -> str:
    """What came of a step, in one line."""
    return " ".join(str(result.content).split()) if result else "not offered"


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("approvals_demo: rules, not a language model", file=sys.stderr)


rules = FunctionModel(carry_out, model_name="rules (not a language model)")
