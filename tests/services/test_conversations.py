"""Runs that go on from one another: what the model is told, what is stored, and what stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo.journal import Runs
from llmdo.journal.conversation import goes_on_from
from llmdo.runtime import ApproveAll, AskLater
from tests.support.commands import llmdo as command
from tests.support.commands import process
from tests.support.locks import locked

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["code.py"]
model = "python:models.py:rules"

[entries.main]
worker = "main"
input = "hello"

[entries.other]
worker = "main"

[entries.code]
function = "code.py:start"
calls = ["main"]

[toolsets.tools]
python = "tools.py:tools"
"""

RULES = """\
import json
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    parts = [part for message in messages for part in message.parts]
    asked = [part.content for part in parts if isinstance(part, UserPromptPart)]
    given = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    if asked[-1] in ("pay", "crash", "hold") and not isinstance(messages[-1].parts[-1], ToolReturnPart):
        return ModelResponse(parts=[ToolCallPart(asked[-1], {})])
    if asked[-1] == "fail":
        raise OSError("no answer")
    return ModelResponse(parts=[TextPart(json.dumps([asked, given]))])

rules = FunctionModel(answer)
"""
"""A model that calls the tool which is its input, and else says all that it was asked and given so far."""

TOOLS = """\
import os
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
HERE = Path(__file__).parent

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay() -> str:
    with (HERE / "effects.log").open("a") as log:
        log.write("paid\\n")
    return "paid " + os.environ.get("DESK_TOKEN", "")

@tools.tool_plain(metadata={"capabilities": ["x.tools.crash"]})
def crash() -> str:
    os._exit(9)
"""

CODE = """\
async def start(runtime, input):
    return await runtime.call_agent("main", input)
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    root = tmp_path / "team"
    root.mkdir()
    files = {
        "llmdo.toml": MANIFEST,
        "models.py": RULES,
        "tools.py": TOOLS,
        "code.py": CODE,
        "main.worker": "---\nname: main\ntoolsets: [tools]\n---\nGo on, and on.\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    return locked(root)


def size(root: Path, run: str) -> int:
    """The bytes of what the journal of a run holds."""
    with Runs(root).read(run) as journal:
        return sum(len(entry.body) for entry in journal.entries())


def test_a_run_hands_out_its_messages_and_another_begins_with_them(team: Path) -> None:
    first = llmdo.run(team, "main", "one")
    assert [type(message) for message in first.messages] == [ModelRequest, ModelResponse]
    second = llmdo.run(team, "main", "two", message_history=first.messages, journal=True)
    assert second.output == '[["one", "two"], []]'
    assert second.messages[:2] == first.messages
    assert second.messages[2:] == second.new_messages
    assert len(second.new_messages) == 2
    assert llmdo.replay(team).output == second.output
    assert llmdo.resume(team).messages[:2] == tuple(_without_prompt(message) for message in first.messages)


def _without_prompt(message: ModelMessage) -> ModelMessage:
    """A message as a journal gives it back: the prompt of its worker is kept once in a run."""
    from dataclasses import replace

    if isinstance(message, ModelRequest):
        return replace(message, instructions=None, conversation_id=None)
    return replace(message, conversation_id=None)


def test_what_is_no_message_is_no_history(team: Path) -> None:
    with pytest.raises(TypeError, match=r"such as `outcome\.messages`, and no str"):
        llmdo.run(team, "main", "one", message_history=["hello"])  # type: ignore[list-item]
    history = [ModelRequest(parts=[UserPromptPart("zero")]), ModelResponse(parts=[TextPart("0")])]
    assert llmdo.run(team, "main", "one", message_history=history).output == '[["zero", "one"], []]'
    with pytest.raises(llmdo.LlmdoError, match="entry `code` is code, and only a worker takes a history"):
        llmdo.run(team, "code", "one", message_history=history)
    assert llmdo.run(team, "code", "one").messages == ()


@pytest.mark.long
def test_a_run_goes_on_from_another_and_is_repeated(team: Path) -> None:
    first = command(team, "run", "main", "one")
    second = command(team, "run", "--continue", "last", "two")
    third = command(team, "run", "main", "three", "--continue", "last")
    assert [first.stdout, second.stdout, third.stdout] == [
        '[["one"], []]\n',
        '[["one", "two"], []]\n',
        '[["one", "two", "three"], []]\n',
    ]
    assert command(team, "runs", "replay", "last").stdout == third.stdout
    assert llmdo.resume(team).output == third.stdout.strip()
    assert len(llmdo.resume(team).messages) == 6
    names = Runs(team).names()
    with Runs(team).read(names[2]) as journal:
        end = goes_on_from(journal)
    assert end is not None
    assert (end.run, end.first, end.turn) == (names[1], names[0], 3)


@pytest.mark.long
def test_a_later_run_stores_what_is_new_and_not_the_history(team: Path) -> None:
    text = "x" * 10_000
    outcome = llmdo.run(team, "main", text, journal=True)
    sizes = []
    for _ in range(3):
        outcome = llmdo.run(team, "main", "hold on", continue_from=outcome.run)
        sizes.append(size(team, outcome.run) - 2 * len(outcome.output or ""))
    assert max(sizes) - min(sizes) < 1_000


@pytest.mark.long
def test_who_goes_on_says_what_comes_next_and_keeps_a_journal(team: Path) -> None:
    first = llmdo.run(team, "main", journal=True)
    for words, problem in (
        ({"input": None}, "needs an input"),
        ({"input": "x", "journal": False}, "keeps a journal"),
        ({"input": "x", "message_history": first.messages}, "leave out `message_history`"),
        (
            {"input": "x", "entry": "other"},
            "is one of entry `main`, and another entry does not go on from it",
        ),
    ):
        with pytest.raises(llmdo.LlmdoError, match=problem):
            llmdo.run(team, **{"entry": "main", "continue_from": first.run, **words})
    assert "needs an input" in command(team, "run", "main", "--continue", "last").stderr
    assert "keeps a journal" in command(team, "run", "main", "x", "--continue", "last", "--no-journal").stderr
    assert "does not go on from it" in command(team, "run", "other", "x", "--continue", "last").stderr
    code = llmdo.run(team, "code", "x", journal=True)
    with pytest.raises(llmdo.LlmdoError, match=f"nothing was said in run `{code.run}`"):
        llmdo.run(team, "code", "x", continue_from="last")


def test_nothing_goes_on_from_a_run_with_something_open(team: Path) -> None:
    waits = llmdo.run(team, "main", "pay", approver=AskLater(), journal=True)
    with pytest.raises(llmdo.LlmdoError, match="a question waits at main/pay#1"):
        llmdo.run(team, "main", "next", continue_from=waits.run)
    llmdo.approve(team, yes="main/pay#1")
    with pytest.raises(llmdo.LlmdoError, match="has answers that it did not go on with yet"):
        llmdo.run(team, "main", "next", continue_from=waits.run)
    llmdo.resume(team, waits.run)
    assert llmdo.run(team, "main", "next", continue_from=waits.run).output == '[["pay", "next"], ["paid "]]'


def test_a_failed_run_is_gone_on_from_with_what_was_said_in_it(team: Path) -> None:
    failed = llmdo.run(team, "main", "fail", journal=True)
    assert failed.status == "failed"
    assert len(failed.messages) == 1
    assert llmdo.run(team, "main", "next", continue_from="last").output == '[["fail", "next"], []]'


@pytest.mark.long
def test_a_journal_that_was_changed_or_removed_is_not_gone_on_from(team: Path) -> None:
    first = llmdo.run(team, "main", "one", journal=True)
    second = llmdo.run(team, "main", "two", continue_from="last")
    other = llmdo.run(team, "main", "two", journal=True)
    journals = Runs(team)
    kept = journals.path(first.run).read_bytes()
    journals.path(first.run).write_bytes(journals.path(other.run).read_bytes())
    (journals.folder / f"{first.run}.sqlite.anchor").unlink(missing_ok=True)
    for again in (
        lambda: llmdo.replay(team, second.run),
        lambda: llmdo.run(team, "main", "x", continue_from=second.run),
    ):
        with pytest.raises(llmdo.LlmdoError, match="is not the one that a later run goes on from"):
            again()
    journals.path(first.run).write_bytes(kept)
    assert llmdo.replay(team, second.run).output == second.output
    journals.remove(first.run)
    with pytest.raises(
        llmdo.LlmdoError, match=f"goes on from run `{first.run}`, whose journal is not here"
    ) as gone:
        llmdo.replay(team, second.run)
    assert "pruned" in (gone.value.hint or "")
    assert llmdo.resume(team, second.run).output == second.output


@pytest.mark.long
def test_a_secret_of_an_earlier_run_is_needed_again(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_TOKEN", "opensesame-1")
    paid = llmdo.run(team, "main", "pay", approver=ApproveAll(), journal=True)
    assert "opensesame-1" not in Runs(team).path(paid.run).read_text("latin-1")
    assert "paid opensesame-1" in (llmdo.run(team, "main", "next", continue_from=paid.run).output or "")
    monkeypatch.setenv("DESK_TOKEN", "opensesame-2")
    with pytest.raises(
        llmdo.LlmdoError, match="the value that `DESK_TOKEN` had when it was recorded is needed"
    ):
        llmdo.run(team, "main", "next", continue_from=paid.run)


@pytest.mark.long
def test_a_conversation_is_one_line_of_the_list_of_runs(team: Path) -> None:
    first = llmdo.run(team, "main", "one", journal=True)
    second = llmdo.run(team, "main", "two", continue_from=first.run)
    alone = llmdo.run(team, "main", "alone", journal=True)
    listed = command(team, "runs").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [alone.run, second.run]
    assert "turn 2 of a conversation" in listed[1]
    listed = command(team, "runs", "list", "--turns").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [alone.run, second.run, first.run]
    assert f"goes on from run {first.run}" in command(team, "runs", "show", second.run).stdout
    waits = llmdo.run(team, "main", "pay", continue_from=second.run, approver=AskLater())
    llmdo.run(team, "main", "three", continue_from=second.run)
    assert waits.run in command(team, "runs").stdout, "what could go on is listed by itself"


@pytest.mark.long
def test_nothing_goes_on_from_a_run_that_was_killed_in_a_call(team: Path) -> None:
    assert process(team, "run", "main", "crash", "--approve-all").returncode == 9
    with pytest.raises(
        llmdo.LlmdoError, match="`crash` at main/crash#1 was started and did not finish"
    ) as refused:
        llmdo.run(team, "main", "next", continue_from="last")
    assert "--give-up main/crash#1" in (refused.value.hint or "")
    assert llmdo.resume(team, give_up="main/crash#1").status == "completed"
    outcome = llmdo.run(team, "main", "next", continue_from="last")
    assert "nobody knows whether it took effect" in (outcome.output or "")


@pytest.mark.long
def test_an_exported_run_brings_what_was_said_before_it(team: Path, tmp_path: Path) -> None:
    first = llmdo.run(team, "main", "one", journal=True)
    second = llmdo.run(team, "main", "two", continue_from=first.run)
    file = tmp_path / "second.sqlite"
    assert command(team, "runs", "export", second.run, str(file)).returncode == 0
    journals = Runs(team)
    for run in (first.run, second.run):
        journals.remove(run)
    assert llmdo.replay(tmp_path, str(file)).output == second.output
    assert command(team, "runs", "import", str(file)).stdout == f"{second.run}\n"
    assert llmdo.replay(team, second.run).output == second.output
    assert llmdo.run(team, "main", "three", continue_from="last").output == '[["one", "two", "three"], []]'
    (team / "recordings").mkdir()
    file.rename(team / "recordings/second.sqlite")
    assert command(team, "runs", "test").returncode == 0


def test_a_secret_said_before_does_not_leave(
    team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_TOKEN", "opensesame-1")
    paid = llmdo.run(team, "main", "pay", approver=ApproveAll(), journal=True)
    llmdo.run(team, "main", "next", continue_from=paid.run)
    exported = command(team, "runs", "export", "last", str(tmp_path / "next.sqlite"))
    assert "what was said before holds a secret" in exported.stderr
    assert not (tmp_path / "next.sqlite").exists()


def test_the_limits_of_a_conversation_hold_for_all_its_runs(team: Path) -> None:
    manifest = team / "llmdo.toml"
    limited = (
        'input = "hello"\nlimits = { requests = 3 }\nconversation-limits = { requests = 5, tool-calls = 1 }'
    )
    manifest.write_text(MANIFEST.replace('input = "hello"', limited))
    locked(team)
    first = llmdo.run(team, "main", "pay", approver=ApproveAll(), journal=True)
    second = llmdo.run(team, "main", "pay", approver=ApproveAll(), continue_from=first.run)
    assert "the conversation's remaining limit of 0 tool calls is reached" in second.denied[0].why[-1]
    third = llmdo.run(team, "main", "pay", approver=ApproveAll(), continue_from=first.run)
    assert third.error == "the conversation's remaining limit of 1 request is reached"
    assert llmdo.replay(team, third.run) == third
    for run in (second.run, third.run):
        with pytest.raises(llmdo.LlmdoError, match="the conversation's limit `requests = 5` is reached"):
            llmdo.run(team, "main", "more", continue_from=run)
        if run == second.run:
            Runs(team).remove(run)  # what it used is known of the run after it
    assert llmdo.run(team, "main", "more", journal=True).status == "completed", "another one has its own"


def test_pruning_removes_a_conversation_as_a_whole(team: Path) -> None:
    alone = llmdo.run(team, "main", "alone", journal=True)
    first = llmdo.run(team, "main", "one", journal=True)
    second = llmdo.run(team, "main", "two", continue_from=first.run)
    third = llmdo.run(team, "main", "three", continue_from=second.run)
    other = llmdo.run(team, "main", "other", continue_from=first.run)
    waits = llmdo.run(team, "main", "pay", continue_from=first.run, approver=AskLater())
    assert command(team, "runs", "prune", "--keep", "0").stdout.split() == [alone.run]
    assert len(Runs(team).names()) == 5, "they share the limits of their conversation"
    Runs(team).remove(waits.run)
    assert llmdo.replay(team, third.run).output == third.output
    assert set(command(team, "runs", "prune", "--keep", "0").stdout.split()) == {
        first.run,
        second.run,
        third.run,
        other.run,
    }


def test_a_picture_in_the_history_is_kept_once_and_handed_on(team: Path) -> None:
    picture = BinaryContent(b"\x89PNG" * 3_000, media_type="image/png")
    history = [
        ModelRequest(parts=[UserPromptPart(["look", picture])]),
        ModelResponse(parts=[TextPart("a cat")]),
    ]
    first = llmdo.run(team, "main", "one", model=FunctionModel(_sizes), message_history=history, journal=True)
    assert first.output == "12000"
    assert size(team, first.run) < 12_000, "the entries name it by its digest"
    assert llmdo.replay(team).output == "12000"
    assert llmdo.run(team, "main", "two", model=FunctionModel(_sizes), continue_from="last").output == "12000"


def _sizes(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del info
    contents = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
    return ModelResponse(parts=[TextPart(str(len(contents[0][1].data)))])  # type: ignore[union-attr]
