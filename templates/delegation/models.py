"""A model without a network: it plays the three workers by rules, each by what it is asked.

These are rules, not a language model, and every report says so. `llmdo.toml` shows how to use a real model.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
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

NOTICE = "rules, not a language model"


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """What the worker does next: `main` is the one that can call `writer`."""
    warn_once()
    if any(tool.name == "writer" for tool in info.function_tools):
        return lead(messages)
    task, _, text = prompt(messages).partition(":")
    return say(review(text) if task == "Review" else summary(text))


def lead(messages: list[ModelMessage]) -> ModelResponse:
    """The next of five steps, each for all notes at once: list, read, sum up, review, write."""
    if failure := failures(messages):
        return say(f"Stopped: {failure} ({NOTICE})")
    if not (listed := results(messages, "list_files")):
        return call("list_files", {"notes": {"path": "notes", "pattern": "*.md"}})
    notes = [line for line in listed["notes"].splitlines() if line.endswith(".md")]
    if not notes:
        return say(f"There are no notes. ({NOTICE})")
    if not (texts := results(messages, "read_file")):
        return call("read_file", {note: {"path": note} for note in notes})
    if not (summaries := results(messages, "writer")):
        return call("writer", {note: {"input": f"Sum up:\n{texts[note]}"} for note in notes})
    if not (reviews := results(messages, "reviewer")):
        inputs = {note: f"Review:\n{summaries[note]}\nNote:\n{texts[note]}" for note in notes}
        return call("reviewer", {note: {"input": text} for note, text in inputs.items()})
    reports = {note: note.replace("notes/", "reports/", 1) for note in notes}
    if not results(messages, "write_file"):
        contents = {note: f"{summaries[note]}\n\nReview: {reviews[note]}\n\n({NOTICE})\n" for note in notes}
        files = {note: {"path": reports[note], "content": contents[note]} for note in notes}
        return call("write_file", files)
    return say("\n".join([*reports.values(), f"({NOTICE})"]))


def summary(text: str) -> str:
    """The sentence whose words occur most often in the whole of `text`; the first of equals."""
    count = Counter(words(text))
    return max(sentences(text), key=lambda sentence: sum(count[word] for word in set(words(sentence))))


def review(text: str) -> str:
    """Approval, or the sentences of the summary that the note below it does not have."""
    claims, _, note = text.partition("\nNote:\n")
    unknown = [sentence for sentence in sentences(claims) if sentence not in sentences(note)]
    return f"the note does not say: {' '.join(unknown)}" if unknown else "approved"


def sentences(text: str) -> list[str]:
    """The sentences of `text`, each on one line."""
    return re.split(r"(?<=[.!?]) ", " ".join(text.split()))


def words(text: str) -> list[str]:
    """The words of `text` that carry meaning, as far as their length tells."""
    return re.findall(r"\w{4,}", text.lower())


def call(tool: str, arguments: dict[str, dict[str, str]]) -> ModelResponse:
    """One call of `tool` for each subject; they run at the same time."""
    return ModelResponse(
        parts=[ToolCallPart(tool, given, f"{tool}:{subject}") for subject, given in arguments.items()]
    )


def say(text: str) -> ModelResponse:
    """`text` as the answer."""
    return ModelResponse(parts=[TextPart(text)])


def results(messages: list[ModelMessage], tool: str) -> dict[str, str]:
    """What the calls of `tool` returned so far, by subject."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return {
        part.tool_call_id.partition(":")[2]: str(part.content) for part in parts if part.tool_name == tool
    }


def failures(messages: list[ModelMessage]) -> str:
    """What went wrong in the last step; empty where nothing did."""
    parts = messages[-1].parts
    failed = [part for part in parts if isinstance(part, ToolReturnPart) and part.outcome != "success"]
    retried = [part for part in parts if isinstance(part, RetryPromptPart)]
    return "; ".join(str(part.content) for part in [*failed, *retried])


def prompt(messages: list[ModelMessage]) -> str:
    """What the user, or the worker that delegates, said."""
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
