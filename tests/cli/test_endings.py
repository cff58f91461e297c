"""A replay of a run that did not complete ends as that run did, with what it said then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import Runs
from tests.support.forging import forging

from .conftest import Done, Llmdo

RULES = """\
import os
import signal
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    text = str(messages[0].parts[-1].content)
    returns = [p.content for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if text == "raise":
        raise ZeroDivisionError("oh")
    if text == "late":
        os.kill(os.getpid(), signal.SIGINT)
    if returns or text == "late":
        return ModelResponse(parts=[TextPart(f"said {returns}")])
    calls = [ToolCallPart(*call.split(">")) for call in text.split(";")]
    parts = [ToolCallPart(one.tool_name, {"input": one.args} if one.args else {}) for one in calls]
    return ModelResponse(parts=[TextPart("I call"), *parts])


rules = FunctionModel(answer)
"""
"""A model that calls what its input says, `tool>input;...`, and answers with what was returned."""

TOOLS = """\
import asyncio
import os
import signal
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": []})
def look() -> str:
    return "seen"

@tools.tool_plain(metadata={"capabilities": []})
def crashes() -> str:
    raise ZeroDivisionError("oh")

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay() -> str:
    return "paid"

@tools.tool_plain(metadata={"capabilities": []})
async def waits() -> str:
    await asyncio.Event().wait()

@tools.tool_plain(metadata={"capabilities": []})
async def interrupts() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()
"""

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


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A workspace whose `main` and its `helper` do what they are told; to `pay` needs an approval."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "models.py").write_text(RULES)
    (root / "tools.py").write_text(TOOLS)
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [tools, helper]\n---\nGo.\n")
    (root / "helper.worker").write_text("---\nname: helper\ntoolsets: [tools]\n---\nHelp.\n")
    return root


def is_same(llmdo: Llmdo, root: Path, then: Done) -> None:
    """Asserts that a replay says and returns what the run did, in both formats."""
    again = llmdo("replay", "last", "--format", "json", cwd=root)
    assert (again.code, json.loads(again.out)) == (then.code, json.loads(then.out))
    text = llmdo("replay", "last", cwd=root)
    assert text.code == then.code
    if error := json.loads(then.out)["error"]:
        assert error in text.err


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("crashes", "the tool `crashes` of worker `main` raised ZeroDivisionError: oh"),
        ("raise", "raised ZeroDivisionError: oh (models.py"),
        ("look;helper>waits", "the run took longer than 0.5 seconds"),
        ("look;helper>raise;helper>look;waits", "the run took longer than 0.5 seconds"),
        ("look;helper>crashes", "the run's limit of 1 request is reached"),
    ],
)
def test_a_failed_run(llmdo: Llmdo, team: Path, words: str, error: str) -> None:
    limit = (
        "requests = 1" if "request" in error else "seconds = 0.5" if "seconds" in error else "requests = 9"
    )
    (team / "llmdo.toml").write_text(f"{MANIFEST}\n[entries.main.limits]\n{limit}\n")
    then = llmdo("run", "main", words, "--format", "json", cwd=team)
    assert (then.code, json.loads(then.out)["status"]) == (1, "failed")
    assert error in json.loads(then.out)["error"]
    is_same(llmdo, team, then)


@pytest.mark.long
@pytest.mark.parametrize("words", ["look;interrupts", "look;helper>interrupts;helper>look", "late"])
def test_an_interrupted_run(llmdo: Llmdo, team: Path, words: str) -> None:
    then = llmdo("run", "main", words, "--format", "json", cwd=team)
    assert (then.code, json.loads(then.out)["status"]) == (130, "interrupted")
    is_same(llmdo, team, then)


@pytest.mark.long
def test_a_waiting_run(llmdo: Llmdo, team: Path) -> None:
    words = "look;pay;helper>pay;helper>look"
    then = llmdo("run", "main", words, "--approvals", "later", "--format", "json", cwd=team)
    assert (then.code, len(json.loads(then.out)["questions"])) == (3, 2)
    is_same(llmdo, team, then)
    llmdo("approve", "last", "--yes", "main/pay#1", cwd=team)
    is_same(llmdo, team, then)
    after = llmdo("resume", "last", "--format", "json", cwd=team)
    assert (after.code, len(json.loads(after.out)["questions"])) == (3, 1)
    is_same(llmdo, team, after)
    assert "waiting: main/helper#1/pay#1: pay {}" in llmdo("replay", "last", cwd=team).err
    llmdo("approve", "last", "--no", "main/helper#1/pay#1", cwd=team)
    llmdo("resume", "last", cwd=team)
    assert llmdo("replay", "last", cwd=team).code == 0


@pytest.mark.long
def test_a_recording_of_a_waiting_run_is_held_against_the_workspace(llmdo: Llmdo, team: Path) -> None:
    llmdo("run", "main", "helper>pay;helper>look", "--approvals", "later", cwd=team)
    recording = team / "waiting.sqlite"
    llmdo("runs", "export", "last", str(recording), cwd=team)
    assert llmdo("test", str(recording), cwd=team).code == 0
    text = (team / "tools.py").read_text()
    (team / "tools.py").write_text(text.replace("def look() ", "def look(hard: bool = False) "))
    tested = llmdo("test", str(recording), cwd=team)
    assert tested.code == 1
    assert "request 1 is not the recorded one: its tools changed" in tested.out


@pytest.mark.long
def test_what_goes_on_beside_a_place_where_the_run_ended_is_still_compared(llmdo: Llmdo, team: Path) -> None:
    llmdo("run", "main", "helper>pay;helper>look", "--approvals", "later", cwd=team)
    with forging(Runs(team).path(Runs(team).find("last"))) as connection:
        connection.execute(
            "UPDATE entry SET digest = '', body = replace(body, '\"settings\":\"', '\"settings\":\"another ')"
            " WHERE path = 'main/helper#2' AND kind = 'request' AND step = 2"
        )
    replayed = llmdo("replay", "last", cwd=team)
    assert replayed.code == 1
    assert "main/helper#2: request 2 is not the recorded one" in replayed.err


def test_a_replay_decides_on_nothing(llmdo: Llmdo, team: Path) -> None:
    """What was not decided on when the run ended is not denied in its replay, nor told of as such."""
    llmdo("run", "main", "pay", "--approvals", "later", cwd=team)
    log = team / "events.jsonl"
    llmdo("replay", "last", "--log-events", str(log), cwd=team)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert "decided" not in {event["event"] for event in events}
    ended = next(event for event in events if event["event"] == "run_finished")
    assert (ended["status"], ended["error"]) == ("waiting", "1 question waits for an answer")
    with Runs(team).read(Runs(team).find("last")) as journal:
        assert journal.counted().get("decision", 0) == 0
