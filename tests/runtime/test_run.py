"""A whole run: how it starts, how it ends, and that two know nothing of each other."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.inventory import Inventory
from llmdo.graph.offers import list_tools
from llmdo.graph.toolset import Toolset
from llmdo.policy.authority import Capability
from llmdo.runtime.recording.keeping import keeping
from llmdo.runtime.telemetry.events import Event, RunFinished
from tests.support.building import HERE, go, graph, script, toolset, use, worker

COUNTING = """
from pydantic_ai.toolsets import FunctionToolset
import asyncio, os, signal

counter = FunctionToolset(id="counter")
seen = []

@counter.tool_plain
async def count() -> int:
    seen.append(1)
    number = len(seen)
    await asyncio.sleep(0.01)
    return number

@counter.tool_plain
async def interrupt() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(30)
    return "late"

@counter.tool_plain
async def sleep() -> str:
    await asyncio.sleep(30)
    return "late"
"""

COUNTER = toolset("counter", "tools.py:counter", count=[], interrupt=[], sleep=[])


def test_ctrl_c_is_raised_when_the_journal_has_what_was_used(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(COUNTING)
    script(tmp_path, main=[[("helper", {"input": "x"})]], helper=[[("interrupt", {})]])
    events: list[Event] = []
    team_graph = graph(worker("main", "helper"), worker("helper", "counter"), COUNTER)
    with keeping(tmp_path, "r1", {}) as recorder:
        with pytest.raises(KeyboardInterrupt):
            go(team_graph, tmp_path, on_event=events.append, recorder=recorder)
        end = recorder.journal.last("end")
    assert end is not None
    assert (end.outcome, end.data["output"]) == ("interrupted", None)
    assert end.data["error"] == "the run was interrupted"
    assert end.data["usage"]["requests"] == 2
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "interrupted"


@pytest.mark.long
def test_a_run_that_takes_too_long_fails_with_the_limit(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(COUNTING)
    script(tmp_path, main=[[("helper", {"input": "x"})]], helper=[[("sleep", {})]])
    team_graph = graph(worker("main", "helper"), worker("helper", "counter"), COUNTER, limits={"seconds": 3})
    outcome = go(team_graph, tmp_path)
    assert (outcome.status, outcome.error) == ("failed", "the run took longer than 3 seconds")
    assert outcome.usage.requests == 2


def test_the_input_is_the_callers_else_the_entrys(tmp_path: Path) -> None:
    script(tmp_path, main=["{prompt}"])
    assert go(graph(worker("main"), input="from the file"), tmp_path).output == "from the file"
    assert go(graph(worker("main"), input="from the file"), tmp_path, input="given").output == "given"
    with pytest.raises(LlmdoError, match="needs an input"):
        go(graph(worker("main"), input=None), tmp_path)


def test_a_worker_sees_its_own_prompt_and_nothing_of_its_caller(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "def repeat(messages, info):\n"
        "    return ModelResponse(parts=[TextPart(f'{len(messages)} {messages[0].instructions}')])\n"
        "helper = FunctionModel(repeat)\n"
    )
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"])
    team_graph = graph(worker("main", "helper"), worker("helper", model="python:own.py:helper"))
    assert go(team_graph, tmp_path).output == "[success: 1 You are helper.]"


def test_an_mcp_server_that_nobody_reviewed_is_refused_before_anything_starts(tmp_path: Path) -> None:
    script(tmp_path, main=["x"], helper=["x"])
    server = Toolset(name="github", kind="mcp", at=HERE)
    team_graph = graph(worker("main", "helper"), worker("helper", "github"), server)
    with pytest.raises(LlmdoError, match="nobody has reviewed what the MCP server `github` offers"):
        go(team_graph, tmp_path)
    unreached = graph(worker("main"), worker("helper", "github"), server)
    assert go(unreached, tmp_path).output == "x"


def test_a_toolset_that_cannot_be_loaded_is_refused_before_anything_starts(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "x"], helper=["x"])
    team_graph = graph(
        worker("main", "helper"), worker("helper", "calc"), toolset("calc", "tools.py:calc", add=[])
    )
    with pytest.raises(LlmdoError, match=r"tools\.py"):
        go(team_graph, tmp_path)


def test_the_inventory_is_every_tool_below_the_entry() -> None:
    team_graph = graph(
        worker("main", "helper", use("filesystem", read=["input/**"])),
        worker("helper", "counter", attachments={"max": 0}),
        worker("apart", "counter"),
        toolset("counter", "tools.py:counter", count=["x.counter.cpu"]),
    )
    offered = [
        (listed.worker, listed.toolset, listed.tool)
        for listed in list_tools(team_graph, team_graph.entries["go"])
    ]
    assert offered == [
        ("helper", "counter", "count"),
        ("main", "filesystem", "list_files"),
        ("main", "filesystem", "read_file"),
        ("main", "helper", "helper"),
    ]
    by_tool = {
        listed.tool: listed.capabilities for listed in list_tools(team_graph, team_graph.entries["go"])
    }
    assert by_tool["helper"] == (Capability("agent.delegate"),)
    assert by_tool["read_file"] == (
        Capability("fs.read", "input/**"),
        Capability("fs.read.protected", "input/**"),
    )


def test_the_files_that_govern_a_run_are_its_workers_and_its_code() -> None:
    team_graph = graph(worker("main"), COUNTER, function="entries.py:nightly")
    team_graph = dataclasses.replace(
        team_graph,
        python_models={"python:models.py:rules": "sha256:"},
        schema_sources={"schemas.py": "sha256:"},
    )
    assert Inventory.of(team_graph).governing == {
        "workers/main.worker",
        "tools.py",
        "entries.py",
        "models.py",
        "schemas.py",
    }


@pytest.mark.parametrize("module", ["llmdo.graph.models", "llmdo.graph.toolkit"])
def test_what_check_needs_does_not_import_the_agent_loop(module: str) -> None:
    code = f"import {module}, sys; sys.exit('pydantic_ai' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
