"""The log of a run: complete, safe to read, and there however the run ended."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.telemetry.events import RunStarted
from llmdo.runtime.telemetry.log import EventLog, open_log
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import go, graph, script, toolset, worker

NOTHING = Redaction.of({})

TOOLS = """
from pydantic_ai.messages import BinaryContent
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset(id="calc")

@calc.tool_plain
def picture(caption: str) -> list:
    return [caption, BinaryContent(b"\\x89PNG", media_type="image/png")]

@calc.tool_plain
def broken() -> str:
    raise ValueError("out of order")
"""

CALC = toolset("calc", "tools.py:calc", picture=[], broken=[])


def logged(root: Path, redaction: Redaction = NOTHING, **scripts: Any) -> list[dict[str, Any]]:
    """The log of a run in which `main` has a helper and tools."""
    (root / "tools.py").write_text(TOOLS)
    script(root, **scripts)
    team_graph = graph(worker("main", "helper", "calc"), worker("helper", "calc"), CALC)
    with open_log(root / "run.jsonl", redaction) as log:
        go(team_graph, root, on_event=log)
    return [json.loads(line) for line in (root / "run.jsonl").read_text().splitlines()]


def test_every_event_of_the_tree_is_a_line_with_its_time_and_call_path(tmp_path: Path) -> None:
    records = logged(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("helper", {"input": "y"})], "done"],
        helper=[[("picture", {"caption": "a dot"})], "seen"],
    )
    assert {record["path"] for record in records} >= {
        "go",
        "main",
        "main/helper#1",
        "main/helper#2/picture#1",
    }
    times = [datetime.fromisoformat(record["time"]) for record in records]
    assert times == sorted(times)
    assert all(time.tzinfo for time in times)
    assert (records[0]["event"], records[-1]["event"]) == ("run_started", "run_finished")
    assert records[0]["models"] == {"helper": "python:models.py:helper", "main": "python:models.py:main"}


def test_arguments_and_results_are_complete_and_bytes_are_not(tmp_path: Path) -> None:
    caption = "long " * 5000
    records = logged(tmp_path, main=[[("picture", {"caption": caption})], "done"], helper=[])
    called = next(record for record in records if record["event"] == "tool_called")
    assert called["arguments"] == {"caption": caption}
    finished = next(record for record in records if record["event"] == "tool_finished")
    assert finished["result"][0] == caption
    assert finished["result"][1]["data"]["bytes"] == 4
    assert "PNG" not in json.dumps(finished["result"][1])


def test_the_end_of_a_failed_run_is_there(tmp_path: Path) -> None:
    records = logged(tmp_path, main=[[("broken", {})]], helper=[])
    assert [record["event"] for record in records[-3:]] == [
        "tool_finished",
        "worker_finished",
        "run_finished",
    ]
    assert records[-1]["status"] == "failed"
    assert "out of order" in records[-1]["error"]


def test_no_secret_is_written(tmp_path: Path) -> None:
    redaction = Redaction.of({"ACME_TOKEN": "correct horse"})
    records = logged(
        tmp_path,
        redaction,
        main=[[("picture", {"caption": "it is correct horse"})], "correct horse"],
        helper=[],
    )
    assert "correct horse" not in json.dumps(records)
    assert "[redacted ACME_TOKEN]" in json.dumps(records)


def test_the_log_is_ascii_whatever_was_said(tmp_path: Path) -> None:
    logged(tmp_path, main=[[("picture", {"caption": "\u202e\x1b[2J ü"})], "x"], helper=[])
    content = (tmp_path / "run.jsonl").read_bytes()
    assert content.isascii()
    assert b"\x1b" not in content


def test_the_file_is_its_owners_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    event = RunStarted(path="go", run="r", entry="go", input="", models={})
    for _ in range(2):
        with open_log(path, NOTHING) as log:
            log(event)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nowhere"])
def test_what_is_no_file_is_refused_before_the_run(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    match kind:
        case "link":
            (tmp_path / "target").write_text("kept")
            path.symlink_to(tmp_path / "target")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "nowhere":
            path = tmp_path / "missing/log"
    with pytest.raises(LlmdoError, match="cannot write"):
        open_log(path, NOTHING)
    if kind == "link":
        assert (tmp_path / "target").read_text() == "kept"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_log_that_cannot_go_on_says_so_and_does_not_end_the_run() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with EventLog(full, NOTHING) as log:
        for _ in range(2):
            log(RunStarted(path="go", run="r", entry="go", input="", models={}))
        assert log.failure == "No space left on device"
