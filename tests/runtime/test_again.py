"""A tool that ended the run with an error runs once more where somebody says so, and nothing else does."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.graph.resolved import Graph
from llmdo.journal import Runs
from llmdo.journal.summary import failed, unfinished
from llmdo.runtime import Answer, Question, RunOptions, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, prompts, script, toolset, with_code, worker
from tests.support.laws import tried
from tests.support.running import run_sync

TOOLS = """
from pathlib import Path
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
HERE = Path(__file__).parent

async def attempt(name):
    with (HERE / "effects.log").open("a") as log:
        log.write(name + "\\n")
    left = HERE / f"{name}.failures"
    if left.exists() and left.read_text():
        left.write_text(left.read_text()[1:])
        raise ZeroDivisionError("oh")
    return f"did {name}"

@tools.tool_plain
async def work(name: str) -> str:
    return await attempt(name)

@tools.tool
async def asks(ctx: RunContext, name: str) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return await attempt(name)

@tools.tool
async def calls(ctx: RunContext, name: str) -> str:
    said = await ctx.deps.call_agent("helper", "go", ctx)
    return said + await attempt(name)
"""


class Counting:
    """Says yes, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, question: Question) -> Answer:
        del question
        self.asked += 1
        return Answer(allowed=True, by="counting")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


def team(rule: str = "allowed", **limits: Any) -> Graph:
    declared = {name: ["x.tools.effect"] for name in ("work", "asks", "calls")}
    return graph(
        worker("main", "tools", "helper"),
        worker("helper", "tools"),
        toolset("tools", "tools.py:tools", **declared),
        approvals={"x.tools": rule},
        limits=limits,
    )


def plan(root: Path, *steps: Any, helper: Sequence[Any] = ("helped",)) -> None:
    """What the workers do; `main` answers with the results."""
    script(root, main=[*steps, "{results}"], helper=helper)


def fails(root: Path, name: str, times: int) -> None:
    """Makes the next `times` attempts of that name raise."""
    (root / f"{name}.failures").write_text("x" * times)


def go(team_graph: Graph, root: Path, replay_mode: ReplayMode | None = None, **options: Any) -> RunOutcome:
    """Begins the run, or goes on with it."""
    runs = Runs(root)
    with (runs.open if runs.names() else runs.create)("r") as journal:
        recorder = Recorder(journal, Redaction.of({}), replay_mode)
        return run_sync(
            with_code(team_graph, root),
            root=root,
            prompts=prompts(team_graph),
            entry="go",
            options=RunOptions(run="r", recorder=recorder, **options),
        )


def again(*paths: str) -> ReplayMode:
    return ReplayMode(again=frozenset(paths))


def effects(root: Path) -> list[str]:
    return (root / "effects.log").read_text().splitlines()


def decisions(root: Path, path: str) -> list[str]:
    with Runs(root).read("r") as journal:
        return [entry.outcome for entry in journal.entries("decision") if entry.path == path]


def test_a_tool_that_raised_is_reported_as_it_was_until_it_is_to_run_again(root: Path) -> None:
    plan(root, [("work", {"name": "a"})], [("work", {"name": "b"})])
    fails(root, "b", 2)
    team_graph = team()
    first = go(team_graph, root)
    assert (first.status, first.hint) == ("failed", "`llmdo resume r --again main/work#2` runs it again")
    assert "raised ZeroDivisionError: oh (tools.py:" in (first.error or "")
    failed_again = go(team_graph, root)
    assert (failed_again.status, failed_again.error, failed_again.hint, failed_again.frames) == (
        "failed",
        first.error,
        first.hint,
        first.frames,
    )
    assert effects(root) == ["a", "b"]
    assert go(team_graph, root, again("main/work#2")).error == first.error
    assert effects(root) == ["a", "b", "b"]
    done = go(team_graph, root, again("main/work#2"))
    assert done.output == "[success: did b]"
    assert effects(root) == ["a", "b", "b", "b"]
    assert decisions(root, "main/work#2") == ["allowed"] * 3, "each execution has a decision of its own"
    assert done.usage == go(team_graph, root).usage == go(team_graph, root, ReplayMode(live=False)).usage
    assert go(team_graph, root, again("main/work#2")).output == done.output
    assert len(effects(root)) == 4


def test_the_rules_of_today_decide_on_the_new_attempt(root: Path) -> None:
    plan(root, [("work", {"name": "a"})])
    fails(root, "a", 1)
    go(team(), root)
    refused = go(team("needs_approval"), root, again("main/work#1"))
    assert "failed: `work` needs approval" in (refused.output or "")
    assert effects(root) == ["a"]
    assert decisions(root, "main/work#1") == ["allowed", "denied"]


def test_an_answer_to_the_very_question_still_counts(root: Path) -> None:
    plan(root, [("asks", {"name": "a"})])
    fails(root, "a", 2)
    team_graph, person = team(), Counting()
    assert go(team_graph, root, approver=person).status == "failed"
    assert go(team_graph, root, again("main/asks#1"), approver=person).status == "failed"
    done = go(team_graph, root, again("main/asks#1"), approver=person)
    assert (done.output, effects(root), person.asked) == ("[success: did a]", ["a", "a", "a"], 1)
    assert go(team_graph, root, ReplayMode(live=False)).output == done.output


def test_what_a_worker_returned_to_the_tool_is_not_asked_for_again(root: Path) -> None:
    plan(root, [("calls", {"name": "a"})], helper=[[("work", {"name": "h"})], "helped "])
    fails(root, "a", 1)
    team_graph = team()
    go(team_graph, root)
    done = go(team_graph, root, again("main/calls#1"))
    assert (done.output, effects(root)) == ("[success: helped did a]", ["h", "a", "a"])
    assert done.usage == go(team_graph, root, ReplayMode(live=False)).usage


@pytest.mark.long
def test_what_a_caller_was_told_of_does_not_run_again(root: Path) -> None:
    plan(root, [("helper", {"input": "x"})], helper=[[("work", {"name": "h"})], "helped"])
    fails(root, "h", 1)
    first = go(team(), root)
    assert "failed: `helper` failed: the tool `work` of worker `helper` raised" in (first.output or "")
    with Runs(root).read("r") as journal:
        assert failed(journal) == {}
    assert go(team(), root, again("main/helper#1/work#1")).output == first.output
    assert effects(root) == ["h"]


@pytest.mark.long
@tried(20)
@given(failures=st.lists(st.integers(0, 2), min_size=1, max_size=3), together=st.booleans())
def test_every_attempt_was_asked_for(failures: list[int], *, together: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tools.py").write_text(TOOLS)
        calls = [("work", {"name": f"t{n}"}) for n in range(len(failures))]
        plan(root, *([calls] if together else ([call] for call in calls)))
        for n, times in enumerate(failures):
            fails(root, f"t{n}", times)
        team_graph, asked = team(tool_calls=len(failures)), [f"t{n}" for n in range(len(failures))]
        outcome = go(team_graph, root)
        while outcome.status == "failed":
            with Runs(root).read("r") as journal:
                paths = failed(journal) | unfinished(journal)
            asked += [f"t{int(path.rpartition('#')[2]) - 1}" for path in paths]
            assert paths, outcome.error
            outcome = go(team_graph, root, again(*paths))
        assert outcome.status == "completed", outcome.error
        done = Counter(effects(root))
        assert done <= Counter(asked), "one that was cancelled beside another had perhaps not begun"
        assert done == {f"t{n}": times + 1 for n, times in enumerate(failures)}
        assert together or done == Counter(asked)
        assert (
            go(team_graph, root, ReplayMode(live=False)).output
            == go(team_graph, root).output
            == outcome.output
        )
        assert Counter(effects(root)) == done
