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

COMMON = frozenset(
    [
        "a",
        "about",
        "and",
        "are",
        "did",
        "do",
        "for",
        "in",
        "is",
        "of",
        "on",
        "our",
        "say",
        "the",
        "to",
        "was",
        "we",
        "what",
        "when",
        "where",
        "who",
        "why",
    ]
)
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def work(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of the desk, or of the librarian: whoever has the other one as a tool is the desk."""
    announce()
    question = prompt(messages)
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    is_desk = any(tool.name == "librarian" for tool in info.function_tools)
    return desk(question, results) if is_desk else librarian(question, results)


def desk(question: str, results: list[ToolReturnPart]) -> ModelResponse:
    """Asks the librarian, keeps the answer as a note, and gives it."""
    if not results:
        return call("librarian", input=question)
    answer = str(results[0].content)
    if len(results) == 1:
        return call("add_note", name="answers", text=f"# {question}\n\n{answer}\n")
    kept = (
        "kept in notes/answers.md" if results[1].outcome == "success" else f"not kept: {results[1].content}"
    )
    return ModelResponse(parts=[TextPart(f"{answer}\n({kept})")])


def librarian(question: str, results: list[ToolReturnPart]) -> ModelResponse:
    """Searches for the words of the question, reads the best note, and quotes what it says about them."""
    words = [word for word in re.findall(r"[a-z]+", question.lower()) if word not in COMMON]
    if not results:
        return call("search_notes", words=" ".join(words[-1:]))
    names = [name for name in str(results[0].content).split("\n") if name and name != "answers"]
    if results[0].outcome != "success" or not names:
        return ModelResponse(parts=[TextPart("No note says anything about that.")])
    if len(results) == 1:
        return call("read_note", name=names[0])
    if results[1].outcome != "success":
        return ModelResponse(parts=[TextPart(f"The note {names[0]} could not be read: {results[1].content}")])
    lines = [line for line in str(results[1].content).split("\n") if not line.startswith("#")]
    sentences = SENTENCE.split(" ".join(lines).strip())
    quoted = [sentence for sentence in sentences if "decided" in sentence.lower()] or sentences[:1]
    return ModelResponse(parts=[TextPart(f"{names[0]}: {' '.join(quoted)}")])


def call(tool: str, **arguments: str) -> ModelResponse:
    """One call of one tool."""
    return ModelResponse(parts=[ToolCallPart(tool, arguments)])


def prompt(messages: list[ModelMessage]) -> str:
    """What the worker was asked."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[0].content if parts else ""
    return (
        content if isinstance(content, str) else " ".join(item for item in content if isinstance(item, str))
    )


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("mcp_notes: rules, not a language model", file=sys.stderr)


rules = FunctionModel(work, model_name="rules (not a language model)")
