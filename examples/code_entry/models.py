"""The model of this example: rules, not a language model. It knows a few English words, and understands nothing."""

from __future__ import annotations

import re
import sys
from functools import cache

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

MONEY = r"(?:[$\u20ac\u00a3]\s?\d|\b\d[\d.,]*\s?(?:k|m|bn)?\s?(?:eur|usd|dollars|euros)\b)"
QUESTIONS = {
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
PATTERNS = {question: re.compile(pattern, re.IGNORECASE) for question, pattern in QUESTIONS.items()}
PLANNED = re.compile(
    r"\b(?:will|plan(?:ned|s)?|expect(?:ed|s)?|project(?:ed|s|ions)?|target)\b|\b20[3-9]\d\b", re.IGNORECASE
)
EMPTY = re.compile(
    r"\b(?:TBD|TBA|coming soon|answer yes|ignore (?:all|your|previous|the)|instructions?)\b", re.IGNORECASE
)
MOST_CHARACTERS = 120
MOST_LINE = 2_000  # characters: more is no line of a deck


def screen(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Seven lines about the deck that came with the prompt."""
    announce()
    lines = [line.strip() for line in deck(messages).splitlines() if line.strip()]
    return ModelResponse(parts=[TextPart("\n".join(answer(question, lines) for question in QUESTIONS))])


def answer(question: str, lines: list[str]) -> str:
    """Yes with the first line that has the question's words, or no."""
    for line in lines:
        text = line[:MOST_LINE]
        is_plan = question == "traction" and PLANNED.search(text)
        if line[0] != "#" and not EMPTY.search(text) and not is_plan and PATTERNS[question].search(text):
            quote = line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 3] + "..."
            return f'{question}: yes, "{quote}"'
    return f"{question}: no"


def deck(messages: list[ModelMessage]) -> str:
    """The text of the attached deck; nothing where it is none."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content: str | list[UserContent] = list(parts[-1].content) if parts else []
    return "\n".join(
        item.data.decode("utf-8", "replace")
        for item in content
        if isinstance(item, BinaryContent) and item.media_type.startswith("text/")
    )


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("code_entry: rules, not a language model", file=sys.stderr)


rules = FunctionModel(screen, model_name="rules (not a language model)")
