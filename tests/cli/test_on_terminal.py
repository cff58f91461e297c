"""What text of a model, a tool or a person's input does to the terminal that it is printed on: nothing."""

from __future__ import annotations

import ast
import json
import os
import pty
import threading
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unicodedata import category
from unittest.mock import patch

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.__main__ import main
from llmdo.base.diagnostic import shown, unsteering
from tests.support.locks import locked

from .conftest import Llmdo

CLIPBOARD, TITLE = "\x1b]52;c;cHduZWQ=\x07", "\x1b]0;pwned\x07"
HOSTILE = f"{CLIPBOARD}{TITLE}\x9b2J\x1b[2J\x85\u202ereversed\u2066\b\b\x7f\U000e0041\u2028end"
PACKAGE = Path(__file__).parents[2] / "llmdo"


def printed(root: Path, *words: str, on_read: Callable[[bytes], object] = bytes) -> bytes:
    """Every byte that a command in `root` sends to the terminal that is its stdout and stderr.

    `on_read` is given all that was read so far whenever there is more.
    """
    person, program = pty.openpty()
    read: list[bytes] = []

    def listen() -> None:
        try:
            while piece := os.read(person, 65_536):
                read.append(piece)
                on_read(b"".join(read))
        except OSError:
            pass  # the end of a terminal that nobody writes to any more

    listener = threading.Thread(target=listen)
    listener.start()
    with (
        os.fdopen(program, "w", encoding="utf-8") as screen,
        Path(os.devnull).open(encoding="utf-8") as nobody,
        chdir(root),
        patch.dict(os.environ, {"TERM": "xterm"}),
        patch("sys.argv", ["llmdo", *words]),
        patch("sys.stdin", nobody),
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        main()
    listener.join()
    os.close(person)
    return b"".join(read)


def seen(sent: bytes) -> str:
    """The screen after that; nothing was sent that could steer it, beside what draws the live tree."""
    screen = pyte.HistoryScreen(200, 100)
    pyte.ByteStream(screen).feed(sent)
    assert screen.title == ""
    assert b"\x1b]" not in sent
    text = sent.decode()
    assert not any(character in text for character in HOSTILE if category(character) in ("Cf", "Zl"))
    assert not any(character in text for character in "\x9b\x85\x7f\b")
    return "\n".join(line.rstrip() for line in screen.display)


@pytest.fixture
def team(workspace: Path) -> Path:
    return locked(workspace)


NAME = HOSTILE.replace(";", "")  # which parts the calls of this model


@pytest.mark.long
@pytest.mark.parametrize("asked", [HOSTILE, f"{NAME}:k:v"], ids=["an answer", "a call of no tool"])
def test_no_model_steers_the_terminal(team: Path, asked: str) -> None:
    drawn = seen(printed(team, "run", "main", asked, "-vv"))
    assert shown(asked.removesuffix(":k:v")) in drawn.replace("\n", "")
    for words in (["replay", "last"], ["resume", "last"], ["audit", "last"], ["runs", "show", "last"]):
        seen(printed(team, *words))
    assert "reversed" in seen(printed(team, "replay", "last"))


def test_json_stays_json_on_a_terminal(team: Path) -> None:
    sent = printed(team, "run", "main", HOSTILE, "--format", "json")
    seen(sent)
    text = sent.decode().replace("\r\n", "\n")
    document = json.loads(text[text.index("{\n") : text.rindex("\n}") + 2])
    assert document["output"] == f"echo {HOSTILE}"


def test_what_a_program_reads_is_the_answer_as_it_is(llmdo: Llmdo, team: Path) -> None:
    assert llmdo("run", "main", HOSTILE, cwd=team).out == f"echo {HOSTILE}\n"
    assert llmdo("replay", "last", cwd=team).out == f"echo {HOSTILE}\n"


def test_an_error_steers_nothing(team: Path) -> None:
    assert "there is no entry `\\u{1b}]0;pwned\\u{7}`" in seen(printed(team, "run", TITLE))


@given(st.text(), st.booleans())
def test_nothing_but_line_breaks_and_tabs_steers(text: str, in_json: bool) -> None:
    shown = unsteering(json.dumps(text, ensure_ascii=False) if in_json else text, in_json=in_json)
    assert not any(
        category(character) in ("Cc", "Cs", "Zl", "Zp") for character in shown if character not in "\n\t"
    )
    if in_json:
        assert json.loads(shown) == text


@pytest.mark.parametrize(
    "text",
    ["a\tb\nc\n", "Привет, 天气 été\u00a0!", "👨\u200d💻", "\u0645\u06cc\u200c\u062e\u0648", "x" * 100_000],
)
def test_text_of_any_language_is_shown_as_it_is(text: str) -> None:
    assert unsteering(text) == text
    assert unsteering(text.replace("\n", "\r\n")) == text


PAINTERS = {"__main__.py", "cli/check.py", "cli/console.py", "cli/foreign.py", "cli/trusting.py"}
"""What prints findings, or code to answer for, whose renderers spell out their text; and the entry point."""


def test_results_are_printed_in_one_place() -> None:
    """All that a command prints goes through `put` and `say`, as the one that forgets it steers the terminal."""
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/") or name == "__main__.py":
            calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
            printing = [ast.unparse(call.func) for call in calls]
            assert "print" not in printing or name in ("cli/console.py", "__main__.py"), name
            writing = [
                function
                for function in printing
                if function.startswith(("sys.stdout.write", "sys.stderr.write"))
            ]
            assert not writing or name in PAINTERS, name
