"""Comparable forms of requests to models, and of the tools shown in them."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.tools import ToolDefinition

from llmdo.base.digest import canonical
from llmdo.journal.content import digest_of
from llmdo.journal.entries import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.recording.encoding import Encoding

SHOWN = ("name", "description", "parameters_json_schema", "strict", "sequential")
"""The fields of a tool's definition that matter to a model or the agent loop."""

_RECORDS = ("-delta", "-baseline", "-digest")
"""The endings of the part kinds for changes of tools, settings and instructions in pydantic-ai.

Their presence depends on the model; their subject is compared by itself.
"""


def last_response(messages: Sequence[ModelMessage]) -> int:
    """The place of the last response among `messages`; -1 if there is none."""
    return max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)


def shown_tools(parameters: ModelRequestParameters) -> list[ToolDefinition]:
    """The tools that a request shows its model."""
    return [*parameters.function_tools, *parameters.output_tools]


def comparable(
    encoding: Encoding,
    messages: Sequence[ModelMessage],
    new: Sequence[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    recorded: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """The comparable form of a request, without model and tools; `new` were not in an earlier one.

    For a comparison with a `recorded` one, the same secrets are left out.
    """
    before = recorded or {}
    return {
        "instructions": encoding.digest_of_repeated(_instructions(messages), before.get("instructions")),
        "native": sorted(tool.kind for tool in parameters.native_tools),
        "settings": encoding.digest_of_repeated(dict(settings or {}), before.get("settings")),
        "parts": [list(part) for part in _parts(encoding, new, before.get("parts", ()))],
    }


def _parts(
    encoding: Encoding, messages: Sequence[ModelMessage], recorded: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    """Kind, tool and digest of each new part for the model, without its own recorded responses."""
    parts = [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if not part.part_kind.endswith(_RECORDS)
    ]
    for part, before in zip_longest(parts, recorded[: len(parts)]):
        content = [getattr(part, "content", None), getattr(part, "outcome", None)]
        digest = encoding.digest(content, before[2] if before else None)
        yield part.part_kind, getattr(part, "tool_name", None) or "", digest


def tools_digest(shown: bytes, recorded: str, encoding: Encoding, content: Callable[[str], bytes]) -> str:
    """The digest of the tools shown to a model, or `recorded` for equal tools.

    `content` finds the bytes of a digest.
    """
    if (digest := digest_of(shown)) == recorded:
        return digest
    try:
        before = encoding.digest(json.loads(content(recorded)))
    except JournalError:  # it was taken out of an exported run
        return digest
    return recorded if encoding.is_same(before, json.loads(shown)) else digest


def definitions(tools: Sequence[ToolDefinition]) -> bytes:
    """The definitions of `tools` as shown to a model, as JSON."""
    return canonical([{name: getattr(tool, name) for name in SHOWN} for tool in tools]).encode()


def definitions_in(content: bytes) -> list[ToolDefinition]:
    """The definitions that `definitions` wrote."""
    return [ToolDefinition(**definition) for definition in json.loads(content)]


def _instructions(messages: Sequence[ModelMessage]) -> str:
    last = messages[-1] if messages else None
    return (last.instructions or "") if isinstance(last, ModelRequest) else ""
