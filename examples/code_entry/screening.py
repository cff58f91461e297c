"""The entry `screening`: has each deck evaluated, side by side, adds up the answers and ranks the decks."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import LlmdoError

if TYPE_CHECKING:
    from llmdo.runtime import AgentRuntime

DECKS = Path(__file__).parent / "input"
ALIAS = "decks/"
AT_ONCE = 8  # evaluations that run side by side
QUESTIONS = ("problem", "solution", "team", "market", "traction", "finances", "ask")
ANSWER = re.compile(rf"^\W*({'|'.join(QUESTIONS)})\W+(yes|no)\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """One deck with what the evaluator answered."""

    deck: str
    stated: frozenset[str]
    """The questions that the deck answers."""
    failure: str = ""
    """Why there is no answer; empty where there is one."""

    @property
    def line(self) -> str:
        """The deck in one line of the result."""
        if self.failure:
            return f"not evaluated  {self.deck}: {self.failure}"
        missing = [question for question in QUESTIONS if question not in self.stated]
        score = f"{len(self.stated)} of {len(QUESTIONS)}  {self.deck}"
        return f"{score}  (not stated: {', '.join(missing)})" if missing else score


async def screen(runtime: AgentRuntime, input: str) -> str:  # noqa: A002
    """A line for each deck that a pattern of `input` matches, the fullest deck first."""
    decks = find_decks(input.split())
    if not decks:
        return f"no deck matches {printable(input)}"
    turns = asyncio.Semaphore(AT_ONCE)

    async def evaluate(deck: str) -> Screened:
        async with turns:
            return await evaluated(runtime, deck)

    results = await asyncio.gather(*map(evaluate, decks))
    ranked = sorted(results, key=lambda result: (bool(result.failure), -len(result.stated), result.deck))
    done = sum(not result.failure for result in results)
    return "\n".join((f"decks: {len(results)}, evaluated: {done}", *(result.line for result in ranked)))


def find_decks(patterns: list[str]) -> list[str]:
    """The aliases of the decks that a pattern such as `decks/*.md` matches, sorted; hidden files are none."""
    names = sorted(path.name for path in DECKS.iterdir() if not path.is_dir() and path.name[0] != ".")
    return [f"{ALIAS}{name}" for name in names if any(fnmatch(f"{ALIAS}{name}", each) for each in patterns)]


async def evaluated(runtime: AgentRuntime, deck: str) -> Screened:
    """What the evaluator says of one deck. A deck that fails leaves the others alone."""
    shown = printable(deck)
    try:
        answer = await runtime.call_agent(
            "pitch_evaluator", f"Screen the pitch deck {shown}.", attachments=[deck]
        )
    except LlmdoError as error:
        return Screened(deck=shown, stated=frozenset(), failure=error.message)
    answers = {question.lower(): word.lower() for question, word in ANSWER.findall(answer)}
    if set(answers) != set(QUESTIONS):
        return Screened(deck=shown, stated=frozenset(), failure="the evaluator left a question out")
    return Screened(deck=shown, stated=frozenset(name for name, word in answers.items() if word == "yes"))


def printable(name: str) -> str:
    """`name` in one line, with what no terminal should interpret spelled out."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)
