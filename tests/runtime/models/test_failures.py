"""What is done about a provider that fails: asked again where that may help, and never for long."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.worker import Use
from llmdo.policy.vocabulary import Decision
from llmdo.runtime.models.requests import LONGEST_WAIT, RETRIES, wait_after
from llmdo.runtime.telemetry.events import Event, ModelFailed
from tests.support.building import HERE, go, graph, worker
from tests.support.provider import Answer, Fail, Raw, Say

from .conftest import Serve
from .test_clients import ANTHROPIC, CALC, CHAT, MODELS, RESPONSES, TOOLS, streaming

WHOLE = {"max_tokens": 100}  # with it Anthropic is asked for a whole answer


def failures(events: list[Event]) -> list[ModelFailed]:
    return [event for event in events if isinstance(event, ModelFailed)]


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_failure_that_passes_is_asked_again_as_often_as_allowed(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Fail(500), Fail(429), Say("Done.")])
    events: list[Event] = []
    outcome = go(graph(worker("main", model=model)), tmp_path, on_event=events.append)
    assert (outcome.output, outcome.usage.requests) == ("Done.", 3)
    assert [(failure.path, failure.attempt, failure.wait) for failure in failures(events)] == [
        ("main", 1, 0.01),
        ("main", 2, 0.01),
    ]
    assert len(server.requests) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_provider_that_stays_down_fails_the_run_with_a_sentence(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Fail(503)] * 9)
    outcome = go(graph(worker("main", model=model)), tmp_path)
    assert outcome.status == "failed"
    assert "503" in (outcome.error or "")
    assert "\n" not in (outcome.error or "")
    assert len(server.requests) == 1 + RETRIES


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_workers_max_retries_holds(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(500)] * 9)
    go(graph(worker("main", model=model, model_settings={"max_retries": 0})), tmp_path)
    assert len(server.requests) == 1


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("status", "requests"),
    [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (408, 2), (409, 2), (429, 2), (500, 2), (529, 2)],
)
def test_only_what_may_pass_is_asked_again(status: int, requests: int, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(status), Say("Done.")])
    outcome = go(graph(worker("main", model=CHAT)), tmp_path)
    assert outcome.status == ("completed" if requests == 2 else "failed")
    assert len(server.requests) == requests


def test_a_used_up_quota_is_not_asked_again(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(429, code="insufficient_quota"), Say("Done.")])
    assert go(graph(worker("main", model=CHAT)), tmp_path).status == "failed"
    assert len(server.requests) == 1


def test_the_provider_says_how_long_to_wait(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(429, {"retry-after-ms": "250"}), Fail(429, {"Retry-After": "0"}), Say("Done.")])
    events: list[Event] = []
    assert go(graph(worker("main", model=CHAT)), tmp_path, on_event=events.append).output == "Done."
    first, second, _ = server.requests
    assert second.at - first.at >= 0.25
    assert [failure.wait for failure in failures(events)] == [0.25, 0.0]


def test_a_provider_that_asks_for_a_long_wait_is_not_waited_for(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(429, {"Retry-After": "3600"}), Say("Done.")])
    assert go(graph(worker("main", model=CHAT)), tmp_path).status == "failed"
    assert len(server.requests) == 1


def test_without_a_word_of_the_provider_waits_grow() -> None:
    error = ModelHTTPError(503, "m")
    waits = [wait_after(error, attempt) or 0 for attempt in range(1, 12)]
    assert all(
        0.75 * least <= wait <= 1.25 * least for wait, least in zip(waits, (0.5, 1, 2, 4, 8), strict=False)
    )
    assert max(waits) <= 1.25 * LONGEST_WAIT


@pytest.mark.parametrize(
    ("error", "repeated"),
    [
        (ModelHTTPError(429, "m"), True),
        (ModelHTTPError(500, "m"), False),
        (ModelHTTPError(429, "m", in_stream=True), False),
        (ModelConnectionError("m", "refused", phase="connect"), True),
        (ModelConnectionError("m", "cut", phase="read"), False),
        (ModelConnectionError("m", "lost"), False),
    ],
)
def test_a_request_with_tools_of_the_provider_is_repeated_only_if_it_was_not_begun(
    error: Exception, repeated: bool
) -> None:
    assert (wait_after(error, 1, has_effects=True) is not None) == repeated


@pytest.mark.parametrize(("decision", "requests"), [("allowed", 1), ("blocked", 2)])
def test_a_request_that_offered_tools_of_the_provider_is_not_repeated(
    decision: Decision, requests: int, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Fail(500), Say("Done.")])
    search = Use(name=PROVIDER_SIDE, config={"tools": ("web_search",)}, at=HERE)
    team_graph = graph(worker("main", search, model=RESPONSES), approvals={"net.search": decision})
    outcome = go(team_graph, tmp_path)
    assert len(server.requests) == requests
    assert (outcome.status == "completed") == (requests == 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_cut_connection_is_asked_again_and_no_tool_runs_twice(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script: list[Answer] = [
        Say("Adding.", calls=[("add", {"a": 1, "b": 2})]),
        Say("Well.", calls=[("times", {})], cut=True),
        Say("Well.", calls=[("times", {})]),
        Say("Done."),
    ]
    server = serve(main=script)
    outcome = go(graph(worker("main", "calc", model=model), CALC), tmp_path)
    assert (outcome.output, outcome.error) == ("Done.", None)
    assert outcome.usage.tool_calls == 2
    assert [part for part in str(server.requests[-1].body).split("'") if part == "1"] == ["1"]
    assert len(server.requests) == 4


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_breaks_fails_the_run_with_a_sentence(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Say("A long story.", cut=True)])
    outcome = go(graph(worker("main", model=model)), tmp_path, instruments=(streaming(),))
    assert outcome.status == "failed"
    assert outcome.error
    assert "\n" not in outcome.error
    assert len(server.requests) == 1


@pytest.mark.long
@pytest.mark.parametrize("model", [CHAT, RESPONSES, ANTHROPIC])
def test_a_provider_that_is_too_slow_is_given_up(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Say("Late.", delay=600)] * 3)
    settings = {"timeout": 0.4, "max_retries": 1}
    events: list[Event] = []
    team_graph = graph(worker("main", model=model, model_settings=settings))
    outcome = go(team_graph, tmp_path, on_event=events.append)
    assert outcome.status == "failed"
    assert "did not answer in time" in (outcome.error or "")
    assert [failure.attempt for failure in failures(events)] == [1]
    assert server.waited_for(2)
    assert len(server.requests) == 2


def test_a_slow_stream_is_read_to_its_end(serve: Serve, tmp_path: Path) -> None:
    serve(main=[Say("Slow but sure.", delay=0.05)])
    outcome = go(graph(worker("main", model=ANTHROPIC)), tmp_path)
    assert outcome.output == "Slow but sure."


BODIES = ['{"choices": [', "null", "[]", "3", "{}"]


@pytest.mark.few(4)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("body", BODIES)
def test_an_answer_that_is_none_is_asked_for_again(
    model: str, body: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Raw(body), Say("Done.")])
    outcome = go(graph(worker("main", model=model, model_settings=WHOLE)), tmp_path)
    assert (outcome.output, len(server.requests)) == ("Done.", 2)


@pytest.mark.few(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("body", BODIES)
def test_an_answer_that_is_none_fails_the_run_with_a_sentence(
    model: str, body: str, serve: Serve, tmp_path: Path
) -> None:
    serve(main=[Raw(body)] * 9)
    settings = {**WHOLE, "max_retries": 0}
    outcome = go(graph(worker("main", model=model, model_settings=settings)), tmp_path)
    assert outcome.status == "failed"
    assert outcome.error
    assert "\n" not in outcome.error
    name = model.replace("-chat", "")
    assert outcome.error.startswith(f"the answer of `{name}` cannot be read: ")


@pytest.mark.parametrize(
    ("model", "variable"),
    [(CHAT, "OPENAI_API_KEY"), (RESPONSES, "OPENAI_API_KEY"), (ANTHROPIC, "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_one_sentence(
    model: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(LlmdoError) as refused:
        go(graph(worker("main", model=model)), tmp_path)
    assert refused.value.message == f"`{model}` needs the environment variable `{variable}`, which is not set"


@pytest.mark.parametrize(("model", "library"), [(CHAT, "openai"), (ANTHROPIC, "anthropic")])
def test_a_missing_library_is_one_sentence(
    model: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [
        module for module in sys.modules if module.split(".")[0] == library or f".{library}" in module
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(LlmdoError) as refused:
        go(graph(worker("main", model=model)), tmp_path)
    assert refused.value.message == f"`{model}` needs a library that is not installed"
    assert refused.value.hint == installing(library)
