"""The answer of an entry on a terminal as it arrives, and what delegates say, line by line."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmdo.base.diagnostic import unsteering
from llmdo.render.live import Display
from llmdo.render.voice import OverheardText, SpokenAnswer
from llmdo.runtime.telemetry.events import (
    Event,
    ModelRequested,
    ModelResponded,
    RunFinished,
    StreamBroken,
    TextDelta,
    WorkerStarted,
)
from llmdo.runtime.telemetry.redaction import Redaction

from .test_live import NOTHING, terminal

SECRET = "correct horse, battery"


def piece(text: str, path: str = "main") -> TextDelta:
    return TextDelta(path=path, worker="w", text=text)


def whole(text: str, path: str = "main") -> ModelResponded:
    return ModelResponded(
        path=path,
        worker="w",
        model="function:m",
        text=text,
        calls=(),
        input_tokens=1,
        output_tokens=1,
        cost_usd=None,
    )


def broken(path: str = "main") -> StreamBroken:
    return StreamBroken(path=path, worker="w", model="function:m", error="the connection failed")


@given(
    st.text(st.characters() | st.sampled_from("\r\n\x1b\u202e"), min_size=1),
    st.lists(st.integers(0, 50), max_size=4),
)
@example("the end\r", [])
def test_what_is_written_is_what_is_printed_of_the_whole(text: str, places: list[int]) -> None:
    stream = io.StringIO()
    answer = SpokenAnswer(stream)
    at = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    for start, end in pairwise(at):
        answer.take(piece(text[start:end]))
    assert not answer.has_shown(text)
    answer.take(whole(text))
    assert stream.getvalue() == unsteering(text) + "\n"
    assert answer.has_shown(text)
    assert not answer.has_shown(None)
    assert not answer.has_shown(text + "!")


def test_delegates_and_answers_that_broke_off_are_not_the_answer() -> None:
    stream = io.StringIO()
    answer = SpokenAnswer(stream)
    for event in (piece("x", "main/helper#1"), whole("x", "main/helper#1"), piece("so"), broken()):
        answer.take(event)
    assert stream.getvalue() == "so\n"
    assert not answer.has_shown("so")


def test_a_terminal_without_the_letters_gets_them_spelled_out() -> None:
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) as stream:
        SpokenAnswer(stream).take(piece("Grüße, 中"))
        assert stream.buffer.getvalue() == b"Gr\\xfc\\xdfe, \\u4e2d"  # type: ignore[attr-defined]


def test_what_delegates_say_is_reported_in_lines_without_the_secrets_that_pieces_share() -> None:
    overheard = OverheardText(Redaction.of({"A_PASSWORD": SECRET}))
    first, second = "main/helper#1", "main/helper#2"
    events: list[Event] = [
        piece("It is cor", first), piece("Well", second), piece("rect horse, bat", first), piece("tery\nand ", first),
        piece("mine", "main"), piece("\x1b[2J.\n\n", second), piece("so on", first), whole("", second), whole("", first),
    ]  # fmt: skip
    lines = [line for event in events for line in overheard.take(event)]
    assert lines == [
        f"{first}: It is [redacted A_PASSWORD]",
        f"{second}: Well\\u{{1b}}[2J.",
        f"{first}: and so on",
    ]


def test_the_tree_gives_way_to_the_answer_and_lines_wait_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    events: list[Event] = [
        WorkerStarted(path="main", worker="main", depth=0, input="x"),
        ModelRequested(path="main", worker="main", model="function:m"),
        piece("I ask "),
        piece("somebody."),
        whole("I ask somebody."),
        ModelRequested(path="main", worker="main", model="function:m"),
        piece("It is"),
        broken(),
        ModelRequested(path="main", worker="main", model="function:m"),
        piece("It is so."),
        piece("Overheard.", "main/helper#1"),
        whole("Overheard.", "main/helper#1"),
        whole("It is so."),
        RunFinished(path="go", run="r", status="completed", error=None),
    ]
    with terminal() as (stream, seen):
        answer = SpokenAnswer(stream)
        with Display(stream, detail=1, approvals="prompt", redaction=NOTHING, answer=answer) as display:
            for event in events:
                display(event)
                if display._live and display._live.is_started:
                    display._live.refresh()
                    assert not answer.is_under_way
        assert answer.has_shown("It is so.")
    screen = pyte.Screen(100, 30)
    pyte.ByteStream(screen).feed(b"".join(seen))
    lines = [line.rstrip() for line in screen.display if line.strip()]
    assert lines == [
        "main ...",
        "I ask somebody.",
        "It is",
        "main: the answer of function:m broke off and does not count: the connection failed",
        "It is so.",
        "main/helper#1: Overheard.",
    ]


MANIFEST = """\
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:model"
[entries.main]
worker = "main"
input = "go"
"""

MODEL = """\
import asyncio
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

SEEN = Path(__file__).with_name("seen")


def whole(messages, info):
    return ModelResponse(parts=[TextPart("Once upon a time.")])


async def stream(messages, info):
    yield "Once "
    while not SEEN.exists():
        await asyncio.sleep(0.01)
    yield "upon a time."


model = FunctionModel(whole, stream_function=stream)
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    for name, text in {
        "llmdo.toml": MANIFEST,
        "models.py": MODEL,
        "main.worker": "---\nname: main\n---\nYou are main.\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_answer_is_on_the_terminal_before_its_end_and_only_once(team: Path) -> None:
    from tests.cli.test_on_terminal import printed

    def see(text: bytes) -> None:
        if b"Once " in text:
            (team / "seen").touch()

    sent = printed(team, "run", "main", on_read=see)
    assert sent.count(b"upon a time.") == 1
    assert b"Once upon a time.\r\n" in sent


def test_json_on_a_terminal_and_a_pipe_get_the_answer_once_and_whole(team: Path) -> None:
    from tests.cli.test_on_terminal import printed
    from tests.support.commands import llmdo

    assert printed(team, "run", "main", "--format", "json").count(b"Once upon a time.") == 1
    assert llmdo(team, "run", "main").stdout == "Once upon a time.\n"
    (team / "seen").touch()
    verbose = llmdo(team, "run", "main", "-v")
    assert verbose.stdout == "Once upon a time.\n"
    assert "Once" not in verbose.stderr
