"""Model requests and the journal: what a worker's model is asked, and the tools that it was shown, made comparable."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ModelRequest
from pydantic_ai.tools import ToolDefinition

from llmdo.base.digest import canonical
from llmdo.journal.content import digest_of
from llmdo.journal.entries import JournalError
from llmdo.runtime.gate.numbering import call_path
from llmdo.runtime.models.reporting import RequestReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.capabilities import WrapModelRequestHandler
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.recording.recorder import Recorder

SHOWN = ("name", "description", "parameters_json_schema", "strict", "sequential")
"""What of a tool's definition matters to a model or to the agent loop."""


@dataclass
class Recording(AbstractCapability[Any]):
    """Serves a worker's model requests from the journal, or records them. The innermost: nothing is asked around it."""

    recorder: Recorder
    _seen: int = 0
    """The messages that earlier requests of this call held."""
    _tools: list[ToolDefinition] = field(default_factory=list)
    _tools_digest: str = ""

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: no file can ask for it."""
        return None

    def get_ordering(self) -> CapabilityOrdering:
        """Nearer to the model than all others."""
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: RunContext[Any]) -> Recording:  # noqa: ARG002  # pydantic-ai's signature
        """The same for one call of the worker."""
        return replace(self, _seen=0, _tools=[], _tools_digest="")

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """The model's response."""
        config, frame = ctx.deps.config, ctx.deps.frame
        messages, parameters = request_context.messages, request_context.model_request_parameters
        new = messages[self._seen :] if len(messages) >= self._seen else messages
        self._seen = len(messages)

        def asked(recorded: Mapping[str, Any] | None) -> dict[str, Any]:
            encoding, settings = self.recorder.encoding, request_context.model_settings
            return {
                "model": config.agents.references.get(frame.name, ""),
                "tools": self._offered(shown_tools(parameters), recorded),
                **told_in(encoding, messages, new, settings, parameters, recorded),
            }

        was_sent = False

        async def send() -> ModelResponse:
            nonlocal was_sent
            was_sent = True  # and is counted and told of where it leaves
            return await handler(request_context)

        response = await self.recorder.response(frame.path, messages, asked, send)
        if not was_sent:
            config.ledger.count_request(frame.name)
            report = RequestReporter(config, frame, request_context.model.model_id)
            report.asked()
            report.answered(response)
        return response

    async def on_tool_validate_error(
        self, ctx: RunContext[Any], *, error: ValidationError | ModelRetry, **_: Any
    ) -> dict[str, Any]:
        """Nothing: the fault is the model's to hear of.

        Raises:
            Exception: `error`.
        """
        self.recorder.found_fault(call_path(ctx.deps.frame, ctx), error)
        raise error

    def _offered(self, tools: list[ToolDefinition], recorded: Mapping[str, Any] | None) -> str:
        """The digest of what the model is shown of its tools, under which the journal keeps it.

        It is the one of a request that is `recorded` where that showed the same.
        """
        if recorded is not None:
            journal, encoding = self.recorder.journal, self.recorder.encoding
            return tools_digest(definitions(tools), str(recorded["tools"]), encoding, journal.content)
        if tools != self._tools or not self._tools_digest:
            self._tools = tools
            self._tools_digest = self.recorder.keep(definitions(tools))
        return self._tools_digest


def shown_tools(parameters: ModelRequestParameters) -> list[ToolDefinition]:
    """The tools that a request shows its model."""
    return [*parameters.function_tools, *parameters.output_tools]


def told_in(
    encoding: Encoding,
    messages: Sequence[ModelMessage],
    new: Sequence[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    recorded: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a request is made of, made comparable, but for its model and its tools; `new` were not in an earlier one.

    Where it is to be held against a `recorded` one, secrets are left out of it as they were of that.
    """
    before = recorded or {}
    return {
        "instructions": encoding.digest(_instructions(messages), before.get("instructions")),
        "native": sorted(tool.kind for tool in parameters.native_tools),
        "settings": encoding.digest(dict(settings or {}), before.get("settings")),
        "parts": [list(part) for part in _parts(encoding, new, before.get("parts", ()))],
    }


def _parts(
    encoding: Encoding, messages: Sequence[ModelMessage], recorded: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    """Kind, tool and digest of all that these messages tell the model; its own responses are recorded already."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    for part, before in zip_longest(parts, recorded[: len(parts)]):
        said = [getattr(part, "content", None), getattr(part, "outcome", None)]
        digest = encoding.digest(said, before[2] if before else None)
        yield part.part_kind, getattr(part, "tool_name", None) or "", digest


def tools_digest(shown: bytes, recorded: str, encoding: Encoding, content: Callable[[str], bytes]) -> str:
    """The digest of what a model is shown of its tools, which is `recorded` where that names the same.

    `content` finds what a digest names.
    """
    if (digest := digest_of(shown)) == recorded:
        return digest
    try:
        before = encoding.digest(json.loads(content(recorded)))
    except JournalError:  # it was taken out of an exported run
        return digest
    return recorded if encoding.is_same(before, json.loads(shown)) else digest


def definitions(tools: Sequence[ToolDefinition]) -> bytes:
    """What a model is shown of `tools`, as JSON."""
    return canonical([{name: getattr(tool, name) for name in SHOWN} for tool in tools]).encode()


def definitions_in(content: bytes) -> list[ToolDefinition]:
    """The definitions that `definitions` wrote."""
    return [ToolDefinition(**one) for one in json.loads(content)]


def _instructions(messages: Sequence[ModelMessage]) -> str:
    last = messages[-1] if messages else None
    return (last.instructions or "") if isinstance(last, ModelRequest) else ""
