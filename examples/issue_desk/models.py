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


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of the worker that has these tools."""
    announce()
    tools = {tool.name for tool in info.function_tools}
    parts = [part for message in messages for part in message.parts]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    asked = " ".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    return ModelResponse(parts=desk(returns) if "writer" in tools else write(returns, asked))


def desk(returns: list[ToolReturnPart]) -> list[ToolCallPart | TextPart]:
    """List the issues, read each, hand each over, sum up."""
    done = {part.tool_call_id: str(part.content) for part in returns}
    if not done:
        return [ToolCallPart("list_files", {"path": "issues"}, tool_call_id="list")]
    issues = sorted(re.findall(r"issues/([\w-]+)\.md", done["list"]))
    if "read 0" not in done:
        return [
            ToolCallPart("read_file", {"path": f"issues/{name}.md"}, tool_call_id=f"read {number}")
            for number, name in enumerate(issues)
        ]
    if "hand over 0" not in done:
        return [
            ToolCallPart(
                "writer",
                {"input": f"{name}\n{done[f'read {number}']}"},
                tool_call_id=f"hand over {number}",
            )
            for number, name in enumerate(issues)
        ]
    return [
        TextPart("\n".join(f"{name}: {done[f'hand over {number}']}" for number, name in enumerate(issues)))
    ]


def write(returns: list[ToolReturnPart], asked: str) -> list[ToolCallPart | TextPart]:
    """Keep a draft, and say so."""
    name, _, issue = asked.partition("\n")
    if returns:
        return [TextPart(f"drafts/{name}.md")]
    title = re.search(r"# (.+)", issue)
    text = f"Thank you for writing to us about: {title[1] if title else name}\n"
    return [ToolCallPart("write_file", {"path": f"drafts/{name}.md", "content": text}, tool_call_id="draft")]


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("issue_desk: rules, not a language model", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules (not a language model)")
