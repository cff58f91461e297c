"""`llmdo chat` at a real terminal, and what a chat is without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.terminal import Terminal
from llmdo.features.chat.conversation import obey
from llmdo.features.chat.service import Chat, ChatRequest, open_chat
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.opening import runs_of
from llmdo.services.run import EntryRequest
from tests.support.commands import llmdo as command
from tests.support.locks import locked
from tests.support.ptys import PATIENCE, Person, wait_for
from tests.support.waiting import until

NEEDS_LINES = pytest.mark.skipif(not find_spec("prompt_toolkit"), reason="the extra `chat` is not installed")

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["code.py"]
model = "python:models.py:rules"

[entries.main]
worker = "main"

[entries.code]
function = "code.py:start"

[toolsets.tools]
python = "tools.py:tools"
"""

RULES = """\
import json
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

def heard(messages):
    return [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)]

def answer(messages, info):
    asked = heard(messages)
    if asked[-1] in ("pay", "hold", "die") and not isinstance(messages[-1].parts[-1], ToolReturnPart):
        return ModelResponse(parts=[ToolCallPart(asked[-1], {})])
    return ModelResponse(parts=[TextPart(f"heard {'+'.join(asked)}")])

async def pieces(messages, info):
    for part in answer(messages, info).parts:
        if isinstance(part, TextPart):
            yield part.content
        else:
            from pydantic_ai.models.function import DeltaToolCall
            yield {0: DeltaToolCall(name=part.tool_name, json_args="{}", tool_call_id=part.tool_call_id)}

rules = FunctionModel(answer, stream_function=pieces)
other = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(f"other heard {len(heard(messages))}")]))
"""

TOOLS = """\
import asyncio, os, signal
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
async def hold() -> str:
    (HERE / "holding").touch()
    await asyncio.sleep(600)
    return "held"

@tools.tool_plain(metadata={"capabilities": []})
def die() -> str:
    if not (HERE / "died").exists():
        (HERE / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    root = tmp_path / "team"
    root.mkdir()
    header = "name: main\ntoolsets: [tools]\ncompatible_models: ['python:*']\n"
    files = {
        "llmdo.toml": MANIFEST,
        "models.py": RULES,
        "tools.py": TOOLS,
        "code.py": "async def start(runtime, input):\n    return input\n",
        "main.worker": f"---\n{header}---\nGo on, and on.\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    return locked(root)


def host(*, approve_all: bool = False) -> Terminal:
    return Terminal(approvals=ApprovalOptions(approve_all=approve_all, reject_all=not approve_all))


def chat_in(root: Path, run: str | None = None, entry: str | None = "main") -> Chat:
    start = EntryRequest((entry,) if entry else (), project=str(root), of_files=False)
    return open_chat(ChatRequest(start=start, continues=run), host())


def answer_to(chat: Chat, text: str) -> str | None:
    return chat.say(text, host(approve_all=True)).outcome.output


class At:
    """A person at the terminal of a chat."""

    def __init__(
        self,
        person: Person,
        root: Path,
        *words: str,
        command: Sequence[str] = ("chat",),
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        terminal = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_CONFIG_HOME": str(root)}
        started = [sys.executable, "-m", "llmdo", *command, *words]
        self.person = person
        self.child = person.start(started, root, {**environ, **terminal})

    def sees(self, text: str) -> None:
        self.until(lambda: text in self.person.text())

    def until(self, holds: Callable[[], bool]) -> None:
        until(holds, self.person.text, PATIENCE)

    def types(self, keys: str) -> None:
        """Types at the prompt of the chat, once it stands there."""
        self.until(lambda: next((line for line in reversed(self.person.lines()) if line), "") == ">")
        self.person.type(keys)

    def says(self, line: str, answer: str) -> None:
        self.types(f"{line}\r")
        self.sees(answer)


@NEEDS_LINES
def test_a_chat_at_a_terminal(team: Path) -> None:
    with Person(rows=100) as person:
        at = At(person, team)
        at.sees("chat with main")
        at.says("one", "heard one")
        at.says("/model openai:gpt-5", "`main` does not work with `openai:gpt-5`")
        at.types("hold\r")
        at.until((team / "holding").exists)
        at.person.type("\x03")
        at.sees("the run was interrupted")
        at.says("two", "heard one+hold+two")
        at.says("/undo", "what it did stays done")
        at.says("pay", "allow?")
        at.person.type("no\r")
        at.sees("heard one+hold+pay")
        at.types("\x04")
        at.sees("goes on")
        assert wait_for(at.child) == 0
    assert not (team / "effects.log").exists()
    assert len(Runs(team).names()) == 4


@pytest.mark.long
def test_each_turn_is_a_run_bound_to_the_one_before(team: Path) -> None:
    chat = chat_in(team)
    assert [answer_to(chat, text) for text in ("one", "two", "three")] == [
        "heard one",
        "heard one+two",
        "heard one+two+three",
    ]
    names = Runs(team).names()
    with Runs(team).read(names[2]) as journal:
        end = goes_on_from(journal)
    assert end is not None
    assert (end.run, end.first, end.turn) == (names[1], names[0], 3)
    assert command(team, "runs", "replay", names[2]).stdout == "heard one+two+three\n"
    assert len(command(team, "runs").stdout.splitlines()) == 1
    exported = team.parent / "chat.sqlite"
    assert command(team, "runs", "export", "last", str(exported)).returncode == 0
    assert command(team, "runs", "replay", str(exported)).stdout == "heard one+two+three\n"
    again = chat_in(team, "last", entry=None)
    assert [turn.input for turn in again.turns] == ["one", "two", "three"]
    assert answer_to(again, "four") == "heard one+two+three+four"


@pytest.mark.long
@pytest.mark.fleet
def test_a_chat_in_a_store_goes_on_and_so_does_a_run_from_it(
    team: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_STORE", store)
    chat = chat_in(team)
    assert [answer_to(chat, text) for text in ("one", "two")] == ["heard one", "heard one+two"]
    assert Runs(team).names() == []
    names = runs_of(team).names()
    with runs_of(team).read(names[1]) as journal:
        end = goes_on_from(journal)
    assert end is not None
    assert (end.run, end.turn) == (names[0], 2)
    again = chat_in(team, "last", entry=None)
    assert answer_to(again, "three") == "heard one+two+three"
    done = command(team, "run", "--continue", "last", "--input", "four")
    assert (done.returncode, done.stdout) == (0, "heard one+two+three+four\n"), done.stderr
    assert command(team, "runs", "replay", "last").stdout == "heard one+two+three+four\n"


@pytest.mark.long
def test_undo_takes_a_turn_from_the_model_and_leaves_what_it_did(
    team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = chat_in(team)
    answer_to(chat, "one")
    assert answer_to(chat, "pay") == "heard one+pay"
    obey("/undo", chat)
    assert "what it did stays done" in capsys.readouterr().err
    assert answer_to(chat, "two") == "heard one+two"
    assert (team / "effects.log").read_text() == "paid\n"
    obey("/cost", chat)
    listed = capsys.readouterr().out.splitlines()
    assert [line.endswith("which the model does not see") for line in listed] == [False, True, False, False]
    assert listed[-1] == "together: 4 requests"
    for _ in range(2):
        obey("/undo", chat)
    with pytest.raises(LlmdoError, match="there is no turn to take back"):
        obey("/undo", chat)
    assert answer_to(chat, "anew") == "heard anew"


def test_another_model_is_judged_and_recorded(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = chat_in(team)
    answer_to(chat, "one")
    for model, problem in (
        ("openai:gpt-5", "worker `main` does not work with `openai:gpt-5`"),
        ("nobody=python:models.py:other", "`nobody`, which is not a worker"),
        ("gpt", "neither an alias"),
    ):
        with pytest.raises(LlmdoError, match=problem):
            obey(f"/model {model}", chat)
    assert answer_to(chat, "two") == "heard one+two"
    obey("/model python:models.py:other", chat)
    assert capsys.readouterr().out.splitlines()[-1] == "main: python:models.py:other"
    assert answer_to(chat, "three") == "other heard 3"
    with Runs(team).read(Runs(team).find("last")) as journal:
        assert binding_of(journal).models == {"main": "python:models.py:other"}


def test_what_was_said_is_saved_without_secrets(
    team: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DESK_TOKEN", "opensesame-1")
    chat = chat_in(team)
    answer_to(chat, "the word is opensesame-1")
    file = tmp_path / "chat.md"
    obey(f"/save {file}", chat)
    assert file.read_text().splitlines()[:3] == [
        "# Conversation with main",
        "",
        "> the word is [redacted DESK_TOKEN]",
    ]
    with pytest.raises(LlmdoError, match="cannot write"):
        obey(f"/save {file}", chat)
    for line, shows in (
        ("/tools", "main > tools > pay: x.tools.pay"),
        ("/reach", "x.tools.pay"),
        ("/model", "main: "),
    ):
        obey(line, chat)
        assert shows in capsys.readouterr().out
    with pytest.raises(LlmdoError, match="there is no `/tool`") as unknown:
        obey("/tool", chat)
    assert unknown.value.hint == "did you mean `tools`?"


def test_what_is_no_chat_is_refused(team: Path) -> None:
    refused = command(team, "chat", "main")
    assert (refused.returncode, "a chat needs a terminal" in refused.stderr) == (2, True)
    with pytest.raises(LlmdoError, match="entry `code` is code"):
        chat_in(team, entry="code")


@NEEDS_LINES
@pytest.mark.long
def test_a_chat_goes_on_after_a_kill_in_a_turn(team: Path) -> None:
    with Person(rows=100) as person:
        at = At(person, team, "main")
        at.says("one", "heard one")
        at.types("die\r")
        assert wait_for(at.child) == -9
    with Person(rows=100) as person:
        at = At(person, team, "main", "--continue", "last")
        at.sees("heard one+die")
        at.sees("2 turns so far")
        at.says("two", "heard one+die+two")
        at.types("\x04")
        assert wait_for(at.child) == 0
