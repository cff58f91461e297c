"""Watching a run from the command line: on a pipe, on a terminal, in files, and when it is interrupted."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.waiting import until

from .conftest import Llmdo

SLOW = """\
import time
from pathlib import Path

import asyncio
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent


async def wait(messages, info):
    HERE.joinpath("at-work").touch()
    await asyncio.sleep(600)


def block(messages, info):
    HERE.joinpath("at-work").touch()
    time.sleep(600)


async def call(messages, info):
    return ModelResponse(parts=[ToolCallPart("helper", {"input": str(n)}, tool_call_id=str(n)) for n in range(3)])


async def block_the_loop(messages, info):
    block(messages, info)


slow, blocking, calling = FunctionModel(wait), FunctionModel(block_the_loop), FunctionModel(call)
"""

COMMAND = [sys.executable, "-m", "llmdo", "run"]


@pytest.fixture
def slow(workspace: Path) -> Path:
    """A workspace whose `main` has three helpers at work that wait for a long time."""
    (workspace / "slow.py").write_text(SLOW, encoding="utf-8")
    header = "---\nname: main\nmodel: python:slow.py:calling\ntoolsets: [helper]\n---\nGo.\n"
    (workspace / "main.worker").write_text(header, encoding="utf-8")
    (workspace / "helper.worker").write_text(
        "---\nname: helper\nmodel: python:slow.py:slow\n---\nHelp.\n", encoding="utf-8"
    )
    return workspace


def started(root: Path, *words: str) -> subprocess.Popen[str]:
    """A run as a child process, at work."""
    process = forking.Popen([*COMMAND, *words], cwd=root, stdout=-1, stderr=-1, text=True)
    until(lambda: (root / "at-work").exists() or process.poll() is not None)
    assert process.poll() is None
    return process


def test_a_run_says_what_it_used_and_how_it_started_if_asked(llmdo: Llmdo, workspace: Path) -> None:
    assert llmdo("lock", cwd=workspace).code == 0
    done = llmdo("run", cwd=workspace)
    assert (done.out, done.err) == ("echo hello\n", "used: 1 request, 0 tool calls\n")
    quiet = llmdo("run", "-q", cwd=workspace)
    assert (quiet.out, quiet.err) == (done.out, "")
    asked = llmdo("run", "-v", cwd=workspace)
    first, *rest = asked.err.splitlines()
    assert first.startswith("run 2")
    assert first.endswith(": entry main, model python:models.py:rules, approvals reject-all")
    assert [line.split(",")[0] for line in rest[-2:]] == ["audit: 2 records", "used: 1 request"]


def test_a_quiet_run_still_warns_and_fails_aloud(llmdo: Llmdo, workspace: Path) -> None:
    denied = llmdo("run", "-q", "--input", "write_file:out/a.txt:text", cwd=workspace)
    assert denied.code == 1
    assert "error: " in denied.err
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [nothing]\n---\nGo.\n")
    failed = llmdo("run", "-q", cwd=workspace)
    assert (failed.code, failed.out) == (1, "")
    assert "LDO202" in failed.err


def test_verbose_tells_of_workers_and_twice_of_every_call(llmdo: Llmdo, workspace: Path) -> None:
    call = "write_file:out/a.txt:text"
    by_detail = [
        llmdo("run", "--approve-all", *flags, "--input", call, cwd=workspace).err
        for flags in ([], ["-v"], ["-vv"])
    ]
    assert "main ..." not in by_detail[0]
    assert "main ...\n" in by_detail[1]
    assert "main: done\n" in by_detail[1]
    assert "write_file#1" not in by_detail[1]
    assert 'main/write_file#1: write_file {"path": "out/a.txt", "content": "text"}\n' in by_detail[2]
    assert "main/write_file#1: allowed by approve-all\n" in by_detail[2]


def test_usage_by_worker_is_in_the_document(llmdo: Llmdo, workspace: Path) -> None:
    document = json.loads(llmdo("run", "--format", "json", cwd=workspace).out)
    assert document["usage_by_worker"] == {"main": document["usage"]}


@pytest.mark.long
def test_the_log_and_the_trace_are_written_where_they_are_wanted(llmdo: Llmdo, workspace: Path) -> None:
    words = ["--log-events", "events.jsonl", "--trace-dir", "traces", "--input", "read_file:path:main.worker"]
    done = llmdo("run", *words, cwd=workspace)
    assert done.code == 0
    records = [json.loads(line) for line in (workspace / "events.jsonl").read_text().splitlines()]
    assert records[0]["event"] == "run_started"
    assert records[-1]["status"] == "completed"
    (trace,) = (workspace / "traces").iterdir()
    assert trace.name == f"{records[0]['run']}.jsonl"
    assert "main.worker" not in trace.read_text()
    again = llmdo("run", *words, "--trace-content", cwd=workspace)
    assert again.code == 0
    assert len((workspace / "events.jsonl").read_text().splitlines()) == 2 * len(records)
    assert any("main.worker" in path.read_text() for path in (workspace / "traces").iterdir())


def test_a_log_that_cannot_be_opened_stops_before_anything_runs(llmdo: Llmdo, workspace: Path) -> None:
    call = "write_file:out/a.txt:text"
    done = llmdo("run", "--approve-all", "--log-events", "missing/x.jsonl", "--input", call, cwd=workspace)
    assert done.code == 2
    assert "error: cannot write `missing/x.jsonl`: No such file or directory\n" in done.err
    assert not (workspace / "out").exists()


def test_a_secret_of_the_environment_is_in_no_file(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "correct-horse-battery")
    words = ["--log-events", "e.jsonl", "--trace-dir", "t", "--trace-content", "-vv"]
    done = llmdo("run", *words, "--input", "read_file:path:correct-horse-battery", cwd=workspace)
    written = "".join(path.read_text() for path in [workspace / "e.jsonl", *(workspace / "t").iterdir()])
    assert "correct-horse-battery" not in written + done.err
    assert "[redacted ACME_API_KEY]" in written


def test_what_a_library_warns_of_is_one_line(llmdo: Llmdo, workspace: Path) -> None:
    (workspace / "models.py").write_text(
        "import warnings\n"
        "from pydantic_ai.models.test import TestModel\n"
        "class Warning_(TestModel):\n"
        "    async def request(self, *given):\n"
        "        with warnings.catch_warnings():\n"
        "            warnings.simplefilter('always')\n"
        "            warnings.warn('this model\\nknows no timeout', UserWarning)\n"
        "        return await super().request(*given)\n"
        "rules = Warning_(call_tools=[])\n",
        encoding="utf-8",
    )
    assert "warning: this model knows no timeout\n" in llmdo("run", cwd=workspace).err


@pytest.mark.long
@pytest.mark.parametrize(
    "environment", [{"TERM": "xterm"}, {"TERM": "xterm", "COLUMNS": "24", "NO_COLOR": "1"}]
)
def test_on_a_terminal_the_tree_lives_and_the_cursor_comes_back(
    environment: dict[str, str], slow: Path
) -> None:
    person, program = pty.openpty()
    process = forking.Popen(
        [*COMMAND, "--reject-all"], cwd=slow, stdin=program, stdout=program, stderr=program,
        env={**os.environ, **environment},
    )  # fmt: skip
    os.close(program)
    screen = b""

    def is_drawn() -> bool:  # what waits for its model is drawn in cyan, after it was drawn as it began
        whole = b"helper#3" in screen and b"calls more" not in screen
        return whole and (b"\x1b[36m" in screen or "NO_COLOR" in environment)

    until = time.monotonic() + 30
    while not is_drawn() and time.monotonic() < until:
        screen += os.read(person, 65536)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            screen += os.read(person, 65536)
        except OSError:
            break
    os.close(person)
    assert process.wait(20) == 130
    text = screen.decode()
    assert "helper#1" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert "error: the run was interrupted" in text
    assert ("\x1b[36m" in text) == ("NO_COLOR" not in environment)


@pytest.mark.long
def test_a_question_stands_alone_on_the_terminal_and_the_tree_comes_back(workspace: Path) -> None:
    person, program = pty.openpty()
    process = forking.Popen(
        [*COMMAND, "--input", "write_file:out/a.txt:text"], cwd=workspace, stdin=program, stdout=program,
        stderr=program, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(program)
    screen = b""
    while b"[no] " not in screen:
        screen += os.read(person, 65536)
    assert not select.select([person], [], [], 0.5)[0], "as long as the tree takes for two refreshes"
    before = len(screen)
    os.write(person, b"once\n")
    while True:
        try:
            screen += os.read(person, 65536)
        except OSError:
            break
    os.close(person)
    assert process.wait(20) == 0
    assert screen[before:].startswith(b"once")
    assert (workspace / "out/a.txt").read_text() == "text"
    assert screen.count(b"\x1b[?25l") == screen.count(b"\x1b[?25h") == 2


def test_the_first_ctrl_c_stops_cleanly_and_keeps_everything(slow: Path) -> None:
    process = started(slow, "--log-events", "events.jsonl", "--format", "json")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "stopping; Ctrl-C again ends the program at once" in err
    assert "Traceback" not in err
    assert json.loads(out)["status"] == "interrupted"
    records = [json.loads(line) for line in (slow / "events.jsonl").read_text().splitlines()]
    assert records[-1]["event"] == "run_finished"
    ended = [record["path"] for record in records if record["event"] == "worker_finished"]
    assert sorted(ended) == ["main", "main/helper#1", "main/helper#2", "main/helper#3"]


@pytest.mark.long
def test_the_second_ctrl_c_ends_at_once_even_where_the_loop_is_blocked(slow: Path) -> None:
    header = (slow / "helper.worker").read_text().replace(":slow\n", ":blocking\n")
    (slow / "helper.worker").write_text(header)
    process = started(slow, "--log-events", "events.jsonl")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)

    def ended() -> bool:  # on a busy machine two at once may arrive as one
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        return process.poll() is not None

    until(ended)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    records = [json.loads(line) for line in (slow / "events.jsonl").read_text().splitlines()]
    assert records[-1]["event"] == "model_requested"
