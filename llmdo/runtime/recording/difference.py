"""Requests in a comparable form, and differences between a journal and the present, in words."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.tools import ToolDefinition

from llmdo.base.digest import canonical
from llmdo.journal.content import digest_of
from llmdo.journal.entries import JournalError
from llmdo.runtime.recording.encoding import ending_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.journal import JournalEntry
    from llmdo.runtime.recording.encoding import Encoding

QUOTED = 200  # characters of what a tool returned

_WORDS = {
    "model": "the model is `{after}`, it was `{before}`",
    "instructions": "its prompt changed",
    "tools": "its tools changed",
    "native": "its provider-side tools changed",
    "settings": "the settings of its model changed",
}


def difference(recorded: Mapping[str, Any], current: Mapping[str, Any], *, accepts_drift: bool) -> str | None:
    """The difference between two requests; None if there is none, or only an accepted one."""
    drifted = [
        phrase.format(before=recorded.get(key), after=current.get(key))
        for key, phrase in _WORDS.items()
        if recorded.get(key) != current.get(key)
    ]
    if drifted and not accepts_drift:
        return "; ".join(drifted)
    return _difference_of_parts(recorded["parts"], current["parts"])


def _difference_of_parts(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> str | None:
    """The first difference between the new parts of two requests, in words."""
    for old, new in zip(before, after, strict=False):
        if list(old) != list(new):
            return f"{_part(new)} differs from the recorded {_part(old)}"
    if len(before) != len(after):
        longer = max(before, after, key=len)
        state = "is new" if len(after) > len(before) else "is missing"
        return f"{_part(longer[min(len(before), len(after))])} {state}"
    return None


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _part(part: Sequence[str]) -> str:
    kind, tool, _ = part
    words = {"user-prompt": "input", "tool-return": "result", "retry-prompt": "correction"}
    label = words.get(kind, kind)
    return f"{label} of `{tool}`" if tool else label


async def rerun(
    path: str, recorded: JournalEntry, work: Callable[[], Awaitable[object]], encoding: Encoding
) -> str | None:
    """The changed ending of the call at `path`, without secrets; None if unchanged."""
    try:
        now = ("success", encoding.result(await work()).body)
    except Exception as error:
        outcome, data = ending_of(error)
        now = (outcome, encoding.plain(data).body)
    before = (recorded.outcome, encoding.secrets.whole(recorded.body, recorded.spans))
    if now == before:
        return None
    shown = [
        f"{outcome} {excerpt(encoding.redaction.text(body.decode()))}" for outcome, body in (now, before)
    ]
    return f"{path}: {shown[0]}, it was {shown[1]}"


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
