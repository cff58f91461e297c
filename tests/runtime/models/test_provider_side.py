"""Provider-side tools: what the genuine clients send is what the gate let through before the model was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_ai.native_tools import NATIVE_TOOL_TYPES, NATIVE_TOOLS_REQUIRING_CONFIG

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.diff.facts import changes
from llmdo.graph.builtin import PROVIDER_SIDE, tools
from llmdo.graph.resolved import Graph
from llmdo.graph.worker import Use
from llmdo.policy.vocabulary import Decision
from llmdo.reach import Analysis
from llmdo.runtime import Answer, ApproveAll, Question, RejectAll, RunOptions
from llmdo.workspace import lock, project
from tests.support.building import HERE, go, graph, toolset, worker
from tests.support.provider import Say
from tests.support.running import run_sync

from .conftest import Serve

RESPONSES, ANTHROPIC = "openai:gpt-5-mini", "anthropic:claude-opus-4-5"
SEARCH = Use(name=PROVIDER_SIDE, config={"tools": ("web_search",)}, at=HERE)

TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset(id="calc")

@calc.tool_plain
def add(a: int, b: int) -> int:
    return a + b
"""


def searcher(decision: Decision, model: str = RESPONSES) -> Graph:
    main = worker("main", SEARCH, "calc", model=model)
    rules: dict[str, Decision] = {"net.search": decision}
    return graph(main, toolset("calc", "tools.py:calc", add=[]), approvals=rules)


class Counting(ApproveAll):
    """Says yes, and keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return await super().ask(question)


def sent(serve: Serve, team_graph: Graph, root: Path, approver: ApproveAll | RejectAll) -> list[str]:
    """The requests of a run in which the model calls one tool of ours and then answers."""
    (root / "tools.py").write_text(TOOLS, encoding="utf-8")
    server = serve(main=[Say(calls=[("add", {"a": 1, "b": 2})]), Say("Done.")])
    outcome = go(team_graph, root, approver=approver)
    assert (outcome.output, outcome.error) == ("Done.", None)
    return [json.dumps(request.body["tools"]) for request in server.requests]


@pytest.mark.parametrize("model", [RESPONSES, ANTHROPIC])
def test_an_allowed_tool_is_in_every_request(model: str, serve: Serve, tmp_path: Path) -> None:
    requests = sent(serve, searcher("allowed", model), tmp_path, RejectAll())
    assert len(requests) == 2
    assert all("web_search" in request for request in requests)


@pytest.mark.parametrize("model", [RESPONSES, ANTHROPIC])
def test_a_blocked_tool_is_in_no_request(model: str, serve: Serve, tmp_path: Path) -> None:
    requests = sent(serve, searcher("blocked", model), tmp_path, ApproveAll())
    assert len(requests) == 2
    assert not any("web_search" in request for request in requests)


def test_a_tool_outside_a_ceiling_is_in_no_request(serve: Serve, tmp_path: Path) -> None:
    team_graph = graph(
        worker("main", SEARCH, "calc", model=RESPONSES, may=["fs.read"]),
        toolset("calc", "tools.py:calc", add=[]),
        approvals={"net.search": "allowed"},
    )
    assert not any("web_search" in request for request in sent(serve, team_graph, tmp_path, ApproveAll()))


def test_a_tool_that_needs_approval_is_asked_about_once_and_before_it_is_offered(
    serve: Serve, tmp_path: Path
) -> None:
    approver = Counting()
    requests = sent(serve, searcher("needs_approval"), tmp_path, approver)
    assert all("web_search" in request for request in requests)
    assert [
        (question.path, question.tool, [*map(str, question.capabilities)]) for question in approver.questions
    ] == [("main/web_search", "web_search", ["data.untrusted", "net.search"])]


def test_a_tool_that_was_not_approved_is_in_no_request(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    server = serve(main=[Say("Done.")])
    outcome = go(searcher("needs_approval"), tmp_path, approver=RejectAll())
    assert "web_search" not in json.dumps(server.requests[0].body)
    assert [(call.path, call.decision) for call in outcome.denied] == [("main/web_search", "needs_approval")]


@pytest.mark.parametrize("chain", [("openai-chat:gpt-5-mini",), (RESPONSES, "openai-chat:gpt-5-mini")])
def test_a_model_without_the_tool_is_reported_before_anything_is_asked(
    chain: tuple[str, ...], serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[])
    team_graph = graph(worker("main", SEARCH, model="some"), aliases={"some": chain})
    message = "worker `main` names the provider-side tool `web_search`, which `openai-chat:gpt-5-mini` does not offer"
    with pytest.raises(LlmdoError, match=message):
        go(team_graph, tmp_path)
    assert server.requests == []


def test_a_model_that_brings_tools_along_in_its_settings_is_refused(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[])
    (tmp_path / "models.py").write_text(
        "from pydantic_ai.models.openai import OpenAIResponsesModel\n"
        "settings = {'openai_native_tools': [{'type': 'web_search'}]}\n"
        "sly = OpenAIResponsesModel('gpt-5-mini', settings=settings)\n"
    )
    team_graph = graph(worker("main", model="python:models.py:sly"), approvals={"net": "blocked"})
    message = "settings of `python:models.py:sly` hold tools in `openai_native_tools`"
    with pytest.raises(LlmdoError, match=message):
        go(team_graph, tmp_path)
    assert server.requests == []


OPTIONS = {"max_uses": 3, "allowed_domains": ["example.org"]}


def team(root: Path, native_tools: object) -> Graph:
    """The graph of a worker with these tools, as its lock has it."""
    (root / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n', encoding="utf-8"
    )
    header = f"name: main\nmodel: {ANTHROPIC}\nentry: true\nnative_tools: {json.dumps(native_tools)}"
    (root / "main.worker").write_text(f"---\n{header}\n---\nGo.\n", encoding="utf-8")
    lock.write(root, project.read(root).graph)
    assert project.read(root).is_current
    source = Source("llmdo.lock", (root / "llmdo.lock").read_text(encoding="utf-8"))
    locked = lock.read(source).graph
    assert locked
    return locked


def test_options_hold_at_the_provider_as_the_lock_has_them(serve: Serve, tmp_path: Path) -> None:
    graph = team(tmp_path, {"web_search": OPTIONS})
    server = serve(main=[Say("Done.")])
    outcome = run_sync(
        graph,
        root=tmp_path,
        prompts={"main": "You are main."},
        entry="main",
        options=RunOptions(input="x", approver=ApproveAll()),
    )
    assert outcome.output == "Done."
    (offered,) = server.requests[0].body["tools"]
    assert {key: offered[key] for key in OPTIONS} == OPTIONS


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"max_uses": 3}, {"max_uses": 4}, "widens"),
        ({"max_uses": 3}, {}, "widens"),
        ({"max_uses": 3}, {"max_uses": 2}, "narrows"),
        ({"allowed_domains": ["a.org"]}, {"allowed_domains": ["a.org", "b.org"]}, "widens"),
        ({"allowed_domains": ["a.org"]}, {}, "widens"),
        ({}, {"allowed_domains": ["a.org"]}, "narrows"),
        ({"blocked_domains": ["a.org", "b.org"]}, {"blocked_domains": ["a.org"]}, "widens"),
        ({"blocked_domains": ["a.org"]}, {"blocked_domains": ["a.org", "b.org"]}, "narrows"),
    ],
)
def test_diff_says_what_options_do(tmp_path: Path, before: object, after: object, effect: str) -> None:
    graphs = []
    for name, options in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        graphs.append(team(tmp_path / name, {"web_search": options}))
    assert [change.effect for change in changes(*graphs)] == [effect]


def test_a_tool_that_goes_takes_its_options_along(tmp_path: Path) -> None:
    graphs = []
    for name, named in (("before", {"web_search": OPTIONS, "web_fetch": {}}), ("after", ["web_fetch"])):
        (tmp_path / name).mkdir()
        graphs.append(team(tmp_path / name, named))
    assert [change.route[2] for change in changes(*graphs)] == ["native-tools"]


def test_every_tool_that_needs_no_configuration_and_answers_in_words_can_be_named() -> None:
    kinds = {name for name, kind in NATIVE_TOOL_TYPES.items() if kind not in NATIVE_TOOLS_REQUIRING_CONFIG}
    worker_schema = json.loads(Path("schemas/worker.json").read_text(encoding="utf-8"))
    listed = worker_schema["properties"]["native_tools"]
    named = listed["items"]["enum"]
    assert set(listed["properties"]) == set(named)
    assert kinds - {"image_generation"} == set(named)
    assert set(tools(PROVIDER_SIDE, {"tools": named})) == set(named)


def test_check_reach_and_lock_know_them(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n', encoding="utf-8"
    )
    (tmp_path / "main.worker").write_text(
        "---\nname: main\nentry: true\nnative_tools: [web_search, code_execution]\n---\nGo.\n",
        encoding="utf-8",
    )
    read = project.read(tmp_path)
    rows = Analysis(read.graph).of(read.graph.entries["main"])
    assert {str(row.capability): (row.decision, row.tool) for row in rows} == {
        "data.untrusted": ("needs_approval", "web_search"),
        "net.connect": ("needs_approval", "code_execution"),
        "net.search": ("needs_approval", "web_search"),
    }
    lock.write(tmp_path, read.graph)
    assert project.read(tmp_path).is_current
    text = (tmp_path / "llmdo.lock").read_text(encoding="utf-8")
    assert 'native-tools = [\n    "code_execution",\n    "web_search",\n]\n' in text
