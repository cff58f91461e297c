"""The API of Gemini: the tools and the results in a request, and an answer as its stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATH = "enerateContent"


def asked(body: Mapping[str, Any]) -> ModelRequest:
    """The request in a body."""
    parts = [(content["role"], part) for content in body["contents"] for part in content["parts"]]
    responses = [part["functionResponse"] for _, part in parts if "functionResponse" in part]
    declared = [tool for each in body.get("tools", ()) for tool in each.get("functionDeclarations", ())]
    return ModelRequest(
        instructions="\n".join(
            part.get("text", "") for part in body.get("systemInstruction", {}).get("parts", ())
        ),
        prompt="\n".join(part.get("text", "") for role, part in parts if role == "user"),
        tools={tool["name"]: tool for tool in declared},
        results={each["id"]: json.dumps(each["response"]) for each in responses},
    )


def stream(answer: ScriptedAnswer, path: str) -> Iterator[str]:
    """The events of an answer, or all of it at once."""
    parts: list[dict[str, object]] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in answer.calls
    ]
    content = {"role": "model", "parts": parts or [{"text": answer.text}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    whole = json.dumps({"candidates": [candidate], "usageMetadata": usage})
    yield f"data: {whole}\n\n" if "alt=sse" in path else whole
