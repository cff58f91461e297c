"""Runs of the past from Python: gone on with, repeated and answered as from the command line."""

from __future__ import annotations

import asyncio
import fcntl
import re
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo.journal import Runs
from llmdo.runtime import ApproveAll, AskLater
from tests.support.commands import llmdo as command
from tests.support.locks import locked

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"

[toolsets.tools]
python = "tools.py:tools"
"""

RULES = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    returns = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(" | ".join(returns))])
    return ModelResponse(parts=[ToolCallPart(tool, {}) for tool in messages[0].parts[-1].content.split()])

rules = FunctionModel(answer)
"""
"""A model that calls the tools in its input and answers with what they return."""

TOOLS = """\
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
HERE = Path(__file__).parent

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay() -> str:
    with (HERE / "effects.log").open("a") as log:
        log.write("paid\\n")
    return "paid"

@tools.tool_plain(metadata={"capabilities": []})
def flaky() -> str:
    with (HERE / "effects.log").open("a") as log:
        log.write("tried\\n")
    if (HERE / "broken").exists():
        raise OSError("broken")
    return "fine"
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    root = tmp_path / "team"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "models.py").write_text(RULES)
    (root / "tools.py").write_text(TOOLS)
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    return locked(root)


def effects(root: Path) -> list[str]:
    log = root / "effects.log"
    return log.read_text().splitlines() if log.exists() else []


def test_a_run_waits_is_answered_and_goes_on(team: Path) -> None:
    waiting = llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    assert waiting.status == "waiting"
    assert llmdo.replay(team) == waiting
    (question,) = llmdo.approve(team)
    assert (question.path, question.record["tool"]) == ("main/pay#1", "pay")
    assert llmdo.resume(team).status == "waiting", "without an approver it waits on"
    assert llmdo.approve(team, yes="main/pay#1", by="ada") == ()
    done = llmdo.resume(team)
    assert (done.status, done.output, effects(team)) == ("completed", "paid", ["paid"])
    assert done.run == waiting.run == Runs(team).find("last")
    assert llmdo.resume(team, done.run) == done == llmdo.replay(team, done.run)
    assert "allowed by ada" in command(team, "runs", "show", "last").stdout
    with pytest.raises(llmdo.LlmdoError, match="is complete: nothing in it waits"):
        llmdo.approve(team)


def test_the_command_line_goes_on_with_what_python_began_and_the_other_way_round(team: Path) -> None:
    waiting = llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    assert command(team, "approve", "last", "--no", "main/pay#1", "--reason", "too much").returncode == 0
    refused = llmdo.resume(team)
    assert "too much" in (refused.output or "")
    assert command(team, "resume", waiting.run).stdout == f"{refused.output}\n"
    command(team, "run", "main", "pay", "--approvals", "later")
    assert llmdo.resume(team, approver=ApproveAll()).output == "paid"
    modes = command(team, "runs", "audit", "last").stdout
    assert "ApproveAll, from Python" in modes


def test_a_tool_that_ended_the_run_runs_again(team: Path) -> None:
    (team / "broken").touch()
    failed = llmdo.run(team, input="flaky", journal=True)
    assert (failed.status, failed.hint) == (
        "failed",
        f"`llmdo resume {failed.run} --again main/flaky#1` runs it again",
    )
    assert llmdo.replay(team) == failed
    assert llmdo.resume(team).error == failed.error
    (team / "broken").unlink()
    for words in ({"again": "main/flaky#2"}, {"give_up": ["main/flaky#1"]}):
        with pytest.raises(llmdo.LlmdoError, match="is not a call that was started and did not finish"):
            llmdo.resume(team, **words)  # type: ignore[arg-type]
    assert llmdo.resume(team, again="main/flaky#1").output == "fine"
    assert effects(team) == ["tried", "tried"]


def test_what_changed_is_refused_and_accepted_by_its_name(team: Path) -> None:
    llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    (team / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo on.\n")
    with pytest.raises(llmdo.LlmdoError, match="`main`: its prompt changed") as refused:
        llmdo.resume(team)
    assert "accept it: `allow_drift=['main']`" in (refused.value.hint or "")
    assert llmdo.resume(team, allow_drift="main", approver=ApproveAll()).output == "paid"


def test_limits_are_set_anew(team: Path) -> None:
    llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    with pytest.raises(llmdo.LlmdoError, match="`limits` does not set `seconds` to a number above 0"):
        llmdo.resume(team, limits=llmdo.Limits(seconds=float("nan")))
    spent = llmdo.resume(team, limits=llmdo.Limits(requests=1), approver=ApproveAll())
    assert "limit of 1 request is reached" in (spent.error or "")
    assert llmdo.resume(team, limits=llmdo.Limits(requests=2, cost_usd=1.0)).output == "paid"
    assert 'new limits: {"requests": 2, "cost-usd": 1.0}' in command(team, "runs", "audit", "last").stdout


def test_models_that_were_given_as_such_are_given_again(team: Path) -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
            return ModelResponse(parts=[TextPart("given")])
        return ModelResponse(parts=[ToolCallPart("pay", {})])

    model = FunctionModel(answer)
    llmdo.run(team, input="pay", model={"main": model}, approver=AskLater(), journal=True)
    assert llmdo.replay(team).status == "waiting", "which asks no model"
    with pytest.raises(llmdo.LlmdoError):
        llmdo.resume(team, approver=ApproveAll())
    assert llmdo.resume(team, approver=ApproveAll(), models=[model]).output == "given"


def test_a_run_of_another_process_is_looked_at_and_left_alone(team: Path) -> None:
    waiting = llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    with Runs(team).claim(waiting.run):
        assert [question.path for question in llmdo.approve(team)] == ["main/pay#1"]
        with pytest.raises(llmdo.LlmdoError, match="goes on, and can be answered once it has stopped"):
            llmdo.approve(team, yes="main/pay#1")
        with pytest.raises(llmdo.LlmdoError, match="another process is using run"):
            llmdo.resume(team)
    assert effects(team) == []


def test_a_replay_stops_before_a_place_and_needs_no_workspace(team: Path, tmp_path: Path) -> None:
    done = llmdo.run(team, input="flaky", journal=True)
    stopped = llmdo.replay(team, until="main@2")
    assert (stopped.status, stopped.error) == ("interrupted", "stopped before main@2")
    with pytest.raises(llmdo.LlmdoError, match="the run has no place `main@9`"):
        llmdo.replay(team, until="main@9")
    file = tmp_path / "run.sqlite"
    assert command(team, "runs", "export", "last", str(file)).returncode == 0
    assert llmdo.replay(tmp_path, str(file)).output == done.output
    assert effects(team) == ["tried"]


def test_a_person_forbids_what_they_forbid_everywhere(
    team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llmdo.run(team, input="pay", approver=AskLater(), journal=True)
    policy = tmp_path / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    policy.write_text("schema = 1\n[approvals]\napprove-all = false\n")
    with pytest.raises(llmdo.LlmdoError, match="`ApproveAll` is forbidden on this machine"):
        llmdo.resume(team, approver=ApproveAll())
    assert effects(team) == []
    policy.write_text('schema = 1\n[approvals.rules]\n"x.tools" = "blocked"\n')
    blocked = llmdo.resume(team, approver=ApproveAll())
    assert (blocked.status, effects(team)) == ("failed", [])
    assert "its tools changed" in (blocked.error or ""), (
        "a tool that is blocked whatever the call is not there"
    )


def test_a_program_with_an_event_loop_awaits(team: Path) -> None:
    llmdo.run(team, input="pay", approver=AskLater(), journal=True)

    async def program() -> str | None:
        for name in ("resume", "replay"):
            with pytest.raises(llmdo.LlmdoError, match="cannot be called from a running event loop"):
                getattr(llmdo, name)(team)
        return (await llmdo.resume_async(team, approver=ApproveAll())).output

    assert asyncio.run(program()) == "paid"


@pytest.mark.parametrize("name", ["resume", "resume_async", "replay", "approve"])
def test_a_misspelt_argument_names_the_nearest(name: str, team: Path) -> None:
    called = getattr(llmdo, name)
    known = {"approve": "hours", "replay": "until"}.get(name, "again")
    with pytest.raises(
        TypeError, match=re.escape(f"`{name}` has no argument `{known}x`: did you mean `{known}`?")
    ):
        asyncio.run(called(team, **{f"{known}x": 1})) if name.endswith("async") else called(
            team, **{f"{known}x": 1}
        )


@pytest.mark.long
def test_a_run_whose_command_still_runs_does_not_go_on(team: Path) -> None:
    run = llmdo.run(team, "main", "pay", approver=AskLater(), journal=True).run
    commands = team / f".llmdo/runs/{run}.commands"
    commands.touch()
    with commands.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # as a guardian that cannot end what it guards
        with pytest.raises(llmdo.LlmdoError, match=f"a command of run `{run}` still runs"):
            llmdo.resume(team, run, approver=ApproveAll())
    assert not (team / "effects.log").exists()
    assert llmdo.resume(team, run, approver=ApproveAll()).output == "paid"
