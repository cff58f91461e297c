"""Stopping a run stops everything below it: each delegate says that it was interrupted, and nothing runs on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from llmdo.graph import Graph
from llmdo.runtime import RunOptions, run
from llmdo.runtime.telemetry.events import Event, ModelRequested, RunFinished, ToolFinished, WorkerFinished

from .building import go, graph, prompts, script, toolset, worker

SLOW = """
import asyncio
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

async def wait(messages, info):
    await asyncio.sleep(60)
    return ModelResponse(parts=[TextPart("late")])

slow = FunctionModel(wait)
tools = FunctionToolset(id="tools")

@tools.tool_plain
async def child() -> str:
    process = await asyncio.create_subprocess_exec("sleep", "60")
    Path(__file__).with_name("child.pid").write_text(str(process.pid))
    try:
        return str(await process.wait())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
"""

TOOLS = toolset("tools", "slow.py:tools", child=[])


def made(root: Path, *, limits: dict[str, float] | None = None) -> Graph:
    """A tree of three helpers that wait for ever, in their models, and one that waits for a child process."""
    (root / "slow.py").write_text(SLOW)
    calls = [("helper", {"input": str(n)}) for n in range(3)]
    script(root, main=[[*calls, ("runner", {"input": "x"})]], runner=[[("child", {})]])
    return graph(
        worker("main", "helper", "runner"),
        worker("helper", model="python:slow.py:slow"),
        worker("runner", "tools"),
        TOOLS,
        limits=limits or {},
    )


def is_all_at_work(root: Path, events: list[Event]) -> bool:
    asked = sum(isinstance(event, ModelRequested) for event in events)
    return asked == 5 and (root / "child.pid").exists()


def assert_everything_stopped(root: Path, events: list[Event]) -> None:
    ended = [event for event in events if isinstance(event, WorkerFinished)]
    assert sorted(event.path for event in ended) == [
        "main",
        "main/helper#1",
        "main/helper#2",
        "main/helper#3",
        "main/runner#1",
    ]
    assert {event.error for event in ended} == {"it was interrupted"}
    assert {event.outcome for event in events if isinstance(event, ToolFinished)} == {"error"}
    with pytest.raises(ProcessLookupError):
        os.kill(int((root / "child.pid").read_text()), 0)


def test_a_cancelled_run_stops_every_delegate_and_their_processes(tmp_path: Path) -> None:
    graph_ = made(tmp_path)
    events: list[Event] = []

    async def scenario() -> None:
        options = RunOptions(on_event=events.append)
        running = asyncio.create_task(
            run(graph_, root=tmp_path, prompts=prompts(graph_), entry="go", options=options)
        )
        while not is_all_at_work(tmp_path, events):  # noqa: ASYNC110  # a list tells nobody
            await asyncio.sleep(0.01)
        running.cancel()
        outcome = await running
        assert (outcome.status, outcome.error) == ("interrupted", "the run was interrupted")
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
    assert isinstance(events[-1], RunFinished)
    assert_everything_stopped(tmp_path, events)


def test_a_run_out_of_time_stops_every_delegate_too(tmp_path: Path) -> None:
    events: list[Event] = []
    # Long enough that all are at work by then, on a busy machine too.
    outcome = go(made(tmp_path, limits={"seconds": 3}), tmp_path, on_event=events.append)
    assert outcome.error == "the run took longer than 3 seconds"
    assert_everything_stopped(tmp_path, events)
