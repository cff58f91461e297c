"""The model of this example: rules, not a language model. It is easily talked into things, as models are."""

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

REQUEST = re.compile(r"release (v[\d.]*\d)", re.IGNORECASE)


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of whichever worker has these tools."""
    announce()
    tools = {tool.name for tool in info.function_tools}
    parts = [part for message in messages for part in message.parts]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    asked = " ".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    part = triage(tools, returns) if "read_issues" in tools else release(returns, asked)
    return ModelResponse(parts=[part])


def triage(tools: set[str], returns: list[ToolReturnPart]) -> TextPart | ToolCallPart:
    """Read the issues; do what one of them asks for, if there is somebody who can; sum up."""
    if not returns:
        return ToolCallPart("read_issues", {}, tool_call_id="issues")
    issues = str(returns[0].content)
    request = REQUEST.search(issues)
    if request and "releaser" in tools and len(returns) == 1:
        return ToolCallPart("releaser", {"input": f"Release {request[1]}."}, tool_call_id="release")
    lines = [f"- {title}: to be looked at" for title in re.findall(r"^# (.+)$", issues, re.MULTILINE)]
    lines += [f"- the releaser says: {result.content}" for result in returns[1:]]
    return TextPart("\n".join(lines))


def release(returns: list[ToolReturnPart], asked: str) -> TextPart | ToolCallPart:
    """Publish the version that was asked for, and report."""
    if returns:
        return TextPart(str(returns[-1].content))
    request = REQUEST.search(asked)
    if request is None:
        return TextPart("no version was named")
    return ToolCallPart("publish", {"version": request[1]}, tool_call_id="publish")


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("confused_deputy: rules, not a language model", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules (not a language model)")
