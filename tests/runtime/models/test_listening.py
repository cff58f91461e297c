"""The genuine clients of two providers, where somebody listens: answers arrive in pieces, and break off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import llmdo
from llmdo.journal import Runs
from llmdo.runtime.telemetry.events import (
    Event,
    ModelFailed,
    ModelResponded,
    StreamBroken,
    TextDelta,
    ToolCallDelta,
)
from tests.support.building import go, graph, worker
from tests.support.provider import Fail, Say, Server
from tests.support.waiting import waited_for

from .conftest import Serve
from .test_clients import ANTHROPIC, CHAT, MODELS

STORY = "Once upon a time there was a stream, and it reached the sea."
CUTS = [pytest.param(False, id="torn"), pytest.param(True, id="quiet")]


def team(root: Path, model: str, header: str = "") -> Path:
    (root / "llmdo.toml").write_text(
        f'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "{model}"\n'
        '[entries.main]\nworker = "main"\ninput = "go"\n'
    )
    (root / "main.worker").write_text(f"---\nname: main\n{header}---\nYou are main.\n")
    return root


def text_of(events: list[Event]) -> str:
    """What is left of the pieces of the entry's worker: those that broke off are void."""
    text = ""
    for event in events:
        if isinstance(event, StreamBroken):
            text = ""
        elif isinstance(event, TextDelta) and event.path == "main":
            text += event.text
    return text


@pytest.mark.few(1)
@pytest.mark.parametrize("model", MODELS)
def test_text_and_calls_arrive_in_pieces_and_are_the_answer(model: str, serve: Serve, tmp_path: Path) -> None:
    calls = [("helper", {"input": "one"}), ("helper", {"input": "two"})]
    server = serve(main=[Say("I ask.", calls, size=3), Say(STORY, size=5)], helper=[Say("Yes."), Say("No.")])
    events: list[Event] = []
    team_graph = graph(
        worker("main", "helper", model=model), worker("helper", model=model), default="always_allow"
    )
    outcome = go(team_graph, tmp_path, streams="everything", on_event=events.append)
    assert (outcome.output, outcome.error) == (STORY, None)
    assert text_of(events) == f"I ask.{STORY}"
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert {piece.tool for piece in pieces} == {"helper"}
    written = ["".join(piece.arguments for piece in pieces if piece.index == number) for number in (0, 1)]
    assert [json.loads(text) for text in written] == [{"input": "one"}, {"input": "two"}]
    if model == CHAT:
        assert len([event for event in events if isinstance(event, TextDelta) and event.path == "main"]) == 14
        assert len(pieces) > 10
    assert all(request.body["stream"] for request in server.requests)
    [*answered] = [event for event in events if isinstance(event, ModelResponded)]
    assert {(answer.input_tokens, answer.output_tokens) for answer in answered} == {(100, 10)}
    assert (outcome.usage.requests, outcome.usage.input_tokens) == (4, 400)
    assert outcome.usage.cost_usd


@pytest.mark.few(2)
@pytest.mark.parametrize("quiet", CUTS)
@pytest.mark.parametrize("model", MODELS)
def test_an_answer_that_breaks_off_is_one_failed_request_and_is_asked_for_again(
    model: str, quiet: bool, serve: Serve, tmp_path: Path
) -> None:
    server = serve(main=[Say(STORY, cut=True, quiet=quiet, pieces=4, size=5), Say(STORY)])
    events: list[Event] = []
    outcome = llmdo.run(team(tmp_path, model), on_event=events.append, journal=True)
    assert (outcome.output, outcome.error) == (STORY, None)
    assert (len(server.requests), outcome.usage.requests) == (2, 2)
    assert text_of(events) == STORY
    kinds = [event.kind for event in events if event.kind not in ("text_delta", "worker_started")]
    assert kinds[1:5] == ["model_requested", "stream_broken", "model_failed", "model_responded"]
    assert kinds.count("stream_broken") == 1
    with Runs(tmp_path).read(outcome.run) as journal:
        attempts = [entry.data for entry in journal.entries("attempt")]
        assert [(attempt["request"], attempt["sent"]) for attempt in attempts] == [(1, True)]
        assert len([*journal.entries("sent")]) == 2
        assert len([*journal.entries("request")]) == 1
    assert llmdo.replay(tmp_path, outcome.run).output == STORY


@pytest.mark.few(1)
@pytest.mark.parametrize("quiet", CUTS)
def test_where_every_answer_breaks_off_the_run_fails_and_can_go_on(
    quiet: bool, serve: Serve, tmp_path: Path
) -> None:
    cut = Say(STORY, cut=True, quiet=quiet, pieces=4, size=5)
    server = serve(main=[cut, cut, Say(STORY, size=9)])
    events: list[Event] = []
    root = team(tmp_path, CHAT, "model_settings: { max_retries: 1 }\n")
    outcome = llmdo.run(root, on_event=events.append, journal=True)
    assert (outcome.status, outcome.output, outcome.usage.requests) == ("failed", None, 2)
    assert outcome.error
    assert "Traceback" not in outcome.error
    assert len([event for event in events if isinstance(event, StreamBroken)]) == 2
    assert len([event for event in events if isinstance(event, ModelFailed)]) == 1
    arrived: list[Event] = []
    resumed = llmdo.resume(root, outcome.run, on_event=arrived.append)
    assert (resumed.output, resumed.usage.requests, len(server.requests)) == (STORY, 3, 3)
    assert text_of(arrived) == STORY


def test_a_broken_answer_counts_towards_the_limit_of_requests(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Say(STORY, cut=True, pieces=4, size=5), Say(STORY)])
    events: list[Event] = []
    outcome = llmdo.run(
        team(tmp_path, CHAT), limits=llmdo.Limits(requests=1), on_event=events.append, journal=True
    )
    assert (outcome.status, len(server.requests)) == ("failed", 1)
    assert "request" in (outcome.error or "")


def test_the_next_model_of_a_chain_answers_where_one_breaks_off(serve: Serve, tmp_path: Path) -> None:
    server = serve(
        **{
            "main:gpt-5-mini": [Say("I would sa", cut=True, pieces=2, size=2)],
            "main:claude-opus-4-5": [Say(STORY)],
        }
    )
    events: list[Event] = []
    team_graph = graph(worker("main", model="strong"), aliases={"strong": (CHAT, ANTHROPIC)})
    outcome = go(team_graph, tmp_path, streams="everything", on_event=events.append)
    assert (outcome.output, outcome.usage.requests, len(server.requests)) == (STORY, 2, 2)
    assert text_of(events) == STORY
    [broken] = [event for event in events if isinstance(event, StreamBroken)]
    assert broken.model.endswith("gpt-5-mini")


def test_a_refusal_before_the_first_piece_voids_nothing(serve: Serve, tmp_path: Path) -> None:
    serve(main=[Fail(429), Say(STORY)])
    events: list[Event] = []
    outcome = llmdo.run(team(tmp_path, CHAT), on_event=events.append)
    assert outcome.output == STORY
    assert [event for event in events if isinstance(event, StreamBroken)] == []
    assert len([event for event in events if isinstance(event, ModelFailed)]) == 1


def test_nobody_streams_where_nobody_listens(serve: Serve, tmp_path: Path) -> None:
    server = serve(main=[Say(STORY)])
    assert llmdo.run(team(tmp_path, CHAT)).output == STORY
    assert [bool(request.body.get("stream")) for request in server.requests] == [False]


@pytest.mark.long
def test_a_run_that_is_killed_in_an_answer_goes_on(tmp_path: Path) -> None:
    root = team(tmp_path, CHAT)
    log = root / "events.jsonl"
    with Server({"main": [Say(STORY, size=5, hold=5), Say(STORY, size=5)]}).running() as server:
        environment = {**os.environ, **server.environment}

        def command(*words: str) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [sys.executable, "-m", "llmdo", *words],
                cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip

        killed = command("run", "--log-events", str(log))
        assert waited_for(lambda: log.exists() and "text_delta" in log.read_text())
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        resumed = command("resume", "last")
        out, err = resumed.communicate(timeout=60)
    assert (out, resumed.returncode) == (f"{STORY}\n", 0), err
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    assert STORY.startswith("".join(line["text"] for line in lines if line["event"] == "text_delta"))
    assert "used: 2 requests" in err
