"""The model of this example: rules, not a language model. It plays all four workers, and understands nothing.

What it is asked decides which part of it answers: the same few words find the same lines, before and after.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pitch_desk import answers, report_paths, written
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

if TYPE_CHECKING:
    from collections.abc import Sequence

MONEY = r"(?:[$\u20ac\u00a3]\s?\d|\b\d[\d.,]*\s?(?:k|m|bn)?\s?(?:eur|usd|dollars|euros)\b)"
WORDS = {
    "problem": r"\b(?:problem|pain|los(?:es?|ing)|wast(?:ed?|es|ing)|throws? away|struggles?|fails? to|waits?)\b",
    "solution": r"\b(?:automates?|books?|connects?|delivers?|finds?|helps?|lets|match(?:es)?|measures?|predicts?|"
    r"reads|rents?|repairs|tracks?)\b",
    "team": r"\b(?:CEO|CTO|COO|found(?:ed|ers?)|engineer(?:ed)?|years (?:at|as|in|of)|worked (?:at|as|for))\b",
    "market": r"\b(?:market|TAM|SAM|industry|there are \d[\d.,]*)\b.*\d",
    "traction": r"\b\d[\d.,]*\s+(?:\w+\s+)?(?:customers?|users?|clients?|subscribers?|pilots|orders|sales)\b|"
    rf"\b\d[\d.,]*\s.*\buse (?:it|us|our)\b|\b(?:MRR|ARR|revenue)\b.*{MONEY}",
    "finances": rf"\b(?:pric(?:es?|ed)|costs?|margin|burn)\b.*{MONEY}|"
    rf"{MONEY}.*\b(?:per|a) (?:month|year|day|shop|set|practice|farm)\b",
    "ask": rf"\b(?:raising|raise|looking for|seeking|ask|round)\b.*{MONEY}",
}
"""Question to the words of a line that answers it."""
PATTERNS = {question: re.compile(pattern, re.IGNORECASE) for question, pattern in WORDS.items()}
PLANNED = re.compile(
    r"\b(?:will|plan(?:ned|s)?|expect(?:ed|s)?|project(?:ed|s|ions)?|target)\b|\b20[3-9]\d\b", re.IGNORECASE
)
EMPTY = re.compile(
    r"\b(?:TBD|TBA|coming soon|answer yes|ignore (?:all|your|previous|the)|instructions?)\b", re.IGNORECASE
)
NUMBERED = re.compile(r"^\d+: (.*)$|^\d+:$", re.MULTILINE)
NAMED = re.compile(r"[\w.-]+\.(?:md|txt)\b")
VERDICT = re.compile(r"^\*\*(\w+)\*\*, (\d of \d) stated$", re.MULTILINE)
MOST_LINE = 2_000  # characters: more is no line of a deck


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step."""
    announce()
    return next_step(messages, {tool.name for tool in info.function_tools})


def next_step(messages: list[ModelMessage], tools: set[str]) -> ModelResponse:
    """The next step of whichever worker has these tools."""
    if "evaluate_decks" in tools:
        return front_desk(messages)
    if "evaluator" in tools:
        return clerk(messages)
    if attached(messages) is not None:
        return evaluator(messages)
    return say(judged([match[1] or "" for match in NUMBERED.finditer(prompt(messages))]))


def front_desk(messages: list[ModelMessage]) -> ModelResponse:
    """Have the decks evaluated, and say what the tool says."""
    done = results(messages)
    if not done:
        arguments = {"names": NAMED.findall(prompt(messages))}
        return step(ToolCallPart("evaluate_decks", arguments, tool_call_id="evaluate"))
    return say(str(done["evaluate"].content))


def clerk(messages: list[ModelMessage]) -> ModelResponse:
    """List the decks, have each evaluated, file each report, sum up."""
    done = results(messages)
    if "list" not in done:
        return step(ToolCallPart("list_files", {"path": "input"}, tool_call_id="list"))
    named = NAMED.findall(prompt(messages))
    listed = [line for line in str(done["list"].content).splitlines() if line.endswith((".md", ".txt"))]
    decks = [deck for deck in listed if not named or PurePosixPath(deck).name in named]
    if not decks:
        return say("no such deck in input/")
    if len(done) == 1:
        return step(*(evaluation(deck) for deck in decks))
    reports = {deck: done[f"evaluate {deck}"] for deck in decks}
    paths = report_paths(decks)
    good = [deck for deck in decks if reports[deck].outcome == "success"]
    if good and f"file {good[0]}" not in done:
        return step(*(filing(deck, paths[deck], str(reports[deck].content)) for deck in good))
    return say(
        "\n".join(outcome_line(deck, reports[deck], done.get(f"file {deck}"), paths[deck]) for deck in decks)
    )


def evaluation(deck: str) -> ToolCallPart:
    """A call of the evaluator."""
    arguments = {"input": f"Evaluate the pitch deck {deck}.", "attachments": [deck]}
    return ToolCallPart("evaluator", arguments, tool_call_id=f"evaluate {deck}")


def filing(deck: str, path: str, report: str) -> ToolCallPart:
    """A report that is written."""
    return ToolCallPart("write_file", {"path": path, "content": report}, tool_call_id=f"file {deck}")


def outcome_line(deck: str, report: ToolReturnPart, filed: ToolReturnPart | None, path: str) -> str:
    """What came of one deck."""
    score = VERDICT.search(str(report.content))
    if report.outcome != "success" or score is None:
        return f"{deck}: not evaluated, {report.content}"
    if filed is None or filed.outcome != "success":
        return f"{deck}: not filed, {filed.content if filed else ''}"
    return f"{deck}: {score[1]}, {score[2]} -> {path}"


def evaluator(messages: list[ModelMessage]) -> ModelResponse:
    """The report on the attached deck."""
    lines = (attached(messages) or "").splitlines()
    deck = next(iter(re.findall(r"pitch deck (.+)\.$", prompt(messages), re.MULTILINE)), "deck")
    return say(written(deck, answers(judged(lines), lines), lines))


def judged(lines: Sequence[str]) -> str:
    """A line for each question: the number of the first line that has its words, or no."""
    return "\n".join(f"{question}: {first(question, lines) or 'no'}" for question in WORDS)


def first(question: str, lines: Sequence[str]) -> int | None:
    """The number of the first line that answers a question."""
    for number, line in enumerate(lines, 1):
        text = line[:MOST_LINE].strip()
        is_plan = question == "traction" and PLANNED.search(text)
        if (
            text[:1] not in ("", "#")
            and not EMPTY.search(text)
            and not is_plan
            and PATTERNS[question].search(text)
        ):
            return number
    return None


def attached(messages: list[ModelMessage]) -> str | None:
    """The text of the attached deck; None where nothing was attached."""
    parts = [part.content for part in prompts(messages) if not isinstance(part.content, str)]
    for item in (item for part in parts for item in part):
        if isinstance(item, BinaryContent):
            return item.data.decode("utf-8-sig", "replace")
        if isinstance(item, str) and item.endswith(" is empty."):
            return ""
    return None


def prompt(messages: list[ModelMessage]) -> str:
    """What the worker was asked."""
    contents = [part.content for part in prompts(messages)]
    texts = [[content] if isinstance(content, str) else content for content in contents]
    return "\n".join(item for text in texts for item in text if isinstance(item, str))


def prompts(messages: list[ModelMessage]) -> list[UserPromptPart]:
    """The parts of what the worker was asked."""
    return [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def results(messages: list[ModelMessage]) -> dict[str, ToolReturnPart]:
    """The answered calls by their ids."""
    parts = (part for message in messages for part in message.parts if isinstance(part, ToolReturnPart))
    return {part.tool_call_id: part for part in parts}


def step(*calls: ToolCallPart) -> ModelResponse:
    """A response that calls tools."""
    return ModelResponse(parts=list(calls))


def say(text: str) -> ModelResponse:
    """A response that ends the worker."""
    return ModelResponse(parts=[TextPart(text)])


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("stabilized: rules, not a language model", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules (not a language model)")
