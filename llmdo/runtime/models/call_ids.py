"""The ids of the calls in a model's responses, which some providers repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_ai.messages import BaseToolCallPart, ModelResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.messages import ModelMessage, ModelResponsePart


def with_unique_ids(response: ModelResponse, messages: Iterable[ModelMessage]) -> ModelResponse:
    """The response with ids for its calls that no other call in it or in `messages` has.

    A result is returned under the id of its call, so nobody, not even the provider, needs the replaced one.
    """
    if not any(isinstance(part, BaseToolCallPart) for part in response.parts):
        return response
    taken = {
        part.tool_call_id
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, BaseToolCallPart)
    }
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if part.part_kind == "tool-call":
            unique = _free(part.tool_call_id, taken)
            taken.add(unique)
            parts.append(part if unique == part.tool_call_id else replace(part, tool_call_id=unique))
        else:
            parts.append(part)
    return response if parts == list(response.parts) else replace(response, parts=parts)


def _free(call: str, taken: set[str]) -> str:
    number, free = 2, call
    while free in taken:
        free, number = f"{call}-{number}", number + 1
    return free
