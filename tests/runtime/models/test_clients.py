"""The genuine clients of two providers, driven through the runtime against a scripted test server: not a model."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import Hooks

from llmdo.runtime.telemetry.events import Event, ModelResponded
from tests.support.building import go, graph, toolset, use, worker
from tests.support.provider import Fail, Say

from .conftest import Serve

CHAT, RESPONSES, ANTHROPIC = "openai-chat:gpt-5-mini", "openai:gpt-5-mini", "anthropic:claude-opus-4-5"
MODELS = [CHAT, RESPONSES, ANTHROPIC]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset(id="calc")
made = []

@calc.tool_plain
def add(a: int, b: int) -> int:
    made.append((a, b))
    return a + b

@calc.tool_plain
def times() -> int:
    return len(made)
"""

CALC = toolset("calc", "tools.py:calc", add=[], times=[])


def streaming() -> Hooks[Any]:
    """What makes pydantic-ai stream every request: somebody listens to its events."""
    hooks: Hooks[Any] = Hooks()

    @hooks.on.event
    async def listen(ctx: Any, event: Any) -> Any:
        return event

    return hooks


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def watchers(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The options of a run whose requests are streamed, or not."""
    return {"instruments": (streaming(),)} if request.param else {}


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_tools_are_called_in_parallel_and_their_results_go_back(
    model: str, serve: Serve, watchers: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    calls = [("add", {"a": 1, "b": 2}), ("add", {"a": 20, "b": 2})]
    server = serve(main=[Say("Adding.", calls=calls), Say("Done.")])
    events: list[Event] = []
    team_graph = graph(worker("main", "calc", model=model), CALC)
    outcome = go(team_graph, tmp_path, on_event=events.append, **watchers)
    assert (outcome.output, outcome.error) == ("Done.", None)
    assert outcome.usage.requests == 2
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (200, 20)
    assert outcome.usage.cost_usd
    assert [bool(request.body.get("stream")) for request in server.requests] == [
        bool(watchers) or model == ANTHROPIC
    ] * 2
    sent = json.dumps(server.requests[1].body)
    assert '"22"' in sent
    assert '"3"' in sent
    answers = [event for event in events if isinstance(event, ModelResponded)]
    assert [(answer.text, answer.calls) for answer in answers] == [("Adding.", ("add", "add")), ("Done.", ())]
    assert {answer.model for answer in answers} == {model.replace("-chat", "")}


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_delegate_is_given_an_attachment_and_works_beside_the_others(
    model: str, serve: Serve, watchers: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(PIXEL)
    calls = [("helper", {"input": f"look {n}", "attachments": ["dot.png"]}) for n in range(3)]
    slow = Say("A dot.", beside=3)
    server = serve(main=[Say(calls=calls), Say("Three dots.")], helper=[slow] * 3)
    team_graph = graph(
        worker("main", "helper", use("filesystem"), model=model),
        worker("helper", model=model, attachments={"max": 1}),
    )
    outcome = go(team_graph, tmp_path, **watchers)
    assert (outcome.output, outcome.error) == ("Three dots.", None)
    assert outcome.usage_by_worker["helper"].requests == 3
    requests = server.of("helper")
    assert all(base64.b64encode(PIXEL).decode() in json.dumps(request.body) for request in requests)
    assert json.dumps(server.requests[-1].body).count("A dot.") == 3


@pytest.mark.few(2)
@pytest.mark.parametrize("model", MODELS)
def test_each_worker_asks_its_model_with_its_own_settings(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Say(calls=[("helper", {"input": "x"})]), Say("Done.")], helper=[Say("Helped.")])
    settings = {"temperature": 0.25, "max_tokens": 77, "parallel_tool_calls": False, "max_retries": 1}
    team_graph = graph(
        worker("main", "helper", model="plain"),
        worker("helper", model="plain", model_settings=settings),
        aliases={"plain": (model.replace("gpt-5-mini", "gpt-4o"),)},
    )
    assert go(team_graph, tmp_path).output == "Done."
    helper, main = server.of("helper")[0].body, server.of("main")[0].body
    assert helper["temperature"] == 0.25
    assert 77 in (
        helper.get("max_tokens"),
        helper.get("max_completion_tokens"),
        helper.get("max_output_tokens"),
    )
    assert "temperature" not in main
    assert "max_retries" not in helper


def test_the_next_model_of_a_chain_answers_without_a_wait(serve: Serve, tmp_path: Path) -> None:
    server = serve(**{"main:gpt-5-mini": [Fail(500, {})] * 9, "main:claude-opus-4-5": [Say("Second.")]})
    events: list[Event] = []
    team_graph = graph(worker("main", model="strong"), aliases={"strong": (CHAT, ANTHROPIC)})
    outcome = go(team_graph, tmp_path, on_event=events.append)
    assert outcome.output == "Second."
    assert [request.model for request in server.requests] == ["gpt-5-mini", "claude-opus-4-5"]
    answered = next(event for event in events if isinstance(event, ModelResponded))
    assert answered.model == ANTHROPIC


def test_a_chain_that_failed_as_a_whole_is_tried_again(serve: Serve, tmp_path: Path) -> None:
    server = serve(
        **{
            "main:gpt-5-mini": [Fail(503), Say("First.")],
            "main:claude-opus-4-5": [Fail(401, {}), Fail(401, {})],
        }
    )
    team_graph = graph(worker("main", model="strong"), aliases={"strong": (CHAT, ANTHROPIC)})
    assert go(team_graph, tmp_path).output == "First."
    assert [request.model for request in server.requests] == ["gpt-5-mini", "claude-opus-4-5", "gpt-5-mini"]
