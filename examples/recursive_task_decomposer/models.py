"""The model of this example: rules, not a language model. They split a text at its marks, and understand nothing.

Parts come from `parts`, else from the details: at line ends and semicolons, else at commas, else at "then" and "and".
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

MARKS = (r"[;\n]+|(?<=[.!?])\s+", r",", r"\b(?:and then|then|and)\b")
"""Where a text is split: the first of these that occurs in it."""
EDGES = " \t-*\u2022.,;:"
MOST_PARTS = 20
MOST_TITLE = 200  # characters
MOST_NOTE = 300  # characters

Task = dict[str, Any]


def decompose(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls for the parts that are more than a step; once they are answered, the plan."""
    announce()
    task = json.loads(prompt(messages))
    parts = parts_of(task)
    answers = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    larger = {str(number): part for number, part in enumerate(parts) if parts_of(part)}
    waiting = [name for name in larger if name not in answers]
    if waiting and any(tool.name == "decomposer" for tool in info.function_tools):
        return ModelResponse(
            parts=[ToolCallPart("decomposer", larger[name], tool_call_id=name) for name in waiting]
        )
    steps = [step(part, answers.get(str(number))) for number, part in enumerate(parts)]
    plan = {"title": task["title"], "steps": steps}
    if info.output_tools:
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, plan)])
    return ModelResponse(parts=[TextPart(json.dumps(plan))])


def step(part: Task, answer: ToolReturnPart | None) -> dict[str, Any]:
    """A part as a step: what the call for it returned, or the part itself."""
    if answer is None:
        return {"title": part["title"]}
    if answer.outcome != "success":
        return {"title": part["title"], "note": f"not split: {answer.content}"[:MOST_NOTE]}
    plan: dict[str, Any] = json.loads(str(answer.content))
    return plan


def parts_of(task: Task) -> list[Task]:
    """The smaller tasks that a task consists of; none where it is a single step."""
    if task.get("parts"):
        return list(task["parts"])
    pieces = split(task.get("details", ""))
    return [titled(piece) for piece in pieces] if len(pieces) > 1 else []


def split(text: str) -> list[str]:
    """The pieces of a text between the first kind of mark that it has."""
    for mark in MARKS:
        pieces = [piece.strip(EDGES) for piece in re.split(mark, text, flags=re.IGNORECASE)]
        pieces = [piece for piece in pieces if piece]
        if len(pieces) > 1:
            rest = "; ".join(pieces[MOST_PARTS - 1 :])
            return [*pieces[: MOST_PARTS - 1], rest] if len(pieces) > MOST_PARTS else pieces
    return []


def titled(piece: str) -> Task:
    """A piece of a text as a task: what stands before a colon is its title."""
    title, colon, details = piece.partition(":")
    if not colon or not title.strip(EDGES):
        return {"title": shortened(piece), "details": piece}
    return {"title": shortened(title.strip(EDGES)), "details": details.strip()}


def shortened(text: str) -> str:
    """A title that is no longer than the schema has it."""
    return text if len(text) <= MOST_TITLE else text[: MOST_TITLE - 3] + "..."


def prompt(messages: list[ModelMessage]) -> str:
    """The task as it was given."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[0].content
    return content if isinstance(content, str) else "".join(item for item in content if isinstance(item, str))


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("recursive_task_decomposer: rules, not a language model", file=sys.stderr)


rules = FunctionModel(decompose, model_name="rules (not a language model)")
