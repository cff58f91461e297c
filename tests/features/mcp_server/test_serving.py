"""`llmdo serve mcp`, used by a real client of the protocol."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as Remote
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

import llmdo
from llmdo.cli.terminal import Terminal
from llmdo.features.mcp_server.served import ServedTeam
from llmdo.features.mcp_server.serving import ServeRequest, Service, service_for
from llmdo.journal import Runs
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import Answers
from llmdo.runtime import AskLater, RunOptions
from llmdo.services import answering as approving
from llmdo.services.offers import offers_of
from llmdo.workspace import project
from tests.support.building import script

MANIFEST = """
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]

[approvals.rules]
"fs.write:free/**" = "allowed"

[entries.ask]
worker = "main"

[entries.typed]
worker = "typed"

[entries.preset]
worker = "main"
input = "as always"
"""
WORKERS = {
    "main": "description: Answers.\ntoolsets: { filesystem: { write: ['**'] } }\n",
    "typed": "schema_in_ref: shapes.py:Order\nschema_out_ref: shapes.py:Bill\n",
}
SHAPES = """
from pydantic import BaseModel

class Order(BaseModel):
    "What is ordered."
    item: str
    number: int

class Bill(BaseModel):
    total: int
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST)
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "free").mkdir()
    for name, header in WORKERS.items():
        (tmp_path / f"{name}.worker").write_text(
            f"---\nname: {name}\nmodel: python:models.py:{name}\n{header}---\nDo it.\n"
        )
    return tmp_path


def service(root: Path, *names: str, keeps: bool = False) -> Service:
    read = project.read(root)
    team = ServedTeam(graph=read.graph, root=root, prompts=read.prompts, options=RunOptions(), keeps=keeps)
    return Service(team=team, offers=offers_of(read.graph, root, names))


def using(root: Path, work: Callable[[Client], Any], *names: str, keeps: bool = False, **client: Any) -> Any:
    """What `work` returns, given a client that is connected to the entries in this very process."""

    async def session() -> Any:
        options = {"mode": "legacy", **client}
        async with Client(service(root, *names, keeps=keeps).server(), **options) as connected:
            return await work(connected)

    return asyncio.run(session())


def test_entries_are_tools_with_the_types_of_their_workers(root: Path) -> None:
    script(root, main=["x"], typed=["x"])
    tools = {tool.name: tool for tool in using(root, lambda client: client.list_tools()).tools}
    assert list(tools) == ["ask", "preset", "typed"]
    assert tools["ask"].description == "Answers."
    assert tools["ask"].input_schema["required"] == ["input"]
    assert tools["preset"].input_schema["required"] == []
    assert set(tools["typed"].input_schema["properties"]) == {"item", "number"}
    assert set(tools["typed"].output_schema["properties"]) == {"total"}
    assert [tool.name for tool in using(root, lambda client: client.list_tools(), "ask").tools] == ["ask"]


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_is_a_run_with_progress(root: Path, mode: str) -> None:
    script(root, main=[[("list_files", {})], "done {prompt}"], typed=["x"])
    steps: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    call = lambda client: client.call_tool("ask", {"input": "hello"}, progress_callback=hear)  # noqa: E731
    result = using(root, call, mode=mode)
    assert result.content[0].text == "done hello"
    assert "main ..." in " ".join(steps)
    assert any("list_files#1: success" in step for step in steps)
    assert steps[-1] == "main: done", "all of it came before the result"
    assert using(root, lambda client: client.call_tool("preset", {})).content[0].text == "done as always"


def test_a_typed_entry_takes_and_gives_data(root: Path) -> None:
    bill = [("final_result", {"total": 6})]
    script(root, main=["x"], typed=[bill])
    result = using(root, lambda client: client.call_tool("typed", {"item": "a", "number": 2}))
    assert result.structured_content == {"total": 6}
    wrong = using(root, lambda client: client.call_tool("typed", {"item": "a"}))
    assert wrong.is_error
    assert "number" in wrong.content[0].text


STREAMING = """
from pydantic_ai.models.function import FunctionModel

async def pieces(messages, info):
    for word in ("One ", "piece ", "after another."):
        yield word

main = typed = FunctionModel(stream_function=pieces)
"""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_answer_is_reported_as_it_arrives(root: Path, mode: str) -> None:
    (root / "models.py").write_text(STREAMING)
    steps: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    call = lambda client: client.call_tool("ask", {"input": "x"}, progress_callback=hear)  # noqa: E731
    result = using(root, call, mode=mode)
    assert result.content[0].text == "One piece after another."
    assert "main: One piece after another." in steps
    assert steps[-1] == "main: done"


def test_a_call_goes_on_from_an_earlier_run(root: Path) -> None:
    script(root, main=["first {prompt}", "then {prompt}"], typed=["x"])

    async def work(client: Client) -> Any:
        tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        first = await client.call_tool("ask", {"input": "hello"})
        run = first.meta["llmdo/run"]
        assert run in first.content[-1].text
        arguments = [
            ("ask", {"input": "and now", "continue_from": run}),
            ("preset", {"input": "and now", "continue_from": run}),
            ("ask", {"continue_from": run}),
            ("ask", {"input": "x", "continue_from": "last"}),
            ("ask", {"input": "x", "continue_from": 3}),
        ]
        return tools, [await client.call_tool(*call) for call in arguments]

    tools, (second, other, *wrong) = using(root, work, keeps=True, mode="auto")
    assert "continue_from" in tools["ask"]
    assert "continue_from" not in tools["typed"]
    assert second.content[0].text == "then hello"
    assert "there is no run" in other.content[0].text, "that of another entry"
    assert [result.is_error for result in (other, *wrong)] == [True] * 4


def test_only_runs_of_clients_are_gone_on_from(root: Path) -> None:
    script(root, main=["secret", "then"], typed=["x"])
    run = llmdo.run(root, "ask", "hello", journal=True).run
    arguments = {"input": "x", "continue_from": run}
    result = using(root, lambda client: client.call_tool("ask", arguments), keeps=True)
    assert "there is no run" in result.content[0].text


WRITE: list[Any] = [[("write_file", {"path": "notes.txt", "content": "\u202ehello"})], "{results}"]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (ElicitResult(action="accept", content={"allow": True}), True),
        (ElicitResult(action="accept", content={"allow": False}), False),
        (ElicitResult(action="decline"), False),
        (None, False),
    ],
)
def test_the_person_at_the_client_is_asked(root: Path, answer: Any, written: bool) -> None:
    script(root, main=WRITE, typed=["x"])
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return answer

    handler = {"elicitation_callback": elicit} if answer else {}
    using(root, lambda client: client.call_tool("ask", {"input": "x"}), **handler)
    assert (root / "notes.txt").exists() is written
    assert len(asked) == bool(answer)
    if asked:
        assert "notes.txt" in asked[0]
        assert "\u202e" not in asked[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (ElicitResult(action="accept", content={"allow": True}), True),
        (ElicitResult(action="accept", content={"allow": False}), False),
        (ElicitResult(action="accept", content={"allow": "true"}), False),
        (ElicitResult(action="accept"), False),
        (ElicitResult(action="decline"), False),
    ],
)
def test_a_client_of_today_asks_its_person_between_two_calls(root: Path, answer: Any, written: bool) -> None:
    script(root, main=WRITE, typed=["x"])
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return answer

    result = using(
        root,
        lambda client: client.call_tool("ask", {"input": "x"}),
        keeps=True,
        mode="auto",
        elicitation_callback=elicit,
    )
    assert (root / "notes.txt").exists() is written
    assert len(asked) == 1
    assert "notes.txt" in asked[0]
    assert "\u202e" not in asked[0]
    assert not result.is_error
    refusals = [block.text for block in result.content if block.text.startswith("refused: ")]
    assert len(refusals) == (not written)
    assert result.meta["llmdo/refused"] == ([] if written else ["main/write_file#1"])


def waits(result: Any) -> str:
    """The run that `result` says waits."""
    assert result.content[0].text.startswith("waiting: run ")
    assert result.structured_content["status"] == "waiting"
    return str(result.structured_content["run"])


def continued(root: Path, run: str, *names: str, **more: Any) -> Any:
    arguments = {"run": run, **more}
    return using(root, lambda client: client.call_tool("continue_run", arguments), *names, keeps=True)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_where_nobody_can_be_asked_the_run_waits_for_a_person(root: Path, mode: str) -> None:
    script(root, main=WRITE, typed=["x"])
    run = waits(using(root, lambda client: client.call_tool("ask", {"input": "x"}), keeps=True, mode=mode))
    assert waits(continued(root, run)) == run, "whoever calls answers nothing"
    assert waits(continued(root, run)) == run
    assert "one argument" in continued(root, run, allow=True).content[0].text
    path = "main/write_file#1"
    service(root, keeps=True).team.answer(run, {path: "of another question"}, {path: True})
    assert waits(continued(root, run)) == run, "an answer is for what was shown"
    assert not (root / "notes.txt").exists()
    answers = approving.Answers(yes=["main/write_file#1"])
    approving.approve(approving.ApproveRequest(root=root, run=run, answers=answers))
    assert "success" in continued(root, run).content[0].text
    assert (root / "notes.txt").exists()
    assert "success" in continued(root, run).content[0].text, "a complete run says again what it said"


def test_a_person_who_answers_nothing_leaves_the_run_waiting(root: Path) -> None:
    script(root, main=WRITE, typed=["x"])

    async def elicit(context: Any, params: Any) -> Any:
        return ElicitResult(action="cancel")

    call = lambda client: client.call_tool("ask", {"input": "x"})  # noqa: E731
    result = using(root, call, keeps=True, mode="auto", elicitation_callback=elicit)
    assert waits(continued(root, waits(result)))
    assert not (root / "notes.txt").exists()


def test_answers_that_belong_to_no_question_count_for_nothing(root: Path) -> None:
    script(root, main=WRITE, typed=["x"])
    yes = ElicitResult(action="accept", content={"allow": True})

    async def work(client: Client) -> Any:
        arguments = {"name": "ask", "arguments": {"input": "x"}, "allow_input_required": True}
        asked = await client.session.call_tool(**arguments)
        path = next(iter(asked.input_requests))
        unasked = await client.session.call_tool(**arguments, input_responses={path: yes})
        other = await client.session.call_tool(
            **arguments, input_responses={"main": yes}, request_state=asked.request_state
        )
        with pytest.raises(Exception, match="requestState"):
            await client.session.call_tool(
                **arguments, input_responses={path: yes}, request_state=f"{asked.request_state}x"
            )
        with pytest.raises(Exception, match="requestState"):
            await client.session.call_tool(
                "preset", {}, input_responses={path: yes}, request_state=asked.request_state
            )
        return unasked, other

    async def elicit(context: Any, params: Any) -> Any:
        return yes

    unasked, other = using(root, work, keeps=True, mode="auto", elicitation_callback=elicit)
    assert unasked.input_requests, "a call that hands over answers is a new run like any other"
    assert waits(other)
    assert not (root / "notes.txt").exists()


def test_no_other_run_of_the_workspace_is_gone_on_with(root: Path) -> None:
    script(root, main=WRITE, typed=["x"])
    llmdo.run(root, "ask", input="x", approver=AskLater(), journal=True)
    run = Runs(root).find("last")
    for name in (run, "last", "../x", "20200101T000000000-00000000"):
        result = continued(root, name)
        assert result.is_error
        assert "there is no run" in result.content[0].text
    served = waits(using(root, lambda client: client.call_tool("ask", {"input": "x"}), keeps=True))
    assert "there is no run" in continued(root, served, "typed").content[0].text, "its entry is not offered"


def test_a_served_run_is_resumed_under_the_policy_of_the_person_who_serves_it_now(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(root, main=WRITE, typed=["x"])
    folder = tmp_path_factory.mktemp("config")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    run = waits(using(root, lambda client: client.call_tool("ask", {"input": "x"}), keeps=True))
    approving.approve(
        approving.ApproveRequest(root=root, run=run, answers=Answers(yes=["main/write_file#1"]))
    )
    (folder / "llmdo").mkdir()
    rules = '[approvals.rules]\n"fs.write:notes.txt" = "blocked"\n'
    (folder / "llmdo/policy.toml").write_text(f"schema = 1\n{rules}")

    async def session() -> Any:
        serving = service_for(ServeRequest(project=str(root)), Terminal())
        async with Client(serving.server(), mode="legacy") as client:
            return await client.call_tool("continue_run", {"run": run})

    assert '"fs.write:notes.txt" = "blocked"' in asyncio.run(session()).content[0].text
    assert not (root / "notes.txt").exists()


@pytest.mark.long
@pytest.mark.fleet
def test_a_run_that_is_served_goes_on_from_a_store(
    root: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_STORE", store)
    script(root, main=WRITE, typed=["x"])
    served = waits(using(root, lambda client: client.call_tool("ask", {"input": "x"}), keeps=True))
    assert Runs(root).names() == []
    assert runs_of(root).names() == [served]
    approving.approve(
        approving.ApproveRequest(root=root, run=served, answers=Answers(yes=["main/write_file#1"]))
    )
    assert not continued(root, served).is_error
    assert (root / "notes.txt").exists()


def test_what_only_a_terminal_may_allow_is_not_asked(root: Path) -> None:
    script(root, main=[[("write_file", {"path": "llmdo.toml", "content": "x"})], "{results}"], typed=["x"])

    async def elicit(*_: Any) -> Any:
        return ElicitResult(action="accept", content={"allow": True})

    result = using(root, lambda client: client.call_tool("ask", {"input": "x"}), elicitation_callback=elicit)
    assert "needs approval, which was not given" in result.content[0].text
    assert result.content[1].text.startswith("refused: main/write_file#1: ")
    assert "schema = 1" in (root / "llmdo.toml").read_text()
    for mode in ("legacy", "auto"):
        call = lambda client: client.call_tool("ask", {"input": "x"})  # noqa: E731
        waits(using(root, call, keeps=True, mode=mode, elicitation_callback=elicit))
    assert "schema = 1" in (root / "llmdo.toml").read_text()


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("nobody", {}, "there is no entry `nobody`"),
        ("ask", {"input": 3}, "the text `input`"),
        ("ask", {"input": "x", "more": "y"}, "the text `input`"),
        ("ask", {}, "needs an input"),
    ],
)
def test_what_cannot_be_called_is_an_error_of_the_tool(
    root: Path, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    script(root, main=["x"], typed=["x"])
    result = using(root, lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert problem in result.content[0].text


WORDS = [sys.executable, "-m", "llmdo", "serve", "mcp"]


@pytest.mark.long
def test_a_client_over_stdio_uses_the_command(root: Path) -> None:
    script(root, main=WRITE, typed=["x"])
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async def session() -> Any:
        server = StdioServerParameters(command=WORDS[0], args=WORDS[1:], cwd=root, env=dict(os.environ))
        async with Client(server, elicitation_callback=elicit) as client:
            return await client.call_tool("ask", {"input": "hello"})

    assert "success" in asyncio.run(session()).content[0].text
    assert len(asked) == 1
    runs = subprocess.run([*WORDS[:3], "runs"], cwd=root, capture_output=True, text=True).stdout
    assert "completed" in runs, "each call keeps a journal"


@pytest.mark.long
def test_a_client_over_http_needs_the_token(root: Path) -> None:
    script(root, main=["done {prompt}"], typed=["x"])
    environ = {**os.environ, "LLMDO_SERVE_TOKEN": "s3cret"}
    running = subprocess.Popen(
        [*WORDS, "--http", "0"], cwd=root, env=environ, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stderr is not None
        line = ""
        while "serving at" not in line:
            line = running.stderr.readline()
            assert line, "it ended"
        url = line.split("serving at ")[1].split(";")[0]
        assert "s3cret" not in line

        async def session(token: str) -> Any:
            headers = {"Authorization": f"Bearer {token}"}
            async with Remote(StreamableHttpTransport(url, headers=headers)) as client:
                return await client.call_tool("ask", {"input": "hello"})

        assert asyncio.run(session("s3cret")).content[0].text == "done hello"
        with pytest.raises(Exception, match="Server returned an error response"):
            asyncio.run(session("other"))
    finally:
        running.terminate()
        running.wait(20)
        assert running.stderr is not None
        running.stderr.close()
