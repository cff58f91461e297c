"""Reports and counts of a worker's requests to its model, answered by a provider or the journal."""

from __future__ import annotations

from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import NativeToolCallPart, ToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel, FunctionStreamedResponse
from pydantic_ai.models.test import TestModel, TestStreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage

from llmdo.runtime.models.failure import failure_text
from llmdo.runtime.outcome import measured
from llmdo.runtime.place import is_in_code
from llmdo.runtime.telemetry.events import (
    UNPAID,
    AnswerTruncated,
    ModelFailed,
    ModelRequested,
    ModelResponded,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.function import AgentInfo, FunctionDef
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame

_CALLS = (ToolCallPart, NativeToolCallPart)


@dataclass(frozen=True, slots=True)
class RequestReporter:
    """Reports the requests of one call of a worker to one model."""

    config: RuntimeConfig
    frame: CallFrame
    model: str
    """The id of the model."""

    def requested(self) -> None:
        """The model is about to be asked."""
        config, frame = self.config, self.frame
        if not is_in_code():  # which asks for itself, and whose caller has not seen more by that
            frame.context.ask()
        config.log.tell(ModelRequested(path=frame.path, worker=frame.name, model=self.model))

    def failed(self, error: Exception, attempt: int, wait: float) -> None:
        """An attempt failed, and the next one begins after `wait` seconds."""
        config, frame = self.config, self.frame
        config.log.tell(
            ModelFailed(
                path=frame.path, model=self.model, error=failure_text(error), attempt=attempt, wait=wait
            )
        )

    def answered(self, response: ModelResponse) -> None:
        """The model answered."""
        config, frame = self.config, self.frame
        by = response.provider_name
        model = f"{by}:{response.model_name}" if by else self.model
        _price(response, model)
        config.ledger.of_worker(frame.name).incr(response.usage)
        config.ledger.unpriced += response.usage.cost is None
        text = response.text or ""
        if text and frame.depth == 0:
            config.ledger.last_text = text
        sent, received = measured(response.usage)
        calls = (part for part in response.parts if isinstance(part, _CALLS))
        config.log.tell(
            ModelResponded(
                path=frame.path,
                worker=frame.name,
                model=model,
                text=text,
                calls=tuple(call.tool_name for call in calls),
                input_tokens=sent,
                output_tokens=received,
                cost_usd=response.usage.cost,
            )
        )
        if reason := cut_off(response):
            config.log.tell(AnswerTruncated(path=frame.path, worker=frame.name, model=model, reason=reason))
        config.budget.look_at(frame.path, model, response.usage)


def cut_off(response: ModelResponse) -> str | None:
    """The reason for an incomplete answer, in words; None for a complete one."""
    match response.finish_reason:
        case "length":
            return "it reached the limit of its tokens"
        case "content_filter":
            return "a content filter of its provider ended it"
    return None


def _price(response: ModelResponse, model: str) -> None:
    """Sets the cost of `response`, earlier than pydantic-ai would; nothing without a price."""
    if model.startswith(UNPAID):
        response.usage.cost = response.usage.cost or Decimal(0)
    elif response.usage.cost is None and response.model_name:
        try:
            response.usage.cost = response.cost().total_price
        except (LookupError, ValueError):
            return


def without_guesses(model: Model) -> Model:
    """`model`; a scripted one with only the tokens that its function names.

    Of a chain, this applies to every model.
    """
    if isinstance(model, FallbackModel):
        chain = copy(model)
        chain.models = [without_guesses(member) for member in model.models]
        return chain
    if isinstance(model, FunctionModel):
        quiet = _quiet(model)
        return quiet if quiet.stream_function is None else UnmeasuredModel(quiet)
    return UnmeasuredModel(model) if isinstance(model, TestModel) else model


def _quiet(model: FunctionModel) -> FunctionModel:
    """The same with marked responses; its streams are not."""
    if model.function is None:
        return model
    quiet = copy(model)
    quiet.function = _marking(model.function)
    return quiet


class UnmeasuredModel(WrapperModel):
    """A scripted model without invented numbers of tokens."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's response; of one that only streams, put together."""
        if isinstance(self.wrapped, FunctionModel) and self.wrapped.function is None:
            async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
                async for _ in stream:
                    pass
            return stream.get()
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        if isinstance(self.wrapped, TestModel):
            response.usage = _nothing()
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """The same, piece by piece."""
        stream = self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)
        async with stream as response:
            if kind := _STREAMS.get(type(response)):
                response.__class__ = kind  # what makes one takes more than one keeps
            yield response


class _FunctionStream(FunctionStreamedResponse):
    @property
    def usage(self) -> RequestUsage:
        """Nothing, instead of a guess."""
        return _nothing()


class _TestStream(TestStreamedResponse):
    @property
    def usage(self) -> RequestUsage:
        """Nothing, instead of a guess."""
        return _nothing()


_STREAMS: dict[type, type[StreamedResponse]] = {
    FunctionStreamedResponse: _FunctionStream,
    TestStreamedResponse: _TestStream,
}


def _nothing() -> RequestUsage:
    return RequestUsage(unmeasured_requests=1)


def _marking(function: FunctionDef) -> FunctionDef:
    """`function` with marks on responses without usage; a plain one stays plain, for it runs in a thread."""

    def marked(response: ModelResponse) -> ModelResponse:
        if not response.usage.has_values():
            response.usage = _nothing()
        return response

    async def later(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer: Any = function(messages, info)
        return marked(await answer)

    def at_once(messages: list[ModelMessage], info: AgentInfo) -> Any:
        answer: Any = function(messages, info)
        return marked(answer)

    is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
    return later if is_async else at_once
