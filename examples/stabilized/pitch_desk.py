"""All of the evaluation that needs no judgement: which decks, their lines, the count, the verdict, the report."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext  # noqa: TC002  # pydantic-ai reads the annotation
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import FunctionToolset

from llmdo import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.runtime import AgentRuntime

QUESTIONS = ("problem", "solution", "team", "market", "traction", "finances", "ask")
ANSWER = re.compile(rf"^\W*({'|'.join(QUESTIONS)}): *(\d+|no)\b", re.IGNORECASE | re.MULTILINE)
MARKS = re.compile(r"^[\s#>*+-]+")
MOST_BYTES = 1_000_000  # of a deck
MOST_QUOTED = 120  # characters
AT_ONCE = 8  # decks that are judged side by side

desk = FunctionToolset()


@desk.tool(
    metadata={"capabilities": []}
)  # what it does, it does by what it calls: each call goes through the gate
async def evaluate_decks(ctx: RunContext[Any], names: list[str]) -> str:
    """Evaluate pitch decks, and file a report for each.

    Args:
        names: The file names of the decks; an empty list stands for all of them.
    """
    lines = await ctx.deps.call_tool("filesystem.list_files", {"path": "input"})
    listed = [path for path in lines.splitlines() if path.endswith((".md", ".txt"))]
    decks = [path for path in listed if not names or PurePosixPath(path).name in names]
    if not decks:
        return "no such deck in input/"
    turns = asyncio.Semaphore(AT_ONCE)

    async def evaluated(deck: str, report: str) -> str:
        async with turns:
            try:
                return await _evaluate(ctx, deck, report)
            except (ToolFailed, LlmdoError) as error:
                return f"{deck}: not evaluated, {error.message}"

    paths = report_paths(decks)
    return "\n".join(await asyncio.gather(*(evaluated(deck, paths[deck]) for deck in decks)))


async def _evaluate(ctx: RunContext[Any], deck: str, report: str) -> str:
    runtime: AgentRuntime = ctx.deps
    content = await runtime.call_tool("filesystem.read_file", {"path": deck})
    if len(content.encode()) > MOST_BYTES:
        raise ToolFailed(f"`{deck}` is larger than {MOST_BYTES:,} bytes")
    lines = content.splitlines()
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))
    answer = await runtime.call_agent("judge", f"Deck {deck}\n\n{numbered}", ctx)
    line_of = answers(answer, lines)
    text = written(deck, line_of, lines)
    await runtime.call_tool("filesystem.write_file", {"path": report, "content": text})
    return f"{deck}: {verdict(len(line_of))}, {len(line_of)} of {len(QUESTIONS)} -> {report}"


def answers(text: str, lines: Sequence[str]) -> dict[str, int]:
    """Question to the number of the line that answers it.

    Raises:
        ToolFailed: A question was left out, or a line was named that the deck does not have.
    """
    judged = {question.lower(): number.lower() for question, number in ANSWER.findall(text)}
    if missing := [question for question in QUESTIONS if question not in judged]:
        raise ToolFailed(f"the judge left out {', '.join(missing)}")
    line_of = {question: int(number) for question, number in judged.items() if number != "no"}
    if wrong := [
        number
        for number in line_of.values()
        if not 1 <= number <= len(lines) or not lines[number - 1].strip()
    ]:
        raise ToolFailed(f"the judge named line {wrong[0]}, where the deck says nothing")
    return line_of


def verdict(stated: int) -> str:
    """What the number of answered questions means."""
    return "MEET" if stated >= 6 else "WATCH" if stated >= 4 else "PASS"


def written(deck: str, line_of: Mapping[str, int], lines: Sequence[str]) -> str:
    """The report on a deck; its quotes are cut from the deck itself."""
    rows = (
        f"| {question} | {line_of[question]} | {quoted(lines[line_of[question] - 1])} |"
        if question in line_of
        else f"| {question} | | not stated |"
        for question in QUESTIONS
    )
    return "\n".join(
        (
            f"# {deck}",
            "",
            f"**{verdict(len(line_of))}**, {len(line_of)} of {len(QUESTIONS)} stated",
            "",
            "| question | line | what the deck says |",
            "| --- | --- | --- |",
            *rows,
            "",
        )
    )


def quoted(line: str) -> str:
    """A line of a deck as a cell of a table."""
    text = "".join(each for each in MARKS.sub("", line).rstrip() if each.isprintable())
    short = text if len(text) <= MOST_QUOTED else text[: MOST_QUOTED - 3] + "..."
    return short.replace("|", r"\|").replace("<", r"\<")


def report_paths(decks: Sequence[str]) -> dict[str, str]:
    """Deck to its report: named by the deck's name, with the ending where two would be the same."""
    stems = Counter(PurePosixPath(deck).stem.casefold() for deck in decks)
    names = (PurePosixPath(deck) for deck in decks)
    return {
        str(deck): f"reports/{deck.stem if stems[deck.stem.casefold()] == 1 else deck.name}.md"
        for deck in names
    }
