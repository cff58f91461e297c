"""docs/moving.md, block by block: files are written, commands print what stands below them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.commands import llmdo
from tests.support.provider import Say, Server

PAGE = (Path(__file__).parents[2] / "docs/moving.md").read_text(encoding="utf-8")
SECTIONS = ("From llm-do", "From bare pydantic-ai")
ANSWER = "Four pens cost 10.00."


def blocks(section: str) -> list[tuple[str, str]]:
    """The kind and the text of each block of a section, in order."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def answers(workers: str) -> list[Say]:
    """What the model of `main` says in one run: calls of its two tools, and the answer."""
    calls = [Say(calls=[("price", {"item": "pen", "number": 4})])]
    if workers == "clerk":
        calls.append(Say(calls=[("clerk", {"input": "1000 cents"})]))
    if workers == "confirm":
        calls.append(Say(calls=[("confirm", {"price": "1000 cents"})]))
    return [*calls, Say(ANSWER)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("section", "runs"),
    [(SECTIONS[0], ["clerk", "clerk"]), (SECTIONS[1], ["confirm", "clerk", "clerk"])],
)
def test_the_page_moves_a_project_as_it_is_written(tmp_path: Path, section: str, runs: list[str]) -> None:
    script = [answer for kind in runs for answer in answers(kind)]
    confirmed = [Say("It is confirmed.")] * len(runs)
    with Server({"main": script, "clerk": confirmed}).running() as server:
        environ = {**os.environ, **server.environment}
        for kind, text in blocks(section):
            first, _, rest = text.partition("\n")
            named = re.fullmatch(r"(?:#|//) (\S+/\S+)", first)
            if kind == "console":
                for command, expected in commands(text):
                    program, *words = shlex.split(command)
                    assert program == "llmdo"
                    is_run = words[0] == "run"
                    done = (
                        ran(["-m", "llmdo", *words], tmp_path, environ) if is_run else llmdo(tmp_path, *words)
                    )
                    assert (done.returncode, done.stdout.rstrip("\n")) == (0, expected), (
                        command,
                        done.stderr,
                    )
            elif named:
                path = tmp_path / named[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(rest, encoding="utf-8")
            else:
                assert kind == "python", first
                done = ran(["-c", text], tmp_path, environ)
                assert (done.returncode, done.stdout) == (0, f"{ANSWER} 4\n"), done.stderr
        assert len(server.of("clerk")) == len(runs)
        assert len(server.of("main")) == len(script)


def ran(words: list[str], root: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of its own, whose adopted agents leave their connections to its end."""
    return forking.run(
        [sys.executable, *words],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output.rstrip("\n")) for command, _, output in (part.partition("\n") for part in parts)]
