"""Scripted models, whose tokens nobody counts: their responses say so, while pydantic-ai would guess."""

from __future__ import annotations

from contextlib import asynccontextmanager
from copy import copy
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel, FunctionStreamedResponse
from pydantic_ai.models.test import TestModel, TestStreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.function import AgentInfo, FunctionDef
    from pydantic_ai.settings import ModelSettings


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
