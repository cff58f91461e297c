"""Limits hold over all the processes that work at a run: what one of them spent, the next does not have."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.graph.resolved import Graph
from llmdo.journal import Runs
from llmdo.journal.spent import spent
from llmdo.runtime import RunOptions, RunOutcome, run
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, prompts, toolset, with_code, worker
from tests.support.laws import tried

MODEL = """
import asyncio, json
from pathlib import Path
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent

async def answer(messages, info):
    with (HERE / "sent.log").open("a") as log:
        log.write("x\\n")
    at = len((HERE / "sent.log").read_text().splitlines()) - 1
    schedule = json.loads((HERE / "schedule.json").read_text())
    match schedule[at] if at < len(schedule) else "call":
        case "fail":
            raise ModelHTTPError(503, "busy")
        case "hang":
            [task] = [task for task in asyncio.all_tasks() if task.get_name() == "the run"]
            task.cancel()
            await asyncio.sleep(60)
        case "done":
            return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("pay", {}, tool_call_id=f"c{at}")])

main = FunctionModel(answer)
"""

TOOLS = """
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain
def pay() -> str:
    with Path(__file__).with_name("paid.log").open("a") as log:
        log.write("x\\n")
    return "paid"
"""


def paying(root: Path, schedule: Sequence[str], **limits: Any) -> Graph:
    (root / "models.py").write_text(MODEL)
    (root / "tools.py").write_text(TOOLS)
    (root / "schedule.json").write_text(json.dumps(schedule))
    return graph(
        worker("main", "tools", model_settings={"max_retries": 0}),
        toolset("tools", "tools.py:tools", pay=["x.tools.pay"]),
        approvals={"x.tools": "allowed"},
        limits=limits,
    )


def work(
    team_graph: Graph, root: Path, replay_mode: ReplayMode | None = None, **options: Any
) -> RunOutcome | None:
    """What comes of one process that works at the run; None where it is interrupted."""

    team_graph = with_code(team_graph, root)

    async def process() -> RunOutcome | None:
        runs = Runs(root)
        with runs.open("r") if "r" in runs.names() else runs.create("r") as journal:
            recorder = Recorder(journal, Redaction.of({}), replay_mode)
            run_options = RunOptions(run="r", recorder=recorder, **options)
            task = asyncio.create_task(
                run(team_graph, root=root, prompts=prompts(team_graph), entry="go", options=run_options),
                name="the run",
            )
            with contextlib.suppress(asyncio.CancelledError):
                outcome = await task
                return None if outcome.status == "interrupted" else outcome
        return None

    return asyncio.run(process())


def lines(root: Path, name: str) -> int:
    return len((root / name).read_text().splitlines()) if (root / name).exists() else 0


@pytest.mark.long
@tried(25)
@given(
    schedule=st.lists(st.sampled_from(["call", "call", "fail", "hang"]), max_size=8),
    limit=st.integers(1, 5),
    sessions=st.integers(2, 4),
)
def test_no_more_requests_are_sent_than_the_limit_says(
    tmp_path_factory: pytest.TempPathFactory, schedule: list[str], limit: int, sessions: int
) -> None:
    root = tmp_path_factory.mktemp("limits")
    team_graph = paying(root, schedule, requests=limit)
    outcomes = [work(team_graph, root) for _ in range(sessions)]
    assert lines(root, "sent.log") <= limit
    stopped_early = sum(step in ("fail", "hang") for step in schedule[: lines(root, "sent.log")])
    if stopped_early < sessions:  # some process had nothing but the limit to stop it
        assert lines(root, "sent.log") == limit
        last = outcomes[-1]
        assert last is not None
        assert last.usage.requests == limit
        assert "requests" in str(last.error) or "request" in str(last.error)


@pytest.mark.long
def test_tool_calls_are_counted_over_all_processes(tmp_path: Path) -> None:
    team_graph = paying(tmp_path, ["call", "call", "hang", "call", "call", "hang"], tool_calls=3)
    for _ in range(2):
        work(team_graph, tmp_path)
    work(team_graph, tmp_path, limits={"requests": 9})
    assert lines(tmp_path, "paid.log") == 3


def test_the_time_of_every_process_counts_and_the_time_between_them_does_not(tmp_path: Path) -> None:
    team_graph = paying(tmp_path, ["call", "hang", "hang", "done"], seconds=30)
    worked = 0.0
    seconds = [0.0]
    for _ in range(2):
        began = time.time()
        work(team_graph, tmp_path)
        worked += time.time() - began
        time.sleep(0.3)
        with Runs(tmp_path).open("r") as journal:
            seconds.append(spent(journal).seconds)
    assert seconds == sorted(set(seconds)), "each process adds to it"
    assert seconds[-1] <= worked
    late = work(paying(tmp_path, ["call", "hang", "hang", "done"], seconds=seconds[1] / 2), tmp_path)
    assert late is not None
    assert (late.error or "").startswith("the run took longer than")
    assert lines(tmp_path, "sent.log") == 3


def test_a_person_raises_a_limit_for_the_rest_of_the_run_and_the_audit_has_it(tmp_path: Path) -> None:
    team_graph = paying(tmp_path, ["call", "call", "hang", "hang", "done"], requests=2)
    refused = work(team_graph, tmp_path)
    assert refused is not None
    assert "limit of 2 requests" in str(refused.error)
    assert work(team_graph, tmp_path, limits={"requests": 6}) is None  # a request goes out, and hangs
    assert work(team_graph, tmp_path) is None
    done = work(team_graph, tmp_path)
    assert done is not None
    assert (done.output, done.usage.requests) == ("done", 5)
    with Runs(tmp_path).open("r") as journal:
        records = [json.loads(line) for line in journal.lines()]
    starts = [record.get("limits") for record in records if record["kind"] == "run_started"]
    assert starts == [None, {"requests": 6}, None, None]


def test_a_replay_is_not_stopped_by_what_was_spent(tmp_path: Path) -> None:
    team_graph = paying(tmp_path, ["call", "fail", "hang", "done"], requests=4, seconds=30)
    for _ in range(2):
        work(team_graph, tmp_path)
    first = work(team_graph, tmp_path)
    assert first is not None
    assert (first.output, first.usage.requests) == ("done", 4)
    slow = paying(tmp_path, [], requests=4, seconds=1e-9)
    assert work(slow, tmp_path, ReplayMode(live=False)) == first


def test_an_answered_request_is_counted_once(tmp_path: Path) -> None:
    team_graph = paying(tmp_path, ["call", "hang", "done"])
    work(team_graph, tmp_path)
    done = work(team_graph, tmp_path)
    assert done is not None
    assert done.usage.requests == 3
    assert done.usage_by_worker["main"].requests == 3
