"""Calls to which a provider gave one id are told apart, in one response and over several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.building import go, graph, worker

MODELS = """
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
def answer(messages, info):
    back=[p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if len(back) >= 3:
        return ModelResponse(parts=[TextPart(str([p.content for p in back]))])
    if back:
        return ModelResponse(parts=[ToolCallPart("helper", {"input": "third"}, tool_call_id="same")])
    return ModelResponse(parts=[ToolCallPart("helper", {"input": "a"}, tool_call_id="same"), ToolCallPart("helper", {"input": "b"}, tool_call_id="same")])
async def stream(messages, info):
    r = answer(messages, info)
    for i, p in enumerate(r.parts):
        if isinstance(p, TextPart): yield p.content
        else: yield {i: DeltaToolCall(name=p.tool_name, json_args=p.args_as_json_str(), tool_call_id=p.tool_call_id)}
dup = FunctionModel(answer, stream_function=stream)
def say(messages, info):
    return ModelResponse(parts=[TextPart("got " + str(messages[0].parts[-1].content))])
helper = FunctionModel(say)
"""


@pytest.mark.parametrize("settings", [{}, {"streams": "everything"}])
def test_calls_with_one_id_are_all_made_and_answered(tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    workers = (
        worker("main", "helper", model="python:models.py:dup"),
        worker("helper", model="python:models.py:helper"),
    )
    outcome = go(graph(*workers), tmp_path, **settings)
    assert (outcome.status, outcome.error) == ("completed", None)
    assert outcome.output == "['got a', 'got b', 'got third']"
