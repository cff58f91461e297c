"""Requests that are streamed because somebody listens: repeated like others, as long as nothing was delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.runtime.models import requests
from llmdo.runtime.telemetry.events import Event, ModelResponded, TextDelta
from tests.support.building import go, graph, worker
from tests.support.provider import Fail, Say

from .conftest import Serve
from .test_clients import ANTHROPIC, CHAT, MODELS, RESPONSES, streaming
from .test_failures import failures


@pytest.mark.few(2)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [429, 500])
def test_a_stream_that_was_refused_is_asked_for_again(
    status: int, model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Fail(status), Fail(status), Say("Done.")])
    events: list[Event] = []
    outcome = go(
        graph(worker("main", model=model)), tmp_path, instruments=(streaming(),), on_event=events.append
    )
    assert (outcome.output, outcome.error) == ("Done.", None)
    assert (len(server.requests), outcome.usage.requests) == (3, 3)
    assert [failure.attempt for failure in failures(events)] == [1, 2]
    assert all(request.body["stream"] for request in server.requests)
    [answered] = [event for event in events if isinstance(event, ModelResponded)]
    assert (answered.text, answered.input_tokens, answered.output_tokens) == ("Done.", 100, 10)
    assert answered.cost_usd


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_stays_refused_fails_with_a_sentence(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(503)] * 9)
    outcome = go(graph(worker("main", model=model)), tmp_path, instruments=(streaming(),))
    assert outcome.status == "failed"
    assert "503" in (outcome.error or "")
    assert "every model of the chain" not in (outcome.error or "")
    assert len(server.requests) == 1 + requests.RETRIES


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_request_that_can_never_succeed_is_streamed_once(model: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Fail(400), Say("Done.")])
    assert go(graph(worker("main", model=model)), tmp_path, instruments=(streaming(),)).status == "failed"
    assert len(server.requests) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_breaks_before_its_first_piece_is_asked_for_again(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Say("A story.", cut=True, pieces=0), Say("A story.")])
    outcome = go(graph(worker("main", model=model)), tmp_path, instruments=(streaming(),))
    assert (outcome.output, outcome.error) == ("A story.", None)
    assert (len(server.requests), outcome.usage.requests) == (2, 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_breaks_after_a_piece_fails_the_delegate_and_its_caller_is_told(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(
        main=[Say(calls=[("helper", {"input": "x"})]), Say("It failed.")],
        helper=[Say("A long story.", cut=True, pieces=4), Say("never")],
    )
    team_graph = graph(worker("main", "helper", model=model), worker("helper", model=model))
    outcome = go(team_graph, tmp_path, instruments=(streaming(),))
    assert outcome.output == "It failed.", outcome.error
    assert len(server.of("helper")) == 1
    assert "`helper` failed:" in str(server.of("main")[1].body)
    assert outcome.usage.requests == 3


@pytest.mark.parametrize("model", [CHAT, ANTHROPIC])
def test_a_stream_that_ends_as_if_it_were_complete_fails_as_well(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    serve(main=[Say("A long story.", cut=True, quiet=True, pieces=3)])
    outcome = go(graph(worker("main", model=model)), tmp_path, instruments=(streaming(),))
    assert (outcome.status, outcome.usage.requests) == ("failed", 1)
    assert "broke off" in (outcome.error or "")


def test_an_agent_that_streams_by_itself_is_reported_in_one_piece(serve: Serve, tmp_path: Path) -> None:
    serve(main=[Say("A story.", size=2)])
    events: list[Event] = []
    options = {"streams": "everything", "on_event": events.append, "instruments": (streaming(),)}
    assert go(graph(worker("main", model=CHAT)), tmp_path, **options).output == "A story."
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["A story."]


@pytest.mark.long
@pytest.mark.parametrize("model", [CHAT, RESPONSES, ANTHROPIC])
def test_a_stream_that_stalls_is_given_up_after_the_workers_timeout(
    model: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Say("Late.", delay=600)] * 3)
    settings = {"timeout": 0.4, "max_retries": 1}
    events: list[Event] = []
    team_graph = graph(worker("main", model=model, model_settings=settings))
    outcome = go(team_graph, tmp_path, instruments=(streaming(),), on_event=events.append)
    assert outcome.status == "failed"
    assert "did not answer in time" in (outcome.error or "")
    assert [failure.attempt for failure in failures(events)] == [1]
    assert server.waited_for(2)
    assert len(server.requests) == 2


@pytest.mark.long
@pytest.mark.parametrize("model", [CHAT, ANTHROPIC])
def test_the_time_limit_of_the_run_ends_a_slow_stream(model: str, serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip(model.partition(":")[0].removesuffix("-chat"))  # else its import is part of the run
    serve(main=[Say("A very slow story.", delay=600)])
    outcome = go(
        graph(worker("main", model=model), limits={"seconds": 2.5}), tmp_path, instruments=(streaming(),)
    )
    assert (outcome.status, outcome.error) == ("failed", "the run took longer than 2.5 seconds")
    assert outcome.usage.requests == 1


def test_the_next_model_of_a_chain_streams_when_the_first_cannot(serve: Serve, tmp_path: Path) -> None:
    server = serve(
        **{"main:gpt-5-mini": [Say("No.", cut=True, pieces=0)], "main:claude-opus-4-5": [Say("Second.")]}
    )
    team_graph = graph(worker("main", model="strong"), aliases={"strong": (CHAT, ANTHROPIC)})
    outcome = go(team_graph, tmp_path, instruments=(streaming(),))
    assert outcome.output == "Second."
    assert (len(server.requests), outcome.usage.requests) == (2, 2)
