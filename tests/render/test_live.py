"""The display of a run: bounded, honest about what it leaves out, and moved by nothing that a model says."""

from __future__ import annotations

import io
import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import pytest
from rich.console import Console

from llmdo.journal.decided import DecidedCall
from llmdo.render import narration
from llmdo.render.live import Display, draw, is_alive
from llmdo.render.progress import REMEMBERED, Progress
from llmdo.runtime.telemetry.events import (
    Asked,
    Decided,
    Event,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)
from llmdo.runtime.telemetry.redaction import Redaction

NOTHING = Redaction.of({})


def begun(path: str) -> list[Event]:
    name = path.rpartition("/")[2].partition("#")[0]
    return [
        ToolCalled(path=path, worker="main", toolset=name, tool=name, arguments={}),
        WorkerStarted(path=path, worker=name, depth=path.count("/"), input=""),
        ModelRequested(path=path, worker=name, model="openai:gpt-5"),
    ]


def ended(path: str) -> list[Event]:
    name = path.rpartition("/")[2].partition("#")[0]
    return [
        WorkerFinished(path=path, worker=name, output="x", error=None),
        ToolFinished(path=path, tool=name, outcome="success", result="x"),
    ]


def answered(path: str, *, cost: str | None = "0.01", model: str = "openai:gpt-5") -> ModelResponded:
    return ModelResponded(
        path=path,
        worker="w",
        model=model,
        text="",
        calls=(),
        input_tokens=1000,
        output_tokens=200,
        cost_usd=Decimal(cost) if cost else None,
    )


def drawn(events: list[Event], *, height: int = 24, width: int = 80) -> list[str]:
    """The lines of the tree after those events, ten seconds later."""
    progress = Progress(0.0)
    for event in events:
        progress.apply(event, 0.0)
    screen = io.StringIO()
    console = Console(
        file=screen, width=width, height=height, color_system=None, markup=False, highlight=False
    )
    console.print(draw(progress, 10.0, height, width))
    return screen.getvalue().splitlines()


def test_the_tree_shows_who_waits_for_what_and_what_it_took() -> None:
    lines = drawn([*begun("main"), answered("main"), *begun("main/helper#1"), *begun("main/helper#2")])
    assert lines == [
        "main  10 s  1,200 tokens, $0.0100  openai:gpt-5",
        "  helper#1  waits for openai:gpt-5 10 s",
        "  helper#2  waits for openai:gpt-5 10 s",
        "1 request, 1,200 tokens, $0.0100, 10 s",
    ]


def test_the_tree_says_what_each_delegate_works_on_and_what_took_how_long() -> None:
    handed = {"input": "Judge it.", "attachments": ["decks/acme.md", "decks/notes.md"]}
    lines = drawn(
        [
            *begun("main"),
            ToolCalled(
                path="main/helper#1", worker="main", toolset="helper", tool="helper", arguments=handed
            ),
            *begun("main/helper#1")[1:],
            *ended("main/helper#1"),
            WorkerStarted(
                path="main/helper#2", worker="helper", depth=1, input="Say hello,\nand " + "more " * 99
            ),
        ]
    )
    assert lines[1:3] == [
        "  helper#1  decks/acme.md and 1 more  done  0 s  openai:gpt-5",
        "  helper#2  Say hello, and more more more more mo...  begins",
    ]


def test_tools_are_forgotten_before_delegates() -> None:
    events = [*begun("main"), *begun("main/helper#1"), *ended("main/helper#1")]
    for number in range(1, 10):
        path = f"main/add#{number}"
        events += [
            ToolCalled(path=path, worker="main", toolset="calc", tool="add", arguments={}),
            ended(path)[1],
        ]
    assert drawn(events)[1].startswith("  helper#1")


def test_no_secret_is_shown_of_an_input() -> None:
    progress = Progress(0.0, redact=Redaction.of({"A_KEY": "12345678"}).text)
    progress.apply(WorkerStarted(path="main", worker="main", depth=0, input="x " * 12 + "12345678"), 0.0)
    assert "1234" not in progress.root.children["main"].subject


def test_the_tree_says_that_a_server_is_connected_to() -> None:
    path = "main/notes(start)"
    start = Decided(
        path=path, call=replace(BLOCKED, path=path, toolset="notes", tool="(start)", allowed=True)
    )
    assert drawn([*begun("main"), start])[0] == "main  connects to notes 10 s"


def test_what_delegates_did_stays_on_the_screen_as_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for delegated in (True, False):
        with (
            terminal() as (stream, seen),
            Display(stream, detail=0, approvals="prompt", redaction=NOTHING) as display,
        ):
            for event in [*begun("main"), *(begun("main/helper#1") if delegated else [])]:
                display(event)
            for event in [*(ended("main/helper#1") if delegated else []), *ended("main")]:
                display(event)
        last = b"".join(seen).decode().rpartition("\x1b[2K")[2]
        assert ("helper#1" in last) is delegated


def test_only_the_last_calls_that_ended_stay_and_the_others_are_counted() -> None:
    events = [*begun("main")]
    for number in range(1, 11):
        events += [*begun(f"main/helper#{number}"), *ended(f"main/helper#{number}")]
    lines = drawn(events)
    assert [line.split()[0] for line in lines[1:-1]] == [
        f"helper#{number}" for number in range(11 - REMEMBERED, 11)
    ]
    assert f"  {10 - REMEMBERED} earlier calls" in lines[0]


def test_a_wide_tree_is_cut_to_the_terminal_and_says_how_much_is_hidden() -> None:
    events = [*begun("main")]
    for number in range(1, 101):
        events += begun(f"main/helper#{number}")
    lines = drawn([*events, *ended("main/helper#1")], height=10)
    assert len(lines) <= 10
    assert lines[-2] == "... and 96 calls more"
    assert "helper#1 " not in "\n".join(lines)


def test_a_deep_tree_keeps_callers_and_fits_a_narrow_terminal() -> None:
    path, events = "main", [*begun("main")]
    for _ in range(200):
        path += "/helper#1"
        events += begun(path)
    lines = drawn(events, height=12, width=20)
    assert len(lines) <= 12
    assert all(len(line) <= 20 for line in lines)
    assert lines[0].startswith("main")


def test_memory_is_bounded_however_many_calls_end() -> None:
    progress = Progress(0.0)
    for event in begun("main"):
        progress.apply(event, 0.0)
    for number in range(1, 2001):
        for event in (*begun(f"main/helper#{number}"), *ended(f"main/helper#{number}")):
            progress.apply(event, 0.0)
    assert len(progress.root.children["main"].children) == REMEMBERED


def test_nothing_that_a_model_says_is_markup_or_moves_the_cursor() -> None:
    hostile = "x\x1b[2J[bold red]\u202e\n\r"
    events = [*begun("main"), ModelRequested(path="main", worker="main", model=hostile)]
    text = "\n".join(drawn(events))
    assert "[bold red]" in text
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    line = narration.line(
        ToolCalled(path=f"main/{hostile}", worker="m", toolset="t", tool=hostile, arguments={"a": hostile}),
        2,
        NOTHING,
    )
    assert line is not None
    assert line.isprintable()


BLOCKED = DecidedCall(
    worker="main",
    toolset="files",
    arguments={},
    path="main/add#1",
    tool="add",
    raised=(),
    declared=(),
    decision="blocked",
    allowed=False,
    by="rules",
    reasons=("no",),
)
DENIED = Decided(path="main/add#1", call=BLOCKED)
FAILED = ModelFailed(path="main", model="m", error="status 500", attempt=1, wait=2.0)
SECRET = ToolCalled(path="main/t#1", worker="m", toolset="t", tool="t", arguments={"a": "12345678 " * 99})


@pytest.mark.parametrize(
    ("event", "least"),
    [
        (DENIED, 0),
        (FAILED, 0),
        (WorkerFinished(path="main/helper#1", worker="helper", output=None, error="broken"), 0),
        (WorkerStarted(path="main", worker="main", depth=0, input=""), 1),
        (ended("main")[0], 1),
        (SECRET, 2),
        (ended("main")[1], 2),
        (begun("main")[2], 2),
        (answered("main"), 2),
    ],
)
def test_each_event_has_its_level_of_detail(event: Event, least: int) -> None:
    is_shown = [narration.line(event, detail, NOTHING) is not None for detail in range(3)]
    assert is_shown == [detail >= least for detail in range(3)]


def test_a_long_call_is_shortened_and_says_so_and_holds_no_secret() -> None:
    line = narration.line(SECRET, 2, Redaction.of({"A_KEY": "12345678"})) or ""
    assert "characters more)" in line
    assert "12345678" not in line


def shown(*events: Event, detail: int = 0) -> list[str]:
    """What a display says where there is no terminal."""
    screen = io.StringIO()
    with Display(screen, detail=detail, approvals="reject-all", redaction=NOTHING) as display:
        for event in events:
            display(event)
    return screen.getvalue().splitlines()


def test_the_first_line_says_what_runs_on_what_and_who_answers() -> None:
    models = {"a": "openai:gpt-5", "b": "fast", "c": "fast"}
    event = RunStarted(path="go", run="r1", entry="go", input="secret input", models=models)
    assert shown(event) == ["run r1: entry go, models openai:gpt-5, fast, approvals reject-all"]


def test_a_script_is_never_taken_for_a_language_model() -> None:
    models = {"a": "script:models.yaml", "b": "script:models.yaml", "c": "openai:gpt-5"}
    event = RunStarted(path="go", run="r1", entry="go", input="x", models=models)
    assert shown(event)[1:] == ["script:models.yaml: a script, not a language model"]
    assert shown(event, detail=-1) == []


def test_a_model_without_a_price_is_reported_once_and_one_that_nobody_pays_never() -> None:
    unknown = answered("main", cost=None, model="acme:new")
    free = answered("main", cost=None, model="function:function:answer:")
    assert shown(unknown, unknown, free) == ["no price is known for acme:new: the cost is without it"]


def test_without_a_terminal_refusals_and_failures_are_all_that_is_printed() -> None:
    events = [*begun("main"), answered("main"), FAILED, DENIED, *ended("main")]
    assert shown(*events) == ["main: m is asked again in 2.0 s: status 500", "main/add#1: denied: no"]


def test_lines_wait_while_a_person_is_asked() -> None:
    screen = io.StringIO()
    with Display(screen, detail=0, approvals="prompt", redaction=NOTHING) as display:
        display(Asked(path="main/write#1", tool="write"))
        display(Asked(path="main/write#2", tool="write"))
        display(FAILED)
        approved = replace(BLOCKED, decision="needs_approval", allowed=True, by="a person")
        display(Decided(path="main/write#1", call=approved))
        assert screen.getvalue() == ""
        display(ToolFinished(path="main/write#2", tool="write", outcome="error", result=None))
        assert "asked again" in screen.getvalue()


@contextmanager
def terminal() -> Iterator[tuple[TextIO, list[bytes]]]:
    """A terminal to draw on, and what is on it when it is gone."""
    person, program = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                piece = os.read(person, 65536)
            except OSError:
                return
            if not piece:
                return
            seen.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(program, "w", encoding="utf-8") as stream:
        yield stream, seen
    reader.join()
    os.close(person)


def test_on_a_terminal_the_tree_is_drawn_gives_way_to_a_question_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with (
        terminal() as (stream, seen),
        Display(stream, detail=0, approvals="prompt", redaction=NOTHING) as display,
    ):
        for event in begun("main"):
            display(event)
        display._live.refresh()
        display(Asked(path="main/write#1", tool="write"))
        stream.write("QUESTION\n")
        stream.flush()
        assert not display._live.is_started
        display(RunFinished(path="go", run="r", status="completed", error=None))
        assert display._live.is_started
    screen = b"".join(seen).decode()
    before, _, after = screen.partition("QUESTION")
    assert "waits for openai:gpt-5" in before
    assert before.rstrip().endswith("\x1b[2K")
    assert before.count("\x1b[?25l") == before.count("\x1b[?25h") == 1
    assert after.count("\x1b[?25l") == after.count("\x1b[?25h") == 1


@pytest.mark.parametrize(("term", "alive"), [("xterm", True), ("dumb", False), (None, False)])
def test_a_terminal_that_cannot_redraw_gets_lines(
    term: str | None, alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term:
        monkeypatch.setenv("TERM", term)
    with terminal() as (stream, _):
        assert is_alive(stream) == alive


def test_no_color_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal() as (stream, seen), Display(stream, detail=0, approvals="", redaction=NOTHING) as display:
        for event in begun("main"):
            display(event)
        display._live.refresh()
    assert "\x1b[36m" not in b"".join(seen).decode()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_that_is_closed_is_drawn_on_no_more(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    person, program = pty.openpty()
    with os.fdopen(program, "w", encoding="utf-8", buffering=1) as stream:
        display = Display(stream, detail=2, approvals="prompt", redaction=NOTHING)
        with display:
            os.close(person)
            for event in [*begun("main"), Asked(path="main/a#1", tool="a"), answered("main"), *ended("main")]:
                display(event)
        stream.write("whoever says more says it to nobody")


def test_a_disk_that_is_full_is_not_taken_for_a_terminal_that_was_closed() -> None:
    with (
        suppress(OSError),  # of closing it
        Path("/dev/full").open("w", buffering=1, encoding="utf-8") as stream,
        pytest.raises(OSError, match="No space left"),
    ):
        Display(stream, detail=2, approvals="prompt", redaction=NOTHING)(begun("main")[0])
