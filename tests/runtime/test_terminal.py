"""What a person is shown, and what counts as an answer: against a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import fcntl
import io
import os
import pty
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, AskOnTerminal, GoneError, Question, RejectAll, approver_at
from tests.support.building import go, graph, script, toolset, worker
from tests.support.waiting import comes, until


def question(**arguments: object) -> Question:
    return Question(
        path="main/write_file#1",
        worker="main",
        toolset="filesystem",
        tool="write_file",
        arguments=arguments,
        capabilities=(Capability("fs.write", "a.txt"),),
        reasons=("no rule names `fs.write:a.txt`, so the default holds: needs_approval",),
        advice=('add `"fs.write:a.txt" = "allowed"` to [approvals.rules] in llmdo.toml',),
        terminal_only=False,
    )


@contextmanager
def terminal() -> Iterator[tuple[int, TextIO]]:
    """The person's end of a terminal, and the program's."""
    person, program = pty.openpty()
    with os.fdopen(program, encoding="utf-8") as source:
        yield person, source
    os.close(person)


async def shown(screen: io.StringIO, questions: int, prompt: str = "[no]") -> None:
    """Waits until so many questions are on the screen, or as often what is `said`."""
    await comes(lambda: screen.getvalue().count(prompt) >= questions, screen.getvalue)


def ask(person: int, source: TextIO, screen: io.StringIO, typed: bytes) -> Answer:
    async def scenario() -> Answer:
        asking = asyncio.create_task(AskOnTerminal(source, screen).ask(question(path="a.txt")))
        await shown(screen, 1)
        os.write(person, typed)
        asked = 1
        while not asking.done():  # a line that is no answer is asked for again, and then answered with no
            await comes(lambda: asking.done() or screen.getvalue().count("[no]") > asked)  # noqa: B023
            if screen.getvalue().count("[no]") > asked:
                asked = screen.getvalue().count("[no]")
                os.write(person, b"\n")
        return await asking

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [
        (b"once\n", True),
        (b"  once \n", True),
        (b"no\n", False),
        (b"no not this one\n", False),
        (b"once more\nonce\n", False),
        (b"\n", False),
        (b"y\nonce\n", False),
        (b"yes\n", False),
        (b"ONCE\n", False),
        (b"o\n", False),
        (b"once\x04", False),
        (b"\x04", False),
    ],
)
def test_only_the_whole_word_is_a_yes(typed: bytes, allowed: bool) -> None:
    with terminal() as (person, source):
        answer = ask(person, source, io.StringIO(), typed)
    assert (answer.allowed, answer.at_terminal) == (allowed, True)


def test_what_was_typed_ahead_answers_nothing() -> None:
    with terminal() as (person, source):
        os.write(person, b"once\nonce\n")
        typed = (10).to_bytes(4, sys.byteorder)
        until(lambda: fcntl.ioctl(source, termios.FIONREAD, bytes(4)) == typed)
        answer = ask(person, source, io.StringIO(), b"no\n")
    assert not answer.allowed


ROUNDS = 1_000
"""Of the event loop, and as many turns of other threads: another question would be there by then."""


def test_one_question_is_open_at_a_time() -> None:
    screen = io.StringIO()

    async def scenario(person: int, source: TextIO) -> list[Answer]:
        asker = AskOnTerminal(source, screen)
        asking = [asyncio.create_task(asker.ask(question(path=f"{n}.txt"))) for n in range(3)]
        for answered in range(1, 4):
            await shown(screen, answered)
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            assert screen.getvalue().count("[no]") == answered
            os.write(person, b"once\n")
        return await asyncio.gather(*asking)

    with terminal() as (person, source):
        answers = asyncio.run(scenario(person, source))
    assert [answer.allowed for answer in answers] == [True, True, True]


def test_a_cancelled_question_frees_its_thread() -> None:
    async def scenario(source: TextIO) -> None:
        screen = io.StringIO()
        asking = asyncio.create_task(AskOnTerminal(source, screen).ask(question(path="a")))
        await shown(screen, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with terminal() as (_, source):
        asyncio.run(scenario(source))  # ends only when every thread of the loop has


def close(person: int) -> None:
    """Takes the terminal away from the program, as closing its window does."""
    os.dup2(os.open(os.devnull, os.O_RDWR), person)


@pytest.mark.parametrize("typed", [b"", b"on", b"show\n", b"edit\n", b"edit\n{}"])
def test_a_terminal_that_goes_away_answers_nothing(typed: bytes) -> None:
    screen = io.StringIO()

    async def scenario(person: int, source: TextIO) -> Answer:
        asked = replace(question(path="a.txt"), fault_of=lambda _: None)
        asking = asyncio.create_task(AskOnTerminal(source, screen).ask(asked))
        await shown(screen, 1)
        os.write(person, typed)
        if typed.startswith(b"show"):
            await shown(screen, 2)
        if typed.startswith(b"edit"):
            await shown(screen, 1, "type them again")
        close(person)
        return await asking

    with terminal() as (person, source), pytest.raises(GoneError, match="the terminal was closed"):
        asyncio.run(scenario(person, source))


def test_a_terminal_that_is_gone_is_not_asked() -> None:
    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            return os.write(source.fileno(), text.encode())

    with terminal() as (person, source):
        close(person)
        for screen in (Screen(), io.StringIO()):
            with pytest.raises(GoneError, match="the terminal was closed"):
                asyncio.run(AskOnTerminal(source, screen).ask(question(path="a.txt")))


def test_without_a_terminal_nobody_is_asked() -> None:
    assert isinstance(approver_at(io.StringIO("once\n"), io.StringIO()), RejectAll)
    with terminal() as (_, source):
        assert isinstance(approver_at(source, io.StringIO()), RejectAll)
        assert isinstance(approver_at(source, source), AskOnTerminal)


def test_a_person_at_a_terminal_lets_a_call_run(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from pydantic_ai.toolsets import FunctionToolset\n"
        "calc = FunctionToolset(id='calc')\n"
        "@calc.tool_plain\ndef add(a: int) -> int:\n    return a + 1\n"
    )
    script(tmp_path, main=[[("add", {"a": 1})], "{results}"])
    team_graph = graph(worker("main", "calc"), toolset("calc", "tools.py:calc", add=["x.calc.cpu"]))

    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            if "[no]" in text:
                os.write(person, b"once\n")
            return super().write(text)

    screen = Screen()
    with terminal() as (person, source):
        outcome = go(team_graph, tmp_path, approver=AskOnTerminal(source, screen))
    assert outcome.output == "[success: 2]"
    assert screen.getvalue().startswith(
        "approval needed\ncaller | main/add#1\ntool   | add of calc\nargs   | a: 1\nraises | x.calc.cpu\nwhy    | "
    )
