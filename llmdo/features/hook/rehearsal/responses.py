"""The Responses API: the tools and the results in a request, and an answer as its stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer, ScriptedCall, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATH = "/responses"
_USAGE = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}


def asked(body: Mapping[str, Any]) -> ModelRequest:
    """The request in a body; a tool in a namespace is called NAMESPACE/NAME, one of the provider by its type."""
    messages = [item for item in body["input"] if item.get("type", "message") == "message"]
    outputs = [item for item in body["input"] if str(item.get("type")).endswith("_call_output")]
    tools: dict[str, Mapping[str, Any]] = {}
    for tool in body.get("tools", ()):
        if tool.get("type") == "namespace":
            tools |= {f"{tool['name']}/{each['name']}": each for each in tool["tools"]}
        else:
            tools[tool.get("name", tool["type"])] = tool
    return ModelRequest(
        instructions=body.get("instructions") or "",
        prompt="\n".join(text_of(item["content"]) for item in messages if item["role"] == "user"),
        tools=tools,
        results={item["call_id"]: text_of(item["output"]) for item in outputs if "call_id" in item},
    )


def stream(answer: ScriptedAnswer, _path: str) -> Iterator[str]:
    """The events of an answer."""
    items = [_call(call) for call in answer.calls]
    message: dict[str, object] = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": answer.text}],
    }
    yield _event("response.created", response={"id": "r"})
    for item in items or [message]:
        yield _event("response.output_item.done", item=item)
    yield _event("response.completed", response={"id": "r", "usage": _USAGE})


def _call(call: ScriptedCall) -> dict[str, object]:
    namespace, _, name = call.name.rpartition("/")
    within = {"namespace": namespace} if namespace else {}
    if "input" in call.arguments and len(call.arguments) == 1:
        return {
            "type": "custom_tool_call",
            "call_id": call.id,
            "name": name,
            **within,
            "input": call.arguments["input"],
        }
    arguments = json.dumps(call.arguments)
    return {"type": "function_call", "call_id": call.id, "name": name, **within, "arguments": arguments}


def _event(kind: str, **more: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"
