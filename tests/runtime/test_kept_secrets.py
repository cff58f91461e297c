"""A run goes on with the very text that it stopped with, and none of its secrets is on disk meanwhile."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.resolved import Graph
from llmdo.journal import Runs
from llmdo.journal.questions import add_answer, waiting
from llmdo.journal.summary import summary
from llmdo.journal.tree import tree
from llmdo.render.runs import as_json, as_markdown, as_text
from llmdo.runtime import ApproveAll, RunOptions, RunOutcome
from llmdo.runtime.approvals.approver import AskLater
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support import forking
from tests.support.building import graph, prompts, toolset, with_code, worker
from tests.support.running import run_sync

SECRET = 'pa"ss\\w-örd/7f3a'
TOKEN = "sk-proj-abcdefghijklmnopqrstuvwx"
ENVIRON = {"ACME_API_KEY": SECRET}
OTHERS = [{"ACME_API_KEY": "another one by now"}, {}]
AGAIN = {**ENVIRON, "NEW_TOKEN": "ordinary", "NEW_PASSWORD": "effect of"}
"""The same with more secrets, which are ordinary words of the run."""

CODE = """
import asyncio, json, os
from pathlib import Path
from pydantic_ai import BinaryContent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

SECRET, TOKEN = json.loads(Path(__file__).with_name("said.json").read_text())
tools = FunctionToolset(id="tools")

@tools.tool_plain
def leak() -> dict:
    written = json.dumps({"key": SECRET, "of": [TOKEN]})
    return {SECRET: [SECRET, written], "token": TOKEN, "file": BinaryContent(SECRET.encode(), media_type="text/plain", identifier="f")}

@tools.tool_plain
def effect(text: str, more: dict[str, str]) -> str:
    "Has an ordinary effect."
    with Path(__file__).with_name("effects.log").open("a") as log:
        log.write(json.dumps([text, more]) + "\\n")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), 9)
    return f"an ordinary effect of {text}"

def told(value):
    return value.data.decode() if isinstance(value, BinaryContent) else repr(value)

def answers(*calls, last=None):
    def answer(messages, info):
        parts = [part for message in messages for part in message.parts]
        returned = [part for part in parts if isinstance(part, ToolReturnPart)]
        if len(returned) < len(calls):
            tool, arguments = calls[len(returned)]
            return ModelResponse(parts=[ToolCallPart(tool, arguments, tool_call_id=f"c{len(returned)}")])
        said = [[type(part).__name__, getattr(part, "content", None), getattr(part, "args", None)] for part in parts]
        return ModelResponse(parts=[TextPart(last or json.dumps(said, default=told))])
    return FunctionModel(answer)

ARGUMENTS = {"text": f"{SECRET} {TOKEN} ordinary", "more": {SECRET: TOKEN}}
main = answers(("leak", {}), ("effect", json.dumps(ARGUMENTS)), ("effect", {"text": "b", "more": {}}))
apart = answers(("helper", {"input": "go"}), ("effect", {"text": "b", "more": {}}), last="done")
asker = answers(("helper", {"input": "go"}), ("effect", {"text": "b", "more": {}}))
helper = answers(("leak", {}), ("effect", ARGUMENTS), last="I keep it to myself")
talker = answers(("leak", {}), ("effect", ARGUMENTS), last=f"it is {SECRET}")

async def threads(runtime, input):
    loop = asyncio.get_running_loop()
    def call():
        return asyncio.run_coroutine_threadsafe(runtime.call_agent("helper", "an ordinary " + SECRET), loop).result(20)
    said = await asyncio.to_thread(call)
    await runtime.call_agent("apart", "b")
    return said

async def noting(runtime, input):
    with Path(__file__).with_name("effects.log").open("a") as log:
        log.write(json.dumps([input]) + "\\n")
    return await runtime.call_agent("apart", "b")

async def entry(runtime, input):
    await runtime.call_agent("helper", f"look at {input}")
    said = await runtime.call_agent("talker", f"with {os.environ['ACME_API_KEY']}")
    await runtime.call_agent("apart", "b")
    return f"{len(said)} characters"
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "team.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "said.json").write_text(json.dumps([SECRET, TOKEN]))
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    return tmp_path


def team(first: str = "main", *, asks: bool = False, **entry: Any) -> Graph:
    names = dict.fromkeys((first, "helper", "talker", "apart"))
    workers = [
        worker(
            name,
            "tools",
            *(["helper"] if name not in ("helper", "talker") else []),
            model=f"python:team.py:{name}",
        )
        for name in names
    ]
    tools = toolset("tools", "team.py:tools", leak=["x.tools.leak"], effect=["x.tools.effect"])
    rules: Any = {"x.tools.leak": "allowed", "x.tools.effect": "needs_approval" if asks else "allowed"}
    return graph(*workers, tools, approvals=rules, input=f"go {SECRET} {TOKEN}", **entry)


def go(
    team_graph: Graph,
    root: Path,
    environ: dict[str, str] = ENVIRON,
    replay_mode: ReplayMode | None = None,
    **options: Any,
) -> RunOutcome:
    runs = Runs(root)
    is_new = not runs.path("r").exists()
    with runs.create("r") if is_new else runs.open("r") as journal:
        recorder = Recorder(journal, Redaction.of(environ), replay_mode)
        begun = None if is_new else journal.get("go", "run")
        text = journal.whole(begun)["input"] if begun else None
        return run_sync(
            with_code(team_graph, root),
            root=root,
            prompts=prompts(team_graph),
            entry="go",
            options=RunOptions(run="r", recorder=recorder, input=text, **options),
        )


def without_journal(team_graph: Graph, root: Path) -> str:
    outcome = run_sync(
        with_code(team_graph, root),
        root=root,
        prompts=prompts(team_graph),
        entry="go",
        options=RunOptions(approver=ApproveAll()),
    )
    assert outcome.output is not None, outcome.error
    (root / "effects.log").unlink()
    return outcome.output


def effects(root: Path) -> list[Any]:
    return [json.loads(line) for line in (root / "effects.log").read_text().splitlines()]


def forms() -> list[bytes]:
    once = json.dumps(SECRET)[1:-1]
    return [form.encode() for form in (SECRET, "rd/7f3a", once, json.dumps(SECRET, ensure_ascii=False)[1:-1])]


def require_clean(root: Path) -> None:
    """No byte of the secret is in any file of the run: the journal, its log, its anchor."""
    files = [path for path in (root / ".llmdo").rglob("*") if path.is_file()]
    assert len(files) > 2
    for path in files:
        assert not [form for form in forms() if form in path.read_bytes()], path


def answer_all(root: Path) -> None:
    with Runs(root).open("r") as journal:
        for question in waiting(journal).values():
            answer = {"allowed": True, "by": "ada", "reason": "", "told": "", "expires": None}
            add_answer(journal, question, answer, at_terminal=False)


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.runtime.test_kept_secrets import go, team
go(team(), Path(sys.argv[2]))
"""


@pytest.mark.long
def test_a_killed_run_goes_on_with_the_very_same_text(root: Path) -> None:
    expected = without_journal(team(), root)
    assert expected.count(TOKEN) > 4
    killed = forking.run(
        [sys.executable, "-c", CHILD, str(Path(__file__).parent.parent.parent), str(root)],
        env={**os.environ, "DIE": "1"},
        capture_output=True,
    )
    assert killed.returncode == -9, killed.stderr
    assert effects(root) == [[f"{SECRET} {TOKEN} ordinary", {SECRET: TOKEN}]]
    require_clean(root)
    [path] = {"main/effect#1"}
    outcome = go(team(), root, replay_mode=ReplayMode(again=frozenset({path})))
    assert (outcome.status, outcome.output) == ("completed", expected)
    require_clean(root)
    with Runs(root).read("r", whole=True) as journal:
        assert list(journal.faults()) == []
        assert TOKEN in "".join(entry.body.decode() for entry in journal.entries())
        assert not [line for line in journal.lines() if TOKEN in line or "rd/7f3a" in line]


@pytest.mark.long
@pytest.mark.parametrize("environ", [ENVIRON, AGAIN])
def test_a_run_that_waited_goes_on_with_the_very_same_text(root: Path, environ: dict[str, str]) -> None:
    expected = without_journal(team(asks=True), root)
    assert go(team(asks=True), root, approver=AskLater()).status == "waiting"
    require_clean(root)
    with Runs(root).read("r") as journal:
        [question] = waiting(journal).values()
    assert json.loads(json.dumps(question.record["arguments"])) == {
        "text": "[redacted ACME_API_KEY] [redacted] ordinary",
        "more": {"[redacted ACME_API_KEY]": "[redacted]"},
    }
    answer_all(root)
    assert go(team(asks=True), root, environ, approver=AskLater()).status == "waiting"
    assert effects(root) == [[f"{SECRET} {TOKEN} ordinary", {SECRET: TOKEN}]], (
        "the answer counts for the very call"
    )
    answer_all(root)
    outcome = go(team(asks=True), root, environ, approver=AskLater())
    assert (outcome.status, outcome.output) == ("completed", expected)
    require_clean(root)


@pytest.mark.long
@pytest.mark.parametrize("environ", OTHERS)
def test_another_value_stops_what_needs_the_one_that_it_was(root: Path, environ: dict[str, str]) -> None:
    expected = without_journal(team(asks=True), root)
    go(team(asks=True), root, approver=AskLater())
    answer_all(root)
    stopped = go(team(asks=True), root, environ, approver=AskLater())
    has = "another one now" if environ else "none now"
    assert (stopped.status, stopped.output) == ("failed", None)
    assert stopped.error == (
        f"main/effect#1: the value that `ACME_API_KEY` had when it was recorded is needed, and it has {has}"
    )
    assert stopped.hint == "the journal keeps no secret: set `ACME_API_KEY` to the value that it had"
    assert not (root / "effects.log").exists()
    assert go(team(asks=True), root, approver=AskLater()).status == "waiting"
    answer_all(root)
    stopped = go(team(asks=True), root, environ, approver=AskLater())
    assert "main/effect#2: the value" not in (stopped.error or "")
    assert "main: the value that `ACME_API_KEY` had" in (stopped.error or ""), "its model would be told of it"
    outcome = go(team(asks=True), root, approver=AskLater())
    assert (outcome.status, outcome.output) == ("completed", expected)
    assert len(effects(root)) == 2


@pytest.mark.long
@pytest.mark.parametrize("environ", OTHERS)
def test_another_value_stops_nothing_that_does_not_need_it(root: Path, environ: dict[str, str]) -> None:
    team_graph = team("apart", asks=True, worker="apart")
    team_graph = graph_without_input(team_graph)
    assert go(team_graph, root, approver=AskLater()).status == "waiting"
    answer_all(root)
    assert go(team_graph, root, approver=AskLater()).status == "waiting", (
        "the helper is done, its caller asks"
    )
    answer_all(root)
    outcome = go(team_graph, root, environ, approver=AskLater())
    assert (outcome.status, outcome.output) == ("completed", "done"), outcome.error
    assert [effect[0] for effect in effects(root)] == [f"{SECRET} {TOKEN} ordinary", "b"]
    assert go(team_graph, root, environ, replay_mode=ReplayMode(live=False)).output == "done"


def graph_without_input(team_graph: Graph) -> Graph:
    from llmdo.base.values import replace

    return replace(team_graph, entries={"go": replace(team_graph.entries["go"], input="go")})


@pytest.mark.long
@pytest.mark.parametrize("environ", [*OTHERS, AGAIN])
def test_a_replay_is_told_apart_by_what_it_says_alone(root: Path, environ: dict[str, str]) -> None:
    expected = without_journal(team(), root)
    assert go(team(), root).output == expected
    for environ_then in (ENVIRON, AGAIN):
        assert go(team(), root, environ_then, replay_mode=ReplayMode(live=False)).output == expected
    if environ is not AGAIN:
        lacking = go(team(), root, environ, replay_mode=ReplayMode(live=False))
        assert lacking.output is None
        assert "go: the value that `ACME_API_KEY` had when it was recorded is needed" in (lacking.error or "")


@pytest.mark.long
def test_code_is_never_handed_what_stands_for_a_secret(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team_graph = team(asks=True, function="team.py:entry", calls=("helper", "talker", "apart"))
    team_graph = graph_without_input(team_graph)
    for _ in range(2):
        assert go(team_graph, root, approver=AskLater()).status == "waiting"
        answer_all(root)
    for _ in range(2):
        go(team_graph, root, approver=AskLater())
        answer_all(root)
    done = len(effects(root))
    for environ in OTHERS:
        monkeypatch.setenv("ACME_API_KEY", environ.get("ACME_API_KEY", ""))
        stopped = go(team_graph, root, environ, approver=AskLater())
        assert stopped.output is None
        assert len(effects(root)) == done
        if environ:  # where the function is called with the value of today, that is no other call
            assert "go/talker#1: the value that `ACME_API_KEY` had" in (stopped.error or "")
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    outcome = go(team_graph, root, approver=ApproveAll())
    assert (outcome.status, outcome.output) == ("completed", f"{len(SECRET) + 6} characters"), outcome.error


def test_no_function_is_called_with_what_stands_for_a_secret(root: Path) -> None:
    team_graph = team(asks=True, function="team.py:noting", calls=("apart",))
    assert go(team_graph, root, approver=AskLater()).status == "waiting"
    for environ in OTHERS:
        stopped = go(team_graph, root, environ, approver=AskLater())
        assert "go: the value that `ACME_API_KEY` had" in (stopped.error or "")
    assert effects(root) == [[f"go {SECRET} {TOKEN}"]]


def test_a_token_in_an_argument_is_handed_on_as_it_is(root: Path) -> None:
    (root / "said.json").write_text(json.dumps(["no secret at all", TOKEN]))
    expected = without_journal(team(asks=True), root)
    go(team(asks=True), root, {}, approver=AskLater())
    answer_all(root)
    go(team(asks=True), root, {}, approver=AskLater())
    assert effects(root) == [[f"no secret at all {TOKEN} ordinary", {"no secret at all": TOKEN}]]
    answer_all(root)
    assert go(team(asks=True), root, {}, approver=AskLater()).output == expected


def test_nothing_that_is_shown_of_a_run_holds_a_secret_or_a_token(root: Path) -> None:
    assert go(team(), root).status == "completed"
    with Runs(root).read("r") as journal:
        summarized = summary(journal, is_running=False)
        assert summarized is not None
        shown = [write(summarized, tree(journal)) for write in (as_text, as_json, as_markdown)]
        shown += [json.dumps(entry.data, ensure_ascii=False) for entry in journal.entries()]
        shown += journal.lines()
    text = "".join(shown)
    assert "[redacted ACME_API_KEY]" in text
    assert TOKEN not in text
    assert not [
        text[max(0, text.find(form.decode()) - 90) :][:120] for form in forms() if form.decode() in text
    ]


@pytest.mark.long
def test_no_digest_of_a_run_depends_on_a_secret(root: Path) -> None:
    """Who has a digest, and all else that it is of, could try out what the secret may have been."""
    digests = []
    for value in (SECRET, 'th"e\\o-thör/7f3b'):
        (root / "said.json").write_text(json.dumps([value, TOKEN]))
        team_graph = graph_without_input(team(asks=True))
        folder = root / str(len(digests))
        folder.mkdir()
        for name in ("team.py", "said.json"):
            (folder / name).write_bytes((root / name).read_bytes())
        go(team_graph, folder, {"ACME_API_KEY": value}, approver=AskLater())
        answer_all(folder)
        go(team_graph, folder, {"ACME_API_KEY": value}, approver=AskLater())
        with Runs(folder).read("r") as journal:
            digested = [
                (entry.path, entry.kind, entry.digest) for entry in journal.entries() if entry.kind != "call"
            ]
            lines = [json.loads(line) for line in journal.lines()]
            digested += [("audit", line["kind"], line.get("sha256", "")) for line in lines]
            contents = sorted(name for (name,) in journal._read("SELECT digest FROM content"))
        digests.append((digested, contents))
    assert any(kind == "asked" for _, kind, _ in digests[0][0])
    assert any(kind == "finished" for _, kind, _ in digests[0][0])
    for first, second in zip(*digests, strict=True):
        assert list(set(first) ^ set(second)) == []


@pytest.mark.long
def test_a_call_of_a_thread_is_found_again_whatever_is_secret_by_now(root: Path) -> None:
    team_graph = graph_without_input(team(asks=True, function="team.py:threads", calls=("helper", "apart")))
    assert go(team_graph, root, approver=AskLater()).status == "waiting"
    answer_all(root)
    assert go(team_graph, root, approver=AskLater()).status == "waiting"
    for _ in range(2):
        answer_all(root)
        outcome = go(team_graph, root, AGAIN, approver=AskLater())
    assert (outcome.status, outcome.output) == ("completed", "I keep it to myself"), outcome.error
    assert len(effects(root)) == 3
