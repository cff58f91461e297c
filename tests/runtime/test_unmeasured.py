"""Models that are scripted use no tokens: none are shown, in no place, where pydantic-ai would guess some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.runtime.telemetry.events import Event, ModelResponded
from tests.runtime.models.test_clients import streaming
from tests.support.building import go, graph, worker
from tests.support.commands import llmdo

PLAIN = """
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

def say(messages, info):
    return ModelResponse(parts=[TextPart("a few words")])

async def wait(messages, info):
    return say(messages, info)

async def count(messages, info):
    return ModelResponse(parts=[TextPart("counted")], usage=RequestUsage(input_tokens=7, output_tokens=2))

class Object:
    async def __call__(self, messages, info):
        return say(messages, info)

async def stream(messages, info):
    yield "a few "
    yield "words"

plain, waiting, counting = FunctionModel(say), FunctionModel(wait), FunctionModel(count)
called, streamed = FunctionModel(Object()), FunctionModel(stream_function=stream)
test = TestModel(custom_output_text="a few words")
"""
MANIFEST = """
schema = 1
[workspace]
name = "shop"
workers = ["*.worker"]
[entries.main]
worker = "main"
input = "go"
"""


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "streams", "tokens"),
    [
        ("plain", False, (None, None)),
        ("waiting", False, (None, None)),
        ("called", False, (None, None)),
        ("test", False, (None, None)),
        ("streamed", True, (None, None)),
        ("test", True, (None, None)),
        ("counting", False, (7, 2)),
    ],
)
def test_a_script_has_the_tokens_that_its_own_function_names_and_no_others(
    name: str, streams: bool, tokens: tuple[int | None, int | None], tmp_path: Path
) -> None:
    (tmp_path / "models.py").write_text(PLAIN, encoding="utf-8")
    events: list[Event] = []
    watchers = {"instruments": (streaming(),)} if streams else {}
    team_graph = graph(worker("main", model=f"python:models.py:{name}"))
    outcome = go(team_graph, tmp_path, on_event=events.append, **watchers)
    assert outcome.status == "completed", outcome.error
    [event] = [seen for seen in events if isinstance(seen, ModelResponded)]
    shown = [outcome.usage, outcome.usage_by_worker["main"], event]
    assert [(usage.input_tokens, usage.output_tokens) for usage in shown] == [tokens] * 3


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["plain", "counting"])
def test_the_command_line_and_the_journal_show_none_of_what_nobody_counted(name: str, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    text = f"---\nname: main\nmodel: python:models.py:{name}\n---\nGo.\n"
    (tmp_path / "main.worker").write_text(text, encoding="utf-8")
    is_counted = name == "counting"
    texts = [llmdo(tmp_path, "run", "-vv").stderr]
    texts += [llmdo(tmp_path, "runs", *words).stdout for words in (["list"], ["show", "last"])]
    texts.append(llmdo(tmp_path, "runs", "show", "last", "--format", "markdown").stdout)
    assert [("7 + 2 tokens" in printed, "tokens" in printed) for printed in texts] == [
        (is_counted, is_counted)
    ] * 4
    shown = json.loads(llmdo(tmp_path, "runs", "show", "last", "--format", "json").stdout)
    [listed] = json.loads(llmdo(tmp_path, "runs", "--format", "json").stdout)["runs"]
    ran = json.loads(llmdo(tmp_path, "run", "--format", "json").stdout)["usage"]
    expected = 7 if is_counted else None
    assert [usage["input_tokens"] for usage in (shown, shown["calls"][0], listed, ran)] == [expected] * 4
