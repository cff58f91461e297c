"""The trace of a run: spans as JSON lines, nested as the calls were, with content only where it was asked for."""

from __future__ import annotations

import base64
import json
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.runtime.telemetry.trace import TraceChoice, tracing
from tests.support.building import go, graph, script, use, worker

PIXEL = b"\x89PNG\r\n\x1a\nPIXELS"
NOBODY: Mapping[str, str] = {}


def choice(folder: Path | None = None, environ: Mapping[str, str] = NOBODY, **more: Any) -> TraceChoice:
    messages: list[str] = more.pop("messages", [])
    redaction = Redaction.of({"ACME_TOKEN": "correct horse"})
    return TraceChoice(environ=environ, redaction=redaction, say=messages.append, folder=folder, **more)


def traced(root: Path, **more: Any) -> list[dict[str, Any]]:
    """The spans of a run in which `main` hands a picture to two helpers."""
    (root / "dot.png").write_bytes(PIXEL)
    calls = [
        ("helper", {"input": f"QUESTION {n} correct horse", "attachments": ["dot.png"]}) for n in range(2)
    ]
    script(root, main=[calls, "ANSWER"], helper=["RESULT"])
    team_graph = graph(worker("main", "helper", use("filesystem")), worker("helper"))
    with tracing(choice(root / "traces", **more), run="r1", entry="go") as instruments:
        outcome = go(team_graph, root, instruments=instruments)
    assert outcome.output == "ANSWER"
    return [json.loads(line) for line in (root / "traces/r1.jsonl").read_text().splitlines()]


def test_spans_are_nested_as_the_calls_were(tmp_path: Path) -> None:
    spans = traced(tmp_path)
    by_id = {span["context"]["span_id"]: span for span in spans}
    assert len({span["context"]["trace_id"] for span in spans}) == 1

    def route(span: dict[str, Any]) -> list[str]:
        above = by_id.get(span["parent_id"] or "")
        return [*(route(above) if above else []), span["name"]]

    helpers = [route(span) for span in spans if span["name"] == "invoke_agent helper"]
    assert helpers == [["run go", "invoke_agent main", "execute_tool helper", "invoke_agent helper"]] * 2
    chats = [span for span in spans if span["name"].startswith("chat ")]
    assert len(chats) == 4
    assert all(chat["attributes"]["gen_ai.operation.name"] == "chat" for chat in chats)
    assert not any("gen_ai.usage.output_tokens" in chat["attributes"] for chat in chats)  # a script has none
    assert spans[-1]["name"] == "run go"
    assert spans[-1]["attributes"]["llmdo.run"] == "r1"


PICTURE = base64.b64encode(PIXEL).decode()
SAID = ("QUESTION", "ANSWER", "RESULT", "You are main", PICTURE, "PIXELS")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("content", "binary", "included"),
    [
        (False, False, set()),
        (True, False, {"QUESTION", "ANSWER", "RESULT", "You are main"}),
        (True, True, {"QUESTION", "ANSWER", "RESULT", "You are main", PICTURE}),
    ],
)
def test_content_and_attachments_are_there_only_where_asked_for(
    content: bool, binary: bool, included: set[str], tmp_path: Path
) -> None:
    text = json.dumps(traced(tmp_path, content=content, binary=binary))
    assert {word for word in SAID if word in text} == included
    assert "correct horse" not in text


def test_the_file_is_its_owners_and_never_an_old_one(tmp_path: Path) -> None:
    traced(tmp_path)
    assert stat.S_IMODE((tmp_path / "traces/r1.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "traces").stat().st_mode) == 0o700
    with (
        pytest.raises(LlmdoError, match=r"cannot write .*r1\.jsonl"),
        tracing(choice(tmp_path / "traces"), run="r1", entry="go"),
    ):
        pass


def test_a_run_that_fails_leaves_its_spans(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})]], helper=[])
    team_graph = graph(worker("main", "helper"), worker("helper"))
    with tracing(choice(tmp_path / "traces"), run="r1", entry="go") as instruments:
        assert go(team_graph, tmp_path, instruments=instruments).status == "failed"
    names = [json.loads(line)["name"] for line in (tmp_path / "traces/r1.jsonl").read_text().splitlines()]
    assert {"run go", "invoke_agent main", "execute_tool helper", "invoke_agent helper"} <= set(names)


def test_without_a_wish_nothing_watches() -> None:
    with tracing(choice(), run="r", entry="go") as instruments:
        assert instruments == ()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"content": True}, "`--trace-content` needs `--trace-dir`"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(LlmdoError) as refused, tracing(choice(**more), run="r", entry="go"):
        pass
    assert refused.value.message == message


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


def test_a_missing_library_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(LlmdoError) as refused, tracing(choice(tmp_path), run="r", entry="go"):
        pass
    assert refused.value.message == "a trace needs a library that is not installed"
    assert refused.value.hint == installing("otel")
    messages: list[str] = []
    with tracing(choice(environ=ENDPOINT, messages=messages), run="r", entry="go") as instruments:
        assert instruments == ()
    assert len(messages) == 1
    assert messages[0].startswith("`OTEL_EXPORTER_OTLP_ENDPOINT` is set, but a trace needs a library")


@pytest.mark.parametrize(("protocol", "kind"), [("", "http"), ("http/protobuf", "http"), ("grpc", "grpc")])
def test_a_missing_exporter_is_one_sentence_and_the_run_goes_on(
    protocol: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)
    messages: list[str] = []
    environ = {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    with tracing(choice(environ=environ, messages=messages), run="r", entry="go"):
        pass
    (sentence,) = messages
    assert sentence.startswith("`OTEL_EXPORTER_OTLP_ENDPOINT` is set, but no exporter is installed: ")
    assert sentence.endswith(f"`pip install opentelemetry-exporter-otlp-proto-{kind}`")


@pytest.mark.parametrize("off", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_the_standard_variables_also_turn_it_off(off: dict[str, str]) -> None:
    assert choice(environ={**ENDPOINT, **off}).endpoint is None
    assert choice(environ=ENDPOINT).endpoint == "OTEL_EXPORTER_OTLP_ENDPOINT"
