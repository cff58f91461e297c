"""A run and its journal: what is recorded is neither asked nor executed again, whatever it was."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.resolved import Graph
from llmdo.graph.toolset import Retry, Tool
from llmdo.journal import Runs
from llmdo.journal.questions import VALID_SECONDS, Answers, add_answer, give, waiting
from llmdo.journal.summary import summary
from llmdo.journal.tree import tree
from llmdo.policy.authority import Capability
from llmdo.render.runs import as_json, as_text
from llmdo.runtime import Answer, ApproveAll, Question, RunOptions, RunOutcome
from llmdo.runtime.approvals.approver import AskLater
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import Event, ToolFinished
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support import forking
from tests.support.building import graph, prompts, rules, script, toolset, use, with_code, worker
from tests.support.forging import forging
from tests.support.running import run_sync

TOOLS = """
import asyncio
import os
from dataclasses import dataclass
import os
import subprocess
import sys
from pathlib import Path
from pydantic import BaseModel, TypeAdapter
from pydantic_ai import BinaryContent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools", max_retries=3)
LOG = Path(__file__).with_name("effects.log")

class Point(BaseModel):
    x: int
    y: float | None = None

def note(text):
    with LOG.open("a") as log:
        log.write(text + "\\n")
    if os.environ.get("DIE_AT") == text:
        os.kill(os.getpid(), 9)

@tools.tool_plain
def effect(name: str) -> str:
    note(name)
    return f"did {name}"

@tools.tool_plain
def fails() -> str:
    note("fails")
    raise ToolFailed("it failed")

@tools.tool_plain
def retries() -> str:
    note("retries")
    raise ModelRetry("try otherwise")

@tools.tool_plain
def invalid() -> str:
    note("invalid")
    return TypeAdapter(int).validate_python("no number")

@tools.tool_plain
def point() -> Point:
    note("point")
    return Point(x=1)

@tools.tool_plain
def image() -> BinaryContent:
    note("image")
    return BinaryContent(bytes(range(256)), media_type="image/png")

@tools.tool_plain
def rich() -> ToolReturn:
    note("rich")
    return ToolReturn(return_value={"a": None}, content=["see", BinaryContent(b"12", media_type="image/png")])

@tools.tool
def asks(ctx: RunContext) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    note("asks")
    return "asked"

@tools.tool
async def calls(ctx: RunContext) -> str:
    note("calls")
    return await ctx.deps.call_agent("helper", "from code", ctx)

@tools.tool_plain
def crashes() -> str:
    note("crashes")
    raise ZeroDivisionError("oh")

class Scoped(FunctionToolset):
    async def get_capabilities(self, name, tool_args, ctx, config):
        return {f"x.named:{tool_args['name']}"}

def named(name: str) -> str:
    note(name)
    return f"did {name}"

scoped = Scoped(tools=[named], id="scoped")
"""

ALL = ("effect", "fails", "retries", "invalid", "point", "image", "rich", "asks", "calls", "crashes")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def tools(**more: Any) -> Any:
    declared = {name: ["x.tools.effect"] for name in ALL}
    declared["calls"] = ["x.tools.effect"]
    return toolset("tools", "tools.py:tools", **{**declared, **more})


def allowing(*members: Any, **more: Any) -> Graph:
    return graph(*members, tools(), approvals={"x.tools": "allowed"}, **more)


def start(team_graph: Graph, root: Path, run: str = "r", **options: Any) -> RunOutcome:
    with Runs(root).create(run) as journal:
        recorder = Recorder(journal, Redaction.of({}))
        return run_sync(
            with_code(team_graph, root),
            root=root,
            prompts=prompts(team_graph),
            entry="go",
            options=RunOptions(run=run, recorder=recorder, **options),
        )


def go_on(
    team_graph: Graph, root: Path, run: str = "r", replay_mode: ReplayMode | None = None, **options: Any
) -> RunOutcome:
    with Runs(root).open(run) as journal:
        recorder = Recorder(journal, Redaction.of({}), replay_mode)
        return run_sync(
            with_code(team_graph, root),
            root=root,
            prompts=prompts(team_graph),
            entry="go",
            options=RunOptions(run=run, recorder=recorder, **options),
        )


def effects(root: Path) -> list[str]:
    log = root / "effects.log"
    return log.read_text().splitlines() if log.exists() else []


def broken_models(root: Path) -> None:
    """From now on no model answers, whatever it is asked."""
    text = (root / "models.py").read_text()
    (root / "models.py").write_text(
        text.replace("        step = steps[", "        1 / 0\n        step = steps[")
    )


EVERYTHING: list[Any] = [
    [("effect", {"name": "a"}), ("fails", {}), ("point", {}), ("image", {}), ("rich", {})],
    [("retries", {}), ("invalid", {}), ("effect", {"nam": "b"}), ("unknown", {})],
    [("helper", {"input": "x"}), ("helper", {"input": "y"}), ("effect", {"name": "a"}), ("calls", {})],
    "{results}",
]


def test_a_run_that_is_complete_is_repeated_without_a_model_or_a_tool(root: Path) -> None:
    script(root, main=EVERYTHING, helper=[[("effect", {"name": "h"})], "{prompt} {results}"])
    team_graph = allowing(worker("main", "tools", "helper"), worker("helper", "tools"))
    first = start(team_graph, root)
    assert first.status == "completed", first.error
    done = effects(root)
    assert len(done) == 12
    broken_models(root)
    second = go_on(team_graph, root)
    assert second == first
    assert effects(root) == done
    assert go_on(team_graph, root, replay_mode=ReplayMode(live=False)) == first


CHILD = """
import json, sys
import os
import subprocess
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.runtime.test_recording import allowing, go_on, start
from tests.support.building import worker
root = Path(sys.argv[2])
made = allowing(worker("main", "tools", "helper"), worker("helper", "tools"))
(go_on if sys.argv[3] == "resume" else start)(made, root)
"""


def die_at(root: Path, effect: str, how: str = "start") -> int:
    """Runs in a child process, which is killed when it has the effect of that name; its exit code."""
    repository = str(Path(__file__).parent.parent.parent)
    done = forking.run(
        [sys.executable, "-c", CHILD, repository, str(root), how],
        env={**os.environ, "DIE_AT": effect},
        capture_output=True,
    )
    return done.returncode


STEPS: list[Any] = [
    *([call] for calls in EVERYTHING[:3] for call in calls),
    [("helper", {"input": "x"}), ("helper", {"input": "y"})],
    "{results}",
]
EFFECTS = [
    "a",
    "fails",
    "point",
    "image",
    "rich",
    "retries",
    "invalid",
    "h",
    "h",
    "a",
    "calls",
    "h",
    "h",
    "h",
]


def stepwise(root: Path) -> Graph:
    script(root, main=STEPS, helper=[[("effect", {"name": "h"})], "{prompt} {results}"])
    return allowing(worker("main", "tools", "helper"), worker("helper", "tools"))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "effect",
    [
        "a",
        "calls",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("rich", "retries", "invalid", "h")),
    ],
)
def test_a_killed_run_goes_on_where_it_stopped(root: Path, effect: str) -> None:
    team_graph = stepwise(root)
    assert die_at(root, effect) == -9
    before = effects(root)
    assert before[-1] == effect
    stopped = go_on(team_graph, root)
    assert stopped.status == "interrupted"
    assert "was started and did not finish: it may have taken effect" in (stopped.error or "")
    assert effects(root) == before
    with Runs(root).read("r") as journal:
        finished = {entry.path for entry in journal.entries("finished")}
        unfinished = {entry.path for entry in journal.entries("started")} - finished
    outcome = go_on(team_graph, root, replay_mode=ReplayMode(given_up=frozenset(unfinished)))
    assert outcome.status == "completed", outcome.error
    expected = sorted(EFFECTS)
    if effect == "calls":
        expected.remove("h")  # the effect of the worker that the tool would have called
    assert sorted(effects(root)) == expected
    assert go_on(team_graph, root, replay_mode=ReplayMode(live=False)).output == outcome.output
    again = go_on(team_graph, root)
    assert (again.output, sorted(effects(root))) == (outcome.output, expected)


@pytest.mark.long
def test_a_tool_that_did_not_finish_runs_again_where_that_is_asked_for(root: Path) -> None:
    team_graph = stepwise(root)
    assert die_at(root, "rich") == -9
    outcome = go_on(team_graph, root, replay_mode=ReplayMode(again=frozenset({"main/rich#1"})))
    assert outcome.status == "completed", outcome.error
    assert sorted(effects(root)) == sorted([*EFFECTS, "rich"])


@pytest.mark.parametrize(
    ("retry", "marked"), [("safe", ["look"]), (None, ["effect"]), ("ask", ["effect", "look"])]
)
def test_what_the_manifest_says_of_running_a_tool_twice_counts(
    root: Path, retry: Retry | None, marked: list[str]
) -> None:
    (root / "tools.py").write_text(TOOLS + LOOK, encoding="utf-8")
    script(root, main=[[("effect", {"name": "a"})], [("look", {})], "done"])
    effect = Tool(name="effect", capabilities=(Capability("x.tools.effect"),), retry=retry)
    look = Tool(name="look", capabilities=(), retry="ask" if retry else None)
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", effect=effect, look=look),
        approvals={"x.tools": "allowed"},
    )
    assert start(team_graph, root).status == "completed"
    with Runs(root).read("r") as journal:
        assert [entry.path.split("/")[1].split("#")[0] for entry in journal.entries("started")] == marked


LOOK = """
@tools.tool_plain(metadata={"retry": "safe"})
def look() -> str:
    return "seen"
"""


@pytest.mark.long
def test_another_prompt_or_tool_is_a_divergence_that_says_so(root: Path) -> None:
    team_graph = stepwise(root)
    start(team_graph, root)
    other = allowing(worker("main", "tools", "helper"), worker("helper"))
    outcome = go_on(other, root)
    assert outcome.status == "failed"
    assert outcome.error == "main/helper#1: request 1 is not the recorded one: its tools changed"
    with Runs(root).open("r") as journal:
        options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({})))
        changed_prompts = {**prompts(team_graph), "helper": "Other."}
        outcome = run_sync(
            with_code(team_graph, root), root=root, prompts=changed_prompts, entry="go", options=options
        )
    assert outcome.error == "main/helper#1: request 1 is not the recorded one: its prompt changed"
    with Runs(root).open("r") as journal:
        options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({}), ReplayMode(drifted=True)))
        outcome = run_sync(
            with_code(team_graph, root), root=root, prompts=changed_prompts, entry="go", options=options
        )
    assert outcome.status == "completed"


def test_another_input_is_a_divergence_whatever_is_accepted(root: Path) -> None:
    team_graph = stepwise(root)
    start(team_graph, root)
    outcome = go_on(team_graph, root, replay_mode=ReplayMode(drifted=True), input="other")
    assert outcome.error == "main: request 1 is not the recorded one: input differs from the recorded input"


OF_TODAY = """
from pathlib import Path
from typing import Annotated
from pydantic import BeforeValidator
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
tools = FunctionToolset(id="tools")

@tools.tool_plain
def effect(name: Annotated[str, BeforeValidator(lambda name: name + HERE.joinpath("day").read_text())]) -> str:
    with HERE.joinpath("effects.log").open("a") as log:
        log.write(name + "\\n")
    return f"did {name}"
"""


def test_other_arguments_than_those_that_were_executed_are_a_divergence(root: Path) -> None:
    """Code of a tool may make something else of the same words of a model."""
    (root / "tools.py").write_text(OF_TODAY, encoding="utf-8")
    (root / "day").write_text("1")
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", effect=["x.tools.effect"]),
        approvals={"x.tools": "allowed"},
    )
    assert start(team_graph, root).output == "[success: did a1]"
    (root / "day").write_text("2")
    other = go_on(team_graph, root)
    assert (other.status, other.diverged) == ("failed", True)
    assert other.error == "main/effect#1: `effect` is called with other arguments than recorded"
    accepted = go_on(team_graph, root, replay_mode=ReplayMode(drifted=True))
    assert accepted.output == "[success: did a1]"
    assert effects(root) == ["a1"]


OPAQUE = """
@tools.tool_plain
def opaque() -> object:
    note("opaque")
    return object()
"""


def test_a_result_that_cannot_be_kept_ends_the_run_and_is_not_had_again(root: Path) -> None:
    (root / "tools.py").write_text(TOOLS + OPAQUE, encoding="utf-8")
    script(root, main=[[("opaque", {})], "{results}"])
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", opaque=["x.tools.effect"]),
        approvals={"x.tools": "allowed"},
    )
    for outcome in (start(team_graph, root), go_on(team_graph, root)):
        assert outcome.status == "failed"
        assert (outcome.error or "").startswith("main/opaque#1: the result cannot be written as JSON: ")
    assert effects(root) == ["opaque"]


def test_a_delegate_that_failed_has_failed_for_good(root: Path) -> None:
    script(root, main=[[("helper", {"input": "x"})], "{results}"], helper=[])
    team_graph = allowing(worker("main", "helper"), worker("helper"))
    first = start(team_graph, root)
    assert "`helper` failed: the model" in str(first.output)
    script(root, main=[], helper=["better now"])
    again = go_on(team_graph, root)
    assert (again.status, again.output, again.denied) == (first.status, first.output, first.denied)
    assert (first.usage.requests, again.usage.requests) == (3, 3)  # the one that failed counts as well


def test_a_request_that_failed_is_asked_again(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})]])
    team_graph = allowing(worker("main", "tools"))
    assert start(team_graph, root).status == "failed"
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    assert go_on(team_graph, root).output == "[success: did a]"
    assert effects(root) == ["a"]


def test_a_budget_counts_what_was_used_before_a_run_went_on(root: Path) -> None:
    steps: list[Any] = [[("effect", {"name": name})] for name in "abcd"]
    script(root, main=steps[:2])
    team_graph = allowing(worker("main", "tools"), limits={"requests": 4})
    assert start(team_graph, root).status == "failed"
    script(root, main=[*steps, "done"])
    outcome = go_on(team_graph, root)
    assert "limit of 4 requests is reached" in (outcome.error or "")
    assert effects(root) == ["a", "b", "c"]  # the third request failed, and was sent all the same
    assert go_on(team_graph, root).usage.requests == 4


def test_a_journal_that_cannot_be_written_ends_the_run_and_no_model_is_told(root: Path) -> None:
    team_graph = stepwise(root)
    with Runs(root).create("r") as journal:
        recorder = Recorder(journal, Redaction.of({}))

        def fill(event: Event) -> None:
            if isinstance(event, ToolFinished):
                journal._connection.execute("PRAGMA max_page_count = 1")

        outcome = run_sync(
            with_code(team_graph, root),
            root=root,
            prompts=prompts(team_graph),
            entry="go",
            options=RunOptions(run="r", recorder=recorder, on_event=fill),
        )
    assert outcome.status == "interrupted"
    assert "cannot be written: the disk is full" in (outcome.error or "")
    assert len(effects(root)) < len(EFFECTS)


ANSWER = {"path": "main/effect#1", "by": "ada"}
NAMED = {"path": "main/named#1", "by": "ada"}


class Changes:
    """A person who changes the first call, and lets the changed one run."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.arguments)
        if question.arguments == {"name": "a"}:
            return Answer(allowed=False, by="a person", arguments={"name": "b"}, at_terminal=True)
        return Answer(allowed=True, by="a person", at_terminal=True)


def test_a_call_that_a_person_changed_is_repeated_as_it_ran(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools())
    person = Changes()
    first = start(team_graph, root, approver=person)
    assert person.asked == [{"name": "a"}, {"name": "b"}]
    assert (first.output, effects(root)) == ("[success: did b]", ["b"])
    broken_models(root)
    assert go_on(team_graph, root) == first
    assert go_on(team_graph, root, replay_mode=ReplayMode(live=False)) == first
    assert effects(root) == ["b"]


class Undecided:
    """A person who changes a call there and back some times, and lets it run then."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    async def ask(self, question: Question) -> Answer:
        self.left -= 1
        if self.left < 0:
            return Answer(allowed=True, by="a person", at_terminal=True)
        other = {"a": "b", "b": "a"}[str(question.arguments["name"])]
        return Answer(allowed=False, by="a person", arguments={"name": other}, at_terminal=True)


def test_a_call_may_be_changed_there_and_back_and_each_change_counts_once(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools())
    person = Undecided(5)
    first = start(team_graph, root, approver=person)
    assert person.left == -1, "each question was asked"
    assert (first.output, effects(root)) == ("[success: did b]", ["b"])
    broken_models(root)
    assert go_on(team_graph, root) == first


@pytest.mark.long
def test_a_change_that_is_given_later_is_judged_anew_and_asked_about_again(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools())
    assert start(team_graph, root, approver=AskLater()).status == "waiting"
    for instead in ("b", "a", "c"):
        with Runs(root).open("r") as journal:
            (question,) = waiting(journal).values()
            answers = Answers(records=[{**ANSWER, "digest": question.key, "instead": {"name": instead}}])
            ((_, answer),) = give(journal, answers)
            assert (answer["allowed"], answer["arguments"]) == (False, {"name": instead})
        assert go_on(team_graph, root, approver=AskLater()).status == "waiting"
        assert effects(root) == []
    with Runs(root).open("r") as journal:
        (question,) = waiting(journal).values()
        assert (question.record["arguments"], question.record["by_tool"]) == ({"name": "c"}, True)
        assert question.record["reasons"][-1] == "a person changed its arguments"
        give(journal, Answers(records=[{**ANSWER, "digest": question.key, "allowed": True}]))
    assert go_on(team_graph, root, approver=AskLater()).output == "[success: did c]"
    assert effects(root) == ["c"]
    with Runs(root).open("r") as journal:
        changed = [call.changed for call in tree(journal)["main"].children["main/effect#1"].decisions]
    assert changed == [{"name": "b"}, {"name": "a"}, {"name": "c"}, None]


def test_what_a_person_changes_a_call_into_may_still_be_blocked(root: Path) -> None:
    script(root, main=[[("named", {"name": "a"})], "{results}"])
    hooked = Tool(name="named", capabilities=(Capability("x.named"),), hook=True)
    team_graph = graph(
        worker("main", "scoped"),
        toolset("scoped", "tools.py:scoped", named=hooked),
        approvals={"x.named:secret": "blocked"},
    )
    assert start(team_graph, root, approver=AskLater()).status == "waiting"
    with Runs(root).open("r") as journal:
        (question,) = waiting(journal).values()
        give(journal, Answers(records=[{**NAMED, "digest": question.key, "instead": {"name": "secret"}}]))
    ended = go_on(team_graph, root, approver=ApproveAll())
    assert "`named` is blocked" in (ended.output or "")
    assert effects(root) == []


def test_an_answer_that_lasts_is_taken_wherever_the_same_call_is_made_again(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], [("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools())
    assert start(team_graph, root, approver=AskLater()).status == "waiting"
    with Runs(root).open("r") as journal:
        (question,) = waiting(journal).values()
        record = {**ANSWER, "digest": question.key, "allowed": True, "lasts": True}
        give(journal, Answers(records=[record]))
    assert go_on(team_graph, root, approver=AskLater()).status == "completed"
    assert effects(root) == ["a", "a"]


class Once:
    """A person who says `always` to the first question, and answers no other."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.path)
        return Answer(allowed=len(self.asked) == 1, by="ada", at_terminal=True, lasts=len(self.asked) == 1)


@pytest.mark.long
def test_always_answers_the_same_call_in_the_process_that_goes_on_and_in_no_other_run(root: Path) -> None:
    steps: list[Any] = [[("effect", {"name": name})] for name in ("a", "a", "b")]
    script(root, main=steps[:1])
    team_graph = graph(worker("main", "tools"), tools())
    person = Once()
    assert start(team_graph, root, approver=person).status == "failed", "the model says no more"
    script(root, main=[*steps, "done"])
    assert go_on(team_graph, root, approver=person).status == "completed"
    assert (person.asked, effects(root)) == (["main/effect#1", "main/effect#3"], ["a", "a"])
    with Runs(root).read("r") as journal:
        by = [entry.data["by"] for entry in journal.entries("decision")]
    assert by == ["ada", "ada, who allowed this very call before", "ada"]
    other = Once()
    start(team_graph, root, run="other", approver=other)
    assert other.asked[0] == "main/effect#1"


def test_always_ends_after_a_week(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(root, main=[[("effect", {"name": "a"})]])
    team_graph = graph(worker("main", "tools"), tools())
    start(team_graph, root, approver=Once())
    script(root, main=[[("effect", {"name": "a"})], [("effect", {"name": "a"})], "done"])
    later = time.time() + VALID_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    person = Once()
    go_on(team_graph, root, approver=person)
    assert person.asked == ["main/effect#2"]


def test_who_goes_on_with_a_run_that_a_person_ended_is_asked_about_the_call_again(root: Path) -> None:
    class Stops:
        async def ask(self, question: Question) -> Answer:
            return Answer(allowed=False, by="a person", stops=True)

    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools())
    assert start(team_graph, root, approver=Stops()).status == "interrupted"
    assert effects(root) == []
    assert go_on(team_graph, root, approver=ApproveAll()).output == "[success: did a]"


@pytest.mark.long
@pytest.mark.parametrize(
    ("today", "message"), [("blocked", "is blocked"), ("needs_approval", "needs approval")]
)
def test_what_was_allowed_and_did_not_run_obeys_the_rules_of_today(
    root: Path, today: str, message: str
) -> None:
    script(root, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    team_graph = graph(worker("main", use("filesystem", write=["**"])), approvals={"fs.write": "allowed"})
    assert start(team_graph, root).status == "completed"
    (root / "a.txt").unlink()
    with forging(Runs(root).path("r")) as journal:  # as if it had been killed before the tool was done
        journal.execute(
            "DELETE FROM entry WHERE kind IN ('finished', 'return', 'end') OR kind = 'request' AND step = 2"
        )
    mine = rules({"fs.write:a.txt": today}, "your policy.toml")
    outcome = go_on(
        team_graph, root, replay_mode=ReplayMode(again=frozenset({"main/write_file#1"})), tightening=mine
    )
    assert f"`write_file` {message}" in (outcome.output or "")
    assert not (root / "a.txt").exists()
    broken_models(root)
    assert go_on(team_graph, root, replay_mode=ReplayMode(live=False)) == outcome, (
        "a replay, which knows no policy"
    )
    assert go_on(team_graph, root).output == outcome.output


def test_a_journal_cannot_say_that_a_call_raises_something_else(root: Path) -> None:
    script(root, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    blocking: Any = {"fs.write": "allowed", "fs.write:a.txt": "blocked"}
    team_graph = graph(worker("main", use("filesystem", write=["**"])), approvals=blocking)
    assert "is blocked" in (start(team_graph, root).output or "")
    with forging(Runs(root).path("r")) as journal:  # by whoever sent it
        ((body,),) = journal.execute("SELECT body FROM entry WHERE kind = 'decision'").fetchall()
        decision = json.loads(body)
        assert (decision["raised"], decision["allowed"]) == (["fs.write:a.txt"], False)
        forged = {
            **decision,
            "raised": ["fs.write:b.txt"],
            "decision": "allowed",
            "allowed": True,
            "refusal": None,
        }
        journal.execute("UPDATE entry SET body = ? WHERE kind = 'decision'", (json.dumps(forged).encode(),))
        journal.execute(
            "DELETE FROM entry WHERE kind IN ('finished', 'return', 'end') OR kind = 'request' AND step = 2"
        )
    outcome = go_on(team_graph, root)
    assert "`write_file` is blocked" in (outcome.output or "")
    assert not (root / "a.txt").exists()


FAILING = """
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

ERRORS = [
    ModelHTTPError(503, "m", body={"echo": "canary-of-a-body"}, retry_after=0.0),
    ModelConnectionError("m", "no route, key canary-of-a-key", retry_after=0.0),
]


def fail(messages, info):
    if ERRORS:
        raise ERRORS.pop(0)
    raise ModelAPIError("m", "gone")


def answer(messages, info):
    return ModelResponse(parts=[TextPart("done")])


first = FunctionModel(fail, model_name="first")
second = FunctionModel(answer, model_name="second")
"""


def test_a_request_that_was_not_answered_is_kept_without_what_the_provider_sent(root: Path) -> None:
    (root / "chain.py").write_text(FAILING)
    chain = {"fast": ("python:chain.py:first", "python:chain.py:second")}
    team_graph = graph(worker("main", model="fast"), aliases=chain)
    with Runs(root).create("r") as journal:
        options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({"A_KEY": "canary-of-a-key"})))
        outcome = run_sync(
            with_code(team_graph, root), root=root, prompts=prompts(team_graph), entry="go", options=options
        )
    assert outcome.output == "done"
    assert b"canary" not in Runs(root).path("r").read_bytes()
    with Runs(root).read("r") as journal:
        attempts = [(entry.path, entry.outcome, entry.data) for entry in journal.entries("attempt")]
        shown = as_text(summary(journal, is_running=False), tree(journal))
    expected = {"request": 1, "model": "function:first", "message": "the status was 503", "sent": True}
    assert attempts == [("main", "ModelHTTPError", expected)]
    assert "    request 1 to function:first failed, ModelHTTPError: the status was 503\n" in shown


def test_attempts_at_a_model_that_stays_down_are_all_kept(root: Path) -> None:
    (root / "chain.py").write_text(FAILING)
    team_graph = graph(worker("main", model="python:chain.py:first", model_settings={"max_retries": 2}))
    with Runs(root).create("r") as journal:
        options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({"A_KEY": "canary-of-a-key"})))
        outcome = run_sync(
            with_code(team_graph, root), root=root, prompts=prompts(team_graph), entry="go", options=options
        )
    assert outcome.status == "failed"
    assert b"canary" not in Runs(root).path("r").read_bytes()
    assert go_on(team_graph, root).status == "failed"
    with Runs(root).read("r") as journal:
        attempts = [
            (entry.step, entry.outcome, entry.data["message"]) for entry in journal.entries("attempt")
        ]
        json.loads(as_json(summary(journal, is_running=False), tree(journal)))
    assert attempts[:3] == [
        (1, "ModelHTTPError", "the status was 503"),
        (2, "ModelConnectionError", "no route, key [redacted A_KEY]"),
        (3, "ModelAPIError", "gone"),
    ]
    assert [step for step, _, _ in attempts] == list(range(1, len(attempts) + 1))


PAYING = """
from datetime import date
from decimal import Decimal
from pathlib import Path
from pydantic import BaseModel
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

class Order(BaseModel):
    on: date
    amount: Decimal

@tools.tool_plain
def pay(order: Order, reasons: set[str]) -> str:
    with Path(__file__).with_name("effects.log").open("a") as log:
        log.write(f"{order.amount} on {order.on:%d.%m.}\\n")
    return "paid"
"""


def test_a_question_about_typed_arguments_is_answered_later(root: Path) -> None:
    (root / "tools.py").write_text(PAYING)
    order = {"order": {"on": "2026-03-01", "amount": "12.50"}, "reasons": ["b", "a"]}
    script(root, main=[[("pay", order)], "{results}"])
    team_graph = graph(worker("main", "tools"), toolset("tools", "tools.py:tools", pay=["x.tools.pay"]))
    assert start(team_graph, root, approver=AskLater()).status == "waiting"
    with Runs(root).open("r") as journal:
        [question] = waiting(journal).values()
        assert question.record["arguments"]["order"] == {"on": "2026-03-01", "amount": "12.50"}
        answer = {"allowed": True, "by": "ada", "reason": "", "told": None, "expires": None}
        add_answer(journal, question, answer, at_terminal=False)
    assert go_on(team_graph, root, approver=AskLater()).output == "[success: paid]"
    assert effects(root) == ["12.50 on 01.03."]
