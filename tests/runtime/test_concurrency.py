"""Many runs in one process, each a value of its own: none sees another's files, code, limits, answers or events."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.resolved import Graph
from llmdo.runtime import Answer, DepthLimit, Question, RunOptions, RunOutcome, run
from llmdo.runtime.telemetry.events import Event, RunStarted, WorkerStarted
from tests.support.building import graph, prompts, script, toolset, use, with_code, worker

COUNTING = """
import asyncio
from pydantic_ai.toolsets import FunctionToolset
import numbers_of_this_workspace as numbers

counter = FunctionToolset(id="counter")
seen = []

@counter.tool_plain
async def count() -> str:
    seen.append(1)
    number = len(seen)
    await asyncio.sleep(0.01)
    return f"{numbers.OWN}.{number}"
"""

COUNTER = toolset("counter", "tools.py:counter", count=["x.counter.step"])
RUNS = 50


@dataclass
class Numbered:
    """Answers as the number of its run says, and remembers what it was asked."""

    number: int
    asked: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        await asyncio.sleep(0)
        self.asked.append(str(question.arguments.get("input", question.path)))
        return Answer(allowed=self.number % 2 == 0, by=f"approver {self.number}")


def team(number: int) -> Graph:
    return graph(
        worker("main", "helper", "counter", use("filesystem", read=["own.txt"])),
        worker("helper", "counter"),
        COUNTER,
        approvals={"x.counter": "allowed", "agent.delegate": "needs_approval"},
        limits={"requests": 50 if number % 5 else 1},
    )


def prepare(root: Path, number: int) -> Path:
    root.mkdir()
    (root / "own.txt").write_text(f"file {number}")
    (root / "numbers_of_this_workspace.py").write_text(f"OWN = {number}")
    (root / "tools.py").write_text(COUNTING)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("helper", {"input": f"for {number}"}),
        ("count", {}),
        ("read_file", {"path": "own.txt"}),
    ]
    script(root, main=[calls, "{prompt} {results}"], helper=[[("count", {})], "{results}"])
    return root


@pytest.mark.long
def test_fifty_runs_at_a_time_do_not_see_each_other(tmp_path: Path) -> None:
    events: list[list[Event]] = [[] for _ in range(RUNS)]
    approvers = [Numbered(number) for number in range(RUNS)]

    async def run_numbered(number: int) -> RunOutcome:
        team_graph = team(number)
        options = RunOptions(
            input=f"run {number}",
            on_event=events[number].append,
            approver=approvers[number],
            policy=DepthLimit(longest=number % 3),
        )
        root = tmp_path / str(number)
        return await run(
            with_code(team_graph, root), root=root, prompts=prompts(team_graph), entry="go", options=options
        )

    async def all_of_them() -> list[RunOutcome]:
        return await asyncio.gather(*map(run_numbered, range(RUNS)))

    for number in range(RUNS):
        prepare(tmp_path / str(number), number)
    outcomes = asyncio.run(all_of_them())
    assert len({outcome.run for outcome in outcomes}) == RUNS
    for number, (outcome, seen) in enumerate(zip(outcomes, events, strict=True)):
        assert approvers[number].asked == [f"for {number}"]
        assert {event.run for event in seen if isinstance(event, RunStarted)} == {outcome.run}
        called = number % 2 == 0 and number % 3 > 0
        if number % 5 == 0:
            assert (outcome.status, outcome.usage.requests) == ("failed", 1)
            continue
        assert outcome.status == "completed", outcome.error
        assert (outcome.output or "").startswith(f"run {number} ")
        assert set(re.findall(r"success: (\d+)\.", outcome.output or "")) == {str(number)}
        assert set(re.findall(r"file (\d+)", outcome.output or "")) == {str(number)}
        assert len([event for event in seen if isinstance(event, WorkerStarted)]) == 1 + called
        assert len(outcome.denied) == 1 - called
        assert outcome.usage.requests == 2 + 2 * called
        assert outcome.usage.tool_calls == 2 + 2 * called
