"""Nothing runs before its decision is on disk: observed at every store, whatever it is that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.toolset import Tool
from llmdo.journal import RunIndex, Runs
from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, ApproveAll, Question, RunOptions, RunOutcome
from llmdo.runtime.approvals.approver import Approver
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import Event, ToolFinished
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.journal.test_conformance import STORES
from tests.support.building import go, graph, script, toolset, use, worker
from tests.support.mcp_workspaces import with_installed
from tests.support.running import run_sync

from . import forging
from .durability import Observer, observed

TOOLS = """
from pathlib import Path
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset
from tests.runtime.durability import happened

tools = FunctionToolset(id="tools")

@tools.tool_plain
def effect() -> str:
    happened("effect")
    return "did"

@tools.tool_plain
def look() -> str:
    happened("look")
    return "looked"

@tools.tool
async def calls(ctx: RunContext) -> str:
    return await ctx.deps.call_agent("helper", "from code", ctx)

@tools.tool
async def loads(ctx: RunContext) -> str:
    return str(await ctx.deps.load_attachment("a.txt"))

@tools.tool
async def spawns(ctx: RunContext) -> str:
    ctx.deps.spawn("helper")
    happened("spawned")
    return "spawned"
"""

MODEL = """
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from tests.runtime.durability import happened

def answer(messages, info):
    happened("delegate")
    return ModelResponse(parts=[TextPart("helped")])

helper = FunctionModel(answer)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "helping.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "a.txt").write_text("a")
    return tmp_path


@pytest.fixture(params=STORES)
def runs(request: pytest.FixtureRequest, root: Path) -> RunIndex:
    return STORES[request.param](root)


def run(
    runs: RunIndex, root: Path, call: str, arguments: dict[str, Any] | None = None, **more: Any
) -> tuple[RunOutcome, Observer]:
    """A run whose model makes one call, and what was seen of its journal."""
    script(root, main=[[(call, arguments or {})], "{results}"])
    names = {name: ["x.tools.effect"] for name in ("effect", "calls", "loads", "spawns")}
    team_graph = graph(
        worker("main", "tools", "helper", use("filesystem", read=["**"])),
        worker("helper", model="python:helping.py:helper"),
        toolset("tools", "tools.py:tools", look=[], **names),
        approvals={"x.tools": "allowed"},
    )
    with observed(runs, **more) as (recorder, observer):
        return go(team_graph, root, run="r", recorder=recorder), observer


def test_a_tool_runs_when_its_decision_and_its_start_are_forced_to_the_disk(
    runs: RunIndex, root: Path
) -> None:
    outcome, observer = run(runs, root, "effect")
    assert outcome.output == "[success: did]", outcome
    _, forced = observer.seen["effect"]
    assert {("main/effect#1", "decision"), ("main/effect#1", "started")} <= forced


def test_a_tool_that_may_run_twice_runs_when_its_decision_outlives_the_process(
    runs: RunIndex, root: Path
) -> None:
    outcome, observer = run(runs, root, "look")
    assert outcome.output == "[success: looked]", outcome
    committed, _ = observer.seen["look"]
    assert ("main/look#1", "decision") in committed


class Person:
    """Somebody who says yes to whatever is asked."""

    async def ask(self, question: Question) -> Answer:
        return Answer(allowed=True, by="ada")


@pytest.mark.parametrize(
    ("approver", "kept"), [(Person(), {"asked", "answered"}), (ApproveAll(), {"answered"})]
)
def test_a_tool_runs_when_the_answer_of_a_person_is_forced_to_the_disk(
    runs: RunIndex, root: Path, approver: Approver, kept: set[str]
) -> None:
    """One that may run twice, so that nothing else is forced; an option of the run would answer again."""
    script(root, main=[[("look", {})], "{results}"])
    look = Tool(name="look", capabilities=(Capability("x.tools.look"),), retry="safe")
    team_graph = graph(worker("main", "tools"), toolset("tools", "tools.py:tools", look=look))
    with observed(runs) as (recorder, observer):
        outcome = go(team_graph, root, run="r", recorder=recorder, approver=approver)
        [given] = observer.journal.entries("answered")
    assert outcome.output == "[success: looked]", outcome
    assert given.digest, "it is not told which call the answer is about"
    committed, forced = observer.seen["look"]
    about = {
        kind: (path, kind) in forced
        for path, kind in committed
        if path == "main/look#1" and kind in ("asked", "answered")
    }
    assert about == dict.fromkeys(kept, isinstance(approver, Person))


def test_what_follows_a_commit_that_was_not_forced_is_forced_again(runs: RunIndex, root: Path) -> None:
    script(root, main=[[("look", {})], [("effect", {})], "done"])
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", look=[], effect=["x.tools.effect"]),
        approvals={"x.tools": "allowed"},
    )
    with observed(runs) as (recorder, observer):
        go(team_graph, root, run="r", recorder=recorder)
    _, forced = observer.seen["effect"]
    assert {("main/look#1", "finished"), ("main/effect#1", "started")} <= forced


@pytest.mark.parametrize("call", ["look", "effect"])
def test_a_result_is_forced_to_the_disk_where_nothing_else_keeps_its_tool_from_running_twice(
    runs: RunIndex, root: Path, call: str
) -> None:
    script(root, main=[[(call, {})], "done"])
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", look=[], effect=["x.tools.effect"]),
        approvals={"x.tools": "allowed"},
    )
    unforced = []

    def hear(event: Event) -> None:
        if isinstance(event, ToolFinished):
            journal = observer.journal
            assert journal.get(f"main/{call}#1", "finished")
            assert not journal.has_uncommitted
            unforced.append(journal.needs_force(journal.written, "forced"))

    with observed(runs) as (recorder, observer):
        assert go(team_graph, root, run="r", recorder=recorder, on_event=hear).output == "done"
    assert unforced == [call == "effect"]


def test_a_delegate_starts_when_its_decision_outlives_the_process(runs: RunIndex, root: Path) -> None:
    outcome, observer = run(runs, root, "helper", {"input": "x"})
    assert outcome.output == "[success: helped]", outcome
    committed, _ = observer.seen["delegate"]
    assert ("main/helper#1", "decision") in committed


@pytest.mark.parametrize(
    ("call", "what", "path"),
    [("calls", "delegate", "main/calls#1/helper#1"), ("spawns", "spawned", "main/spawns#1/helper#1")],
)
def test_a_delegate_that_code_calls_starts_when_its_decision_is_forced_to_the_disk(
    runs: RunIndex, root: Path, call: str, what: str, path: str
) -> None:
    outcome, observer = run(runs, root, call)
    assert outcome.status == "completed", outcome
    _, forced = observer.seen[what]
    assert (path, "decision") in forced


def test_an_attachment_is_read_when_its_decision_is_forced_to_the_disk(runs: RunIndex, root: Path) -> None:
    outcome, observer = run(runs, root, "loads")
    assert "a.txt" in (outcome.output or ""), outcome
    _, forced = observer.seen["open a.txt"]
    assert ("main/load_attachment", "decision") in forced


def test_a_tool_runs_again_when_the_new_decision_is_forced_to_the_disk(root: Path) -> None:
    run(Runs(root), root, "effect")
    forging.cut(root, "finished", "decision")
    outcome, observer = run(
        Runs(root), root, "effect", new=False, replay_mode=ReplayMode(again=frozenset({"main/effect#1"}))
    )
    assert outcome.output == "[success: did]", outcome
    _, forced = observer.seen["effect"]
    assert ("main/effect#1", "decision") in forced


LOOKS = """import sqlite3
with sqlite3.connect("file:.llmdo/runs/r.sqlite?mode=ro", uri=True) as journal:
    found = journal.execute("SELECT path FROM entry WHERE kind = 'decision'").fetchall()
open("seen.txt", "a").write(repr(found))
"""


@pytest.mark.long
@pytest.mark.parametrize("locked", [False, True])
def test_a_server_starts_when_its_decision_is_on_disk(tmp_path: Path, *, locked: bool) -> None:
    root, server = with_installed(tmp_path)
    lock.write(root, locking.derive_with_servers(project.read(root)).graph)
    server.write_text(server.read_text().replace("import json\n", f"import json\n{LOOKS}", 1))
    script(root, main=["done"] if locked else [[("echo", {"text": "a"})], "{results}"])
    read = project.read(root)
    with observed(Runs(root)) as (recorder, _):
        options = RunOptions(run="r", input="go", recorder=recorder, locked=locked)
        outcome = run_sync(read.graph, root=root, prompts=read.prompts, entry="main", options=options)
    assert outcome.status == "completed", outcome
    assert "'main/raw(start)'" in (root / "seen.txt").read_text()
