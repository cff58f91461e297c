"""The chat completions API: the tools and the results in a request, and an answer as its stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer, ScriptedCall, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATH = "/chat/completions"


def asked(body: Mapping[str, object]) -> ModelRequest:
    """The request in a body."""
    messages = [each for each in _list(body.get("messages")) if isinstance(each, dict)]
    tools = [each["function"] for each in _list(body.get("tools")) if isinstance(each, dict)]
    return ModelRequest(
        instructions="\n".join(text_of(each["content"]) for each in messages if each["role"] == "system"),
        prompt="\n".join(text_of(each["content"]) for each in messages if each["role"] == "user"),
        tools={tool["name"]: tool for tool in tools},
        results={
            str(each["tool_call_id"]): text_of(each["content"]) for each in messages if each["role"] == "tool"
        },
    )


def stream(answer: ScriptedAnswer, _path: str) -> Iterator[str]:
    """The events of an answer."""
    delta: dict[str, object] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        delta["tool_calls"] = [_call(number, call) for number, call in enumerate(answer.calls)]
    reason = "tool_calls" if answer.calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    for choice in ({"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": reason}):
        chunk = {"id": "answer", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        yield f"data: {json.dumps({**chunk, 'choices': [{'index': 0, **choice}], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def _call(number: int, call: ScriptedCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"index": number, "id": call.id, "type": "function", "function": function}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
