"""Workers that call workers: results, usage, limits, depth, order and failure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.vocabulary import Decision
from llmdo.reach import Analysis
from llmdo.runtime import Answer, Question
from llmdo.runtime.agents import Agents
from llmdo.runtime.signatures import PlainInput, Signature
from llmdo.runtime.telemetry.events import Event, ToolCalled, WorkerStarted
from tests.support.building import go, graph, script, toolset, worker
from tests.support.running import run_sync

MEETING = """
import asyncio
from pydantic_ai.toolsets import FunctionToolset

meeting = FunctionToolset(id="meeting")
together = asyncio.Barrier(2)

@meeting.tool_plain
async def meet() -> str:
    async with asyncio.timeout(30):
        await together.wait()
    return "met"
"""


def test_a_delegates_output_is_its_callers_tool_result(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "six"})], "got {results}"], helper=["heard {prompt}"])
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert outcome.status == "completed", outcome.error
    assert outcome.output == "got [success: heard six]"
    assert outcome.denied == ()


def test_usage_is_that_of_the_tree_and_of_each_worker(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[[("helper", {"input": "a"}), ("helper", {"input": "b"})], "done"],
        helper=["fine"],
    )
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert outcome.usage.requests == 4
    assert {name: used.requests for name, used in outcome.usage_by_worker.items()} == {"main": 2, "helper": 2}
    assert outcome.usage.tool_calls == outcome.usage_by_worker["main"].tool_calls == 2
    used = [outcome.usage, *outcome.usage_by_worker.values()]
    assert [(usage.input_tokens, usage.output_tokens) for usage in used] == [
        (None, None)
    ] * 3  # nobody counts for a script


def test_parallel_delegates_overlap(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(MEETING)
    script(
        tmp_path,
        main=[[("left", {"input": "x"}), ("right", {"input": "x"})], "{results}"],
        left=[[("meet", {})], "{results}"],
        right=[[("meet", {})], "{results}"],
    )
    team_graph = graph(
        worker("main", "left", "right"),
        worker("left", "meeting"),
        worker("right", "meeting"),
        toolset("meeting", "tools.py:meeting", meet=[]),
    )
    outcome = go(team_graph, tmp_path)
    assert outcome.output == "[success: [success: met]] [success: [success: met]]", outcome.error


@pytest.mark.parametrize(("limit", "flag"), [(1, None), (5, 1)])
def test_at_the_depth_limit_the_calling_model_is_told(tmp_path: Path, limit: int, flag: int | None) -> None:
    script(
        tmp_path,
        main=[[("middle", {"input": "x"})], "main: {results}"],
        middle=[[("leaf", {"input": "x"})], "middle: {results}"],
        leaf=["never"],
    )
    team_graph = graph(worker("main", "middle"), worker("middle", "leaf"), worker("leaf"), max_depth=limit)
    outcome = go(team_graph, tmp_path, max_depth=flag)
    assert outcome.status == "completed"
    assert "middle: [failed: `leaf` is blocked: the chain of delegations" in (outcome.output or "")
    assert "leaf" not in outcome.usage_by_worker


def test_a_flag_does_not_raise_the_depth_limit(tmp_path: Path) -> None:
    script(tmp_path, main=[[("leaf", {"input": "x"})], "{results}"], leaf=["never"])
    outcome = go(graph(worker("main", "leaf"), worker("leaf"), max_depth=0), tmp_path, max_depth=9)
    assert "[failed: `leaf` is blocked" in (outcome.output or "")


def test_a_callees_failure_is_reported_and_the_tree_goes_on(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "main: {results}"], helper=[[("nothing", {})]] * 9)
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert outcome.status == "completed"
    assert "[failed: `helper` failed: Tool 'nothing' exceeded max retries" in (outcome.output or "")


def test_a_model_that_raises_half_way_is_a_failed_outcome_with_its_usage(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})]], helper=["fine"])
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert (outcome.status, outcome.output) == ("failed", None)
    raised = "the model `function:function:answer:` raised IndexError: list index out of range (models.py:"
    assert outcome.error is not None
    assert outcome.error.startswith(raised)
    assert outcome.usage.requests == 3


def test_call_paths_are_numbered_in_the_order_of_the_response_not_of_the_start(tmp_path: Path) -> None:
    calls = [("helper", {"input": "a"}), ("other", {"input": "b"}), ("helper", {"input": "c"})]
    script(tmp_path, main=[calls, calls[:1], "done"], helper=["{prompt}"], other=["{prompt}"])
    events: list[Event] = []
    approver_order: list[str] = []

    class LastFirst:
        """Answers the first question last, so that the calls start in another order."""

        def __init__(self) -> None:
            self.last_is_answered = asyncio.Event()

        async def ask(self, question: Question) -> Answer:
            if question.path == "main/helper#1":
                await self.last_is_answered.wait()
            approver_order.append(question.path)
            if question.path == "main/helper#2":
                self.last_is_answered.set()
            return Answer(allowed=True, by="test")

    team_graph = graph(
        worker("main", "helper", "other"),
        worker("helper"),
        worker("other"),
        approvals={"agent.delegate": "needs_approval"},
    )
    go(team_graph, tmp_path, on_event=events.append, approver=LastFirst())
    started = {event.path: event.input for event in events if isinstance(event, WorkerStarted)}
    assert started == {
        "main": "go",
        "main/helper#1": "a",
        "main/other#1": "b",
        "main/helper#2": "c",
        "main/helper#3": "a",
    }
    assert approver_order.index("main/helper#2") < approver_order.index("main/helper#1")
    assert [event.path for event in events if isinstance(event, ToolCalled)][:3] == [
        "main/helper#1",
        "main/other#1",
        "main/helper#2",
    ]


@pytest.mark.parametrize("arguments", [{"input": "x", "secret": "y"}, {"text": "x"}, {"input": 1}])
def test_a_workers_tool_refuses_arguments_it_does_not_know(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    script(tmp_path, main=[[("helper", arguments)], "{results}"], helper=["never"])
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert "[retried:" in (outcome.output or "")
    assert "helper" not in outcome.usage_by_worker


def test_a_recursive_worker_ends_at_the_depth_limit(tmp_path: Path) -> None:
    script(tmp_path, main=[[("main", {"input": "x"})], "m({results})"])
    outcome = go(graph(worker("main", "main", recursive=True), max_depth=2), tmp_path)
    assert (outcome.output or "").count("m(") == 3


FUNCTION = """
import asyncio

async def nightly(runtime, input):
    answers = await asyncio.gather(*(runtime.call_agent("helper", f"{input} {n}") for n in range(3)))
    return " ".join(answers)

async def forbidden(runtime, input):
    return await runtime.call_agent("other", input)

async def silent(runtime, input):
    return None
"""


def test_a_function_entry_calls_its_workers(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(FUNCTION)
    script(tmp_path, helper=["<{prompt}>"])
    events: list[Event] = []
    team_graph = graph(worker("helper"), function="entries.py:nightly", calls=["helper"])
    outcome = go(team_graph, tmp_path, on_event=events.append)
    assert outcome.output == "<go 0> <go 1> <go 2>", outcome.error
    started = [(event.path, event.depth) for event in events if isinstance(event, WorkerStarted)]
    assert started == [("go/helper#1", 0), ("go/helper#2", 0), ("go/helper#3", 0)]


def test_a_function_reaches_only_its_calls(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(FUNCTION)
    script(tmp_path, helper=["x"], other=["x"])
    team_graph = graph(worker("helper"), worker("other"), function="entries.py:forbidden", calls=["helper"])
    outcome = go(team_graph, tmp_path)
    assert outcome.error == "`go` may not call `other`: it is not among its delegates"


def test_a_function_that_returns_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(FUNCTION)
    script(tmp_path, helper=["x"])
    outcome = go(graph(worker("helper"), function="entries.py:silent", calls=["helper"]), tmp_path)
    assert outcome.error == "the function of entry `go` returned nothing"


def test_an_unknown_entry_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    team_graph = graph(worker("main"))
    with pytest.raises(LlmdoError, match="no entry `goo`") as refused:
        run_sync(team_graph, root=tmp_path, prompts={}, entry="goo")
    assert refused.value.hint == "did you mean `go`?"


@pytest.mark.parametrize(
    ("rules", "own"),
    [
        ({"agent.delegate": "allowed", "agent.delegate:writer": "blocked"}, {}),
        ({"agent.delegate:helper": "allowed"}, {}),
        ({}, {"agent.delegate:writer": "blocked"}),
        ({}, {"agent:writer": "needs_approval"}),
    ],
)
def test_a_rule_may_be_about_calls_of_one_worker_alone(
    tmp_path: Path, rules: dict[str, Decision], own: dict[str, Decision]
) -> None:
    script(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("writer", {"input": "x"})], "{results}"],
        helper=["helped"],
        writer=["wrote"],
    )
    team_graph = graph(
        worker("main", "helper", "writer", approvals=own), worker("helper"), worker("writer"), approvals=rules
    )
    outcome = go(team_graph, tmp_path)
    assert outcome.error is None
    assert "[success: helped]" in (outcome.output or "")
    assert "wrote" not in (outcome.output or "")
    is_hidden = "blocked" in {*rules.values(), *own.values()}  # then its model is not shown that tool at all
    refused = [str(raised) for call in outcome.denied for raised in call.raised]
    assert refused == ([] if is_hidden else ["agent.delegate:writer"])
    rows = {str(row.capability): row.decision for row in Analysis(team_graph).of(team_graph.entries["go"])}
    assert rows[f"agent.delegate:{'helper' if 'agent.delegate:helper' in rules else '**'}"] == "allowed"
    assert rows.get("agent.delegate:writer") != "allowed"


def test_an_agent_brings_no_toolset_that_would_be_prepared_beside_those_of_a_call() -> None:
    team = graph(worker("main", "helper"), worker("helper"))
    names = list(team.workers)
    agents = Agents(
        graph=team,
        prompts=dict.fromkeys(names, ""),
        models=dict.fromkeys(names, TestModel()),
        references={},
        signatures=dict.fromkeys(names, Signature(takes=PlainInput(), gives=None)),
    )
    agent = agents.of("main")
    assert isinstance(agent, Agent)
    assert agent.toolsets == []
