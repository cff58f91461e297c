"""A journal that fails while a run goes on ends the run, wherever in it that comes to light."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from llmdo.journal import Runs
from llmdo.runtime import RunOptions, RunOutcome, run
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, prompts, script, toolset, with_code, worker

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.graph.resolved import Graph

TOOLS = """
import asyncio
from pathlib import Path
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

tools = FunctionToolset(id="tools")
HERE = Path(__file__).parent

def lose():
    (HERE / ".llmdo/runs/r.sqlite").unlink()

@tools.tool_plain
def removes() -> str:
    lose()
    return "removed"

@tools.tool_plain
async def removes_too() -> str:
    lose()
    return "removed"

@tools.tool_plain
def grows() -> str:
    return "x" * 65 * 1024**2

@tools.tool_plain
async def grows_too() -> str:
    return "x" * 65 * 1024**2

@tools.tool
async def hands_over(ctx: RunContext) -> str:
    loop = asyncio.get_running_loop()

    def in_thread():
        work = ctx.deps.call_agent("helper", "x", ctx)
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    return await asyncio.to_thread(in_thread)

LOOP = []

@tools.tool_plain
async def before() -> str:
    LOOP.append(asyncio.get_running_loop())
    return "noted"

@tools.tool
def hands_over_too(ctx: RunContext) -> str:
    work = ctx.deps.call_agent("helper", "x", ctx)
    return asyncio.run_coroutine_threadsafe(work, LOOP[0]).result()

class Others(WrapperToolset):
    # of which nobody says whether they run in a thread

    async def get_tools(self, ctx):
        tools = await super().get_tools(ctx)
        names = ("toolset", "tool_def", "max_retries", "args_validator")
        return {
            name: ToolsetTool(**{each: getattr(tool, each) for each in names}) for name, tool in tools.items()
        }

    async def call_tool(self, name, tool_args, ctx, tool):
        return await self.wrapped.call_tool(name, tool_args, ctx, (await self.wrapped.get_tools(ctx))[name])

waiting = FunctionToolset(id="waiting")

@waiting.tool_plain
async def waits() -> str:
    await asyncio.sleep(3600)
    return "waited"

waiting = Others(waiting)
"""

NAMES = ("removes", "removes_too", "grows", "grows_too", "before", "hands_over", "hands_over_too")


def team() -> Graph:
    declared: Any = {name: ["x.tools"] for name in NAMES}
    return graph(
        worker("main", "tools", "waiting", "helper"),
        worker("helper", "tools"),
        toolset("tools", "tools.py:tools", **declared),
        toolset("waiting", "tools.py:waiting", waits=["x.tools"]),
        approvals={"x.tools": "allowed"},
    )


def outcome_of(root: Path, seconds: float = 30) -> RunOutcome:
    """The outcome of the run; a run that hangs fails the test instead."""
    team_graph = team()

    async def work() -> RunOutcome:
        with Runs(root).create("r") as journal:
            options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({})))
            going = run(
                with_code(team_graph, root),
                root=root,
                prompts=prompts(team_graph),
                entry="go",
                options=options,
            )
            return await asyncio.wait_for(going, seconds)

    return asyncio.run(work())


@pytest.mark.parametrize("tool", ["removes", "removes_too"])
def test_a_journal_that_goes_while_a_tool_runs_ends_the_run(tmp_path: Path, tool: str) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script(tmp_path, main=[[(tool, {})], "the model went on"], helper=[])
    outcome = outcome_of(tmp_path)
    assert outcome.status == "failed"
    assert "was removed or replaced while the run went on" in (outcome.error or "")


@pytest.mark.parametrize("tool", ["grows", "grows_too"])
def test_a_result_that_is_too_large_for_the_journal_ends_the_run(tmp_path: Path, tool: str) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script(tmp_path, main=[[(tool, {})], "the model went on"], helper=[])
    outcome = outcome_of(tmp_path)
    assert outcome.status == "failed"
    assert "too much for one entry of the journal" in (outcome.error or "")


@pytest.mark.parametrize("tool", ["hands_over", "hands_over_too"])
def test_it_ends_the_run_from_a_worker_that_a_thread_of_a_tool_called(tmp_path: Path, tool: str) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script(
        tmp_path,
        main=[[("before", {})], [(tool, {})], "the model went on"],
        helper=[[("removes_too", {})], "the model went on"],
    )
    outcome = outcome_of(tmp_path)
    assert outcome.status == "failed"
    assert "was removed or replaced while the run went on" in (outcome.error or "")


def test_it_does_not_wait_for_a_call_that_runs_in_no_thread(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script(tmp_path, main=[[("waits", {}), ("removes_too", {})], "the model went on"], helper=[])
    assert "was removed or replaced while the run went on" in (outcome_of(tmp_path).error or "")


@pytest.mark.long
def test_nothing_is_reported_of_errors_that_nobody_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    calls: Any = [("removes", {}), ("removes_too", {}), ("grows", {})]
    script(tmp_path, main=[calls, "the model went on"], helper=[])
    assert outcome_of(tmp_path).status == "failed"
    gc.collect()
    assert caplog.records == []
