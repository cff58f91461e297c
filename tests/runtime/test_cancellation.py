"""Stopping a run stops everything below it: each delegate says that it has ended, and nothing runs on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmdo.graph.resolved import Graph
from llmdo.runtime import RunOptions, RunOutcome, Stop, run
from llmdo.runtime.recording.keeping import keeping
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.events import (
    Event,
    ModelRequested,
    ModelResponded,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)
from tests.support.building import go, graph, prompts, script, toolset, with_code, worker
from tests.support.waiting import comes

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


def sleeping_team(root: Path, *, limits: dict[str, float] | None = None) -> Graph:
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
    assert {(event.output, event.error) for event in ended} == {(None, None)}
    assert {event.outcome for event in events if isinstance(event, ToolFinished)} == {"stopped"}
    with pytest.raises(ProcessLookupError):
        os.kill(int((root / "child.pid").read_text()), 0)


def test_a_cancelled_run_stops_every_delegate_and_their_processes(tmp_path: Path) -> None:
    graph_ = sleeping_team(tmp_path)
    events: list[Event] = []

    async def scenario() -> None:
        options = RunOptions(on_event=events.append)
        running = asyncio.create_task(
            run(
                with_code(graph_, tmp_path),
                root=tmp_path,
                prompts=prompts(graph_),
                entry="go",
                options=options,
            )
        )
        await comes(lambda: is_all_at_work(tmp_path, events))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].error) == ("interrupted", "the run was interrupted")
    assert_everything_stopped(tmp_path, events)


@pytest.mark.long
def test_a_run_out_of_time_stops_every_delegate_too(tmp_path: Path) -> None:
    events: list[Event] = []
    # Long enough that all are at work by then, on a busy machine too.
    outcome = go(sleeping_team(tmp_path, limits={"seconds": 3}), tmp_path, on_event=events.append)
    assert outcome.error == "the run took longer than 3 seconds"
    assert_everything_stopped(tmp_path, events)


async def waits(root: Path, at_work: Callable[[], object], **options: Any) -> RunOutcome:
    """A run that waits for its model until it is ended; it tells when it has asked it."""
    (root / "slow.py").write_text(SLOW)
    graph_ = graph(worker("main", model="python:slow.py:slow"))

    def watch(event: Event) -> None:
        if isinstance(event, ModelRequested):
            at_work()

    return await run(
        with_code(graph_, root),
        root=root,
        prompts=prompts(graph_),
        entry="go",
        options=RunOptions(on_event=watch, **options),
    )


async def with_a_timeout(root: Path, recorder: Recorder) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as bound:
        await waits(root, lambda: bound.reschedule(loop.time()), recorder=recorder)


async def with_wait_for(root: Path, recorder: Recorder) -> None:
    at_work = asyncio.Event()
    running = asyncio.create_task(waits(root, at_work.set, recorder=recorder))
    await at_work.wait()
    await asyncio.wait_for(running, 0.01)


async def in_a_group(root: Path, recorder: Recorder) -> None:
    at_work = asyncio.Event()

    async def fail() -> None:
        await at_work.wait()
        raise TimeoutError

    try:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(waits(root, at_work.set, recorder=recorder))
            group.create_task(fail())
    except* TimeoutError:
        assert waiting.cancelled()
    raise TimeoutError  # from within `except*` it would be in a group, before Python 3.11.4


async def in_a_scope(root: Path, recorder: Recorder) -> None:
    with anyio.CancelScope() as scope:
        await waits(root, lambda: ends(scope), recorder=recorder)
    assert scope.cancelled_caught
    raise TimeoutError


async def in_a_scope_that_fails(root: Path, recorder: Recorder) -> None:
    with anyio.fail_after(None) as scope:
        await waits(root, lambda: ends(scope), recorder=recorder)


def ends(scope: anyio.CancelScope) -> None:
    """Lets the scope's time be over."""
    scope.deadline = anyio.current_time()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "bounded", [with_a_timeout, with_wait_for, in_a_group, in_a_scope, in_a_scope_that_fails]
)
def test_who_bounds_a_run_sees_that_it_was_cancelled_and_the_journal_has_it(
    tmp_path: Path, bounded: Callable[[Path, Recorder], Coroutine[None, None, None]]
) -> None:
    with keeping(tmp_path, "r1", {}) as recorder:
        with pytest.raises(TimeoutError):
            asyncio.run(bounded(tmp_path, recorder))
        end = recorder.journal.last("end")
        assert end is not None
        assert (end.outcome, end.data["error"]) == ("interrupted", "the run was interrupted")


def test_a_run_that_is_stopped_has_an_outcome(tmp_path: Path) -> None:
    stop = Stop()

    async def scenario() -> RunOutcome:
        async with asyncio.timeout(30):
            return await waits(tmp_path, lambda: stop("somebody said so"), stop=stop)

    outcome = asyncio.run(scenario())
    assert (outcome.status, outcome.error) == ("interrupted", "somebody said so")


KINDS = [RunStarted, WorkerStarted, ModelRequested, ModelResponded, ToolCalled, ToolFinished, WorkerFinished]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_watcher_that_fails_ends_the_run_with_an_outcome(tmp_path: Path, kind: type[Event]) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    script(tmp_path, main=[[("helper", {"input": "x"})], "over"], helper=["done"])
    made_ = graph(worker("main", "helper"), worker("helper"))
    seen: list[Event] = []

    def watch(event: Event) -> None:
        seen.append(event)
        if isinstance(event, kind):
            raise OSError("no room left")

    with keeping(tmp_path, "r1", {}) as recorder:
        outcome = go(made_, tmp_path, on_event=watch, recorder=recorder)
        end = recorder.journal.last("end")
    assert (outcome.status, outcome.output) == ("failed", None)
    assert outcome.error == "a listener to the run's events failed: OSError: no room left"
    assert end is not None
    assert end.outcome == "failed"
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].status == "failed"


def test_a_watcher_that_fails_when_all_is_over_does_not_take_the_answer_away(tmp_path: Path) -> None:
    script(tmp_path, main=["over"])

    def watch(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise OSError("no room left")

    outcome = go(graph(worker("main")), tmp_path, on_event=watch)
    assert (outcome.status, outcome.output) == ("completed", "over")
    assert outcome.error == "a listener to the run's events failed: OSError: no room left"
