"""Policies that the caller of a run gives: asked last, they refuse what the rules allow and allow nothing."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from llmdo.journal import Runs
from llmdo.runtime import AgentRuntime, Call, DepthLimit, PolicyRefusal, RunPolicy
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import Decided, Event
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import go, graph, script, toolset, use, worker


@dataclass(frozen=True)
class Watch:
    """Writes down what it is asked, refuses the tools in `refused`, and knows how deep it is."""

    refused: tuple[str, ...] = ()
    depth: int = -1
    asked: list[tuple[int, str]] = field(default_factory=list)

    def spawn(self) -> RunPolicy:
        return replace(self, depth=self.depth + 1)

    def on_delegation(self, name: str) -> None:
        self.asked.append((self.depth, f"on {name}"))

    def handle_tool(self, ctx: Any, call: Call) -> Awaitable[None] | None:
        assert ctx is None or isinstance(ctx.deps, AgentRuntime)
        self.asked.append((self.depth, call.tool))
        if call.tool in self.refused:
            raise PolicyRefusal("not on a Sunday")
        return None


def team(**scripts: Any) -> Any:
    return graph(worker("main", "helper"), worker("helper", "leaf"), worker("leaf"), **scripts)


def test_a_policy_is_asked_about_every_call_of_the_tree_at_its_depth(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A")
    script(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("read_file", {"path": "a.txt"})], "{results}"],
        helper=[[("leaf", {"input": "x"})], "{results}"],
        leaf=["leaf"],
    )
    team_graph = graph(worker("main", "helper", use("filesystem")), worker("helper", "leaf"), worker("leaf"))
    watch = Watch()
    outcome = go(team_graph, tmp_path, policy=watch)
    assert outcome.status == "completed"
    assert outcome.denied == ()
    assert sorted(watch.asked) == [
        (0, "helper"),
        (0, "on helper"),
        (0, "read_file"),
        (1, "leaf"),
        (1, "on leaf"),
    ]


def test_a_refusal_is_a_failed_result_an_event_and_a_denied_call(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "main: {results}"], helper=["never"], leaf=["x"])
    events: list[Event] = []
    outcome = go(team(), tmp_path, policy=Watch(refused=("helper",)), on_event=events.append)
    assert outcome.output == "main: [failed: `helper` is blocked: not on a Sunday]"
    assert [(call.path, call.decision, call.why) for call in outcome.denied] == [
        ("main/helper#1", "blocked", ("not on a Sunday",))
    ]
    decided = next(event.call for event in events if isinstance(event, Decided))
    assert (decided.allowed, decided.by) == (False, "policy")
    assert "helper" not in outcome.usage_by_worker


def test_a_policy_is_not_asked_about_what_the_rules_block_and_lifts_nothing(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"], helper=["never"])
    watch = Watch()
    team_graph = graph(
        worker("main", "helper"), worker("helper"), approvals={"agent.delegate": "needs_approval"}
    )
    assert "needs approval" in (go(team_graph, tmp_path, policy=watch).output or "")
    assert watch.asked == []


class Wrong(Watch):
    """A policy that does what it is told to, all of it wrong."""

    def on_delegation(self, name: str) -> None:
        if "on" in self.refused:
            raise ZeroDivisionError("oh")

    def handle_tool(self, ctx: Any, call: Call) -> Any:
        if "async" in self.refused:
            return self._late()
        call.arguments["input"] = "changed"
        return True if "answer" in self.refused else None

    async def _late(self) -> None:
        raise PolicyRefusal

    def spawn(self) -> Any:
        return None if "spawn" in self.refused and self.depth == 0 else replace(self, depth=self.depth + 1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("on", "the policy `Wrong` raised ZeroDivisionError: oh"),
        ("answer", "the policy `Wrong` answered `True`"),
        ("async", "the policy `Wrong` refuses it"),
        ("spawn", "the policy `Wrong` has none for the workers below"),
    ],
)
def test_a_policy_that_fails_has_refused(fault: str, message: str, tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"], helper=["never"], leaf=["x"])
    outcome = go(team(), tmp_path, policy=Wrong(refused=(fault,)))
    assert message in (outcome.output or ""), outcome.error
    assert "helper" not in outcome.usage_by_worker


def test_a_policy_cannot_change_the_arguments(tmp_path: Path) -> None:
    script(
        tmp_path, main=[[("helper", {"input": "as it was"})], "{results}"], helper=["{prompt}"], leaf=["x"]
    )
    assert go(team(), tmp_path, policy=Wrong()).output == "[success: as it was]"


SPAWNING = """
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

own = FunctionToolset(id="own")

@own.tool
async def look(ctx: RunContext, name: str) -> str:
    runtime = ctx.deps.spawn(name)
    tools = [tool for one in runtime.toolsets_for(name) for tool in await one.get_tools(ctx)]
    return f"{runtime.frame.path} {runtime.frame.depth} {tools}"

@own.tool
async def take(ctx: RunContext, name: str) -> str:
    return str(ctx.deps.toolsets_for(name))
"""


def test_a_tool_spawns_only_delegates_of_its_worker_and_under_the_policies(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(SPAWNING)
    calls = [("look", {"name": "helper"}), ("look", {"name": "leaf"})]
    script(tmp_path, main=[calls, "{results}"], helper=["x"], leaf=["x"])
    team_graph = graph(
        worker("main", "helper", "own"),
        worker("helper", "leaf"),
        worker("leaf"),
        toolset("own", "tools.py:own", look=[], take=[]),
    )
    output = go(team_graph, tmp_path).output or ""
    assert "[success: main/look#1/helper#1 1 ['leaf']]" in output
    assert "[failed: `main` may not call `leaf`: it is not among its delegates]" in output
    outcome = go(team_graph, tmp_path, max_depth=0)
    assert "[failed: `helper` is blocked: the chain of delegations may not be longer than 0" in (
        outcome.output or ""
    )
    assert [call.path for call in outcome.denied] == ["main/look#1/helper#1"]
    script(tmp_path, main=[[("take", {"name": "helper"})], "never"], helper=["x"], leaf=["x"])
    assert "`main` has no toolsets of `helper`" in (go(team_graph, tmp_path).error or "")


def test_the_depth_limit_counts_the_delegations_above() -> None:
    limit = DepthLimit(longest=1)
    limit.on_delegation("x")
    deeper = limit.spawn()
    deeper.on_delegation("x")
    with pytest.raises(PolicyRefusal, match="longer than 1"):
        deeper.spawn().on_delegation("x")


def test_the_policy_of_the_documentation_refuses_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/runtime.md").read_text(encoding="utf-8")
    section = page.split("\n## Policies\n")[1]
    (tmp_path / "page.py").write_text(section.split("```python\n")[1].split("```")[0], encoding="utf-8")
    namespace = runpy.run_path(str(tmp_path / "page.py"))
    script(
        tmp_path,
        main=[[("write_file", {"path": "a", "content": "x"}), ("helper", {"input": "x"})], "{results}"],
        helper=[[("write_file", {"path": "b", "content": "x"})], "{results}"],
    )
    files = use("filesystem", write=["**"])
    team_graph = graph(
        worker("main", "helper", files), worker("helper", files), approvals={"fs.write": "allowed"}
    )
    outcome = go(team_graph, tmp_path, policy=namespace["options"].policy)
    assert outcome.error is None
    assert "`write_file` is blocked: delegates may not write" in (outcome.output or "")
    assert [(tmp_path / name).exists() for name in "ab"] == [True, False]


@dataclass(frozen=True)
class Reviews(Watch):
    """Waits before it lets a worker be called, and keeps an answer that says too much from its caller."""

    ended: list[tuple[int, str, str | None, str | None]] = field(default_factory=list)

    async def on_delegation(self, name: str) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        if name in self.refused:
            raise PolicyRefusal("asked somebody, who says no")

    async def after_delegation(self, name: str, output: str | None, error: str | None) -> None:
        self.ended.append((self.depth, name, output, error))
        await asyncio.sleep(0)
        if error or (output and "secret" in output):
            raise PolicyRefusal("it says too much")


def test_a_policy_may_take_its_time_and_sees_what_came_of_a_delegation(tmp_path: Path) -> None:
    calls: list[Any] = [("helper", {"input": "x"}), ("leaf", {"input": "x"}), ("other", {"input": "x"})]
    script(tmp_path, main=[calls, "{results}"], helper=["a secret"], leaf=["fine"], other=[])
    team_graph = graph(
        worker("main", "helper", "leaf", "other"), worker("helper"), worker("leaf"), worker("other")
    )
    policy = Reviews()
    outcome = go(team_graph, tmp_path, policy=policy)
    assert outcome.output is not None
    withheld, fine, failed = outcome.output.split("] ")
    assert withheld == "[failed: `helper` failed: its answer is withheld: it says too much"
    assert fine == "[success: fine"
    assert failed.startswith("[failed: `other` failed: ")
    assert "too much" not in failed
    assert sorted((depth, name, output) for depth, name, output, _ in policy.ended) == [
        (0, "helper", "a secret"),
        (0, "leaf", "fine"),
        (0, "other", None),
    ]
    refused = go(team_graph, tmp_path, policy=Reviews(refused=("leaf",)))
    assert "`leaf` is blocked: asked somebody, who says no" in (refused.output or "")


def test_a_withheld_answer_stays_withheld_and_is_looked_at_once(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"], helper=["a secret"])
    team_graph = graph(worker("main", "helper"), worker("helper"))
    runs = Runs(tmp_path)
    outputs = []
    for mode in (None, None, ReplayMode(live=False)):
        policy = Reviews()
        with runs.open("r") if "r" in runs.names() else runs.create("r") as journal:
            recorder = Recorder(journal, Redaction.of({}), mode)
            outputs.append(go(team_graph, tmp_path, policy=policy, run="r", recorder=recorder).output)
        assert len(policy.ended) == (len(outputs) == 1)
    assert set(outputs) == {"[failed: `helper` failed: its answer is withheld: it says too much]"}


def test_where_nobody_can_wait_a_policy_that_takes_its_time_has_refused(tmp_path: Path) -> None:
    (tmp_path / "spawning.py").write_text(
        "from pydantic_ai import RunContext\n"
        "from pydantic_ai.toolsets import FunctionToolset\n\n"
        "spawning = FunctionToolset()\n\n"
        "@spawning.tool\n"
        "def begin(ctx: RunContext) -> str:\n"
        "    return ctx.deps.spawn('helper').frame.path\n",
        encoding="utf-8",
    )
    script(tmp_path, main=[[("begin", {})], "{results}"], helper=["x"])
    team_graph = graph(
        worker("main", "spawning", "helper"),
        worker("helper"),
        toolset("spawning", "spawning.py:spawning", begin=[]),
    )
    outcome = go(team_graph, tmp_path, policy=Reviews())
    assert "cannot be awaited here" in (outcome.output or ""), outcome.error
