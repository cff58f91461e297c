"""Requests on their way: each attempt at each model of a chain reserves its place in the budget first."""

from __future__ import annotations

from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from llmdo.runtime.models.failure import unreadable
from llmdo.runtime.models.played import PlayedModel
from llmdo.runtime.models.streaming import answer_heard, is_heard, require_end
from llmdo.runtime.place import is_in_code
from llmdo.runtime.telemetry.events import UNPAID

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame

NOT_BEGUN = frozenset({"pool", "connect"})
"""The phases of a failed connection in which the request was not sent."""


@dataclass(frozen=True, slots=True)
class RequestCounter:
    """Counts the requests of one call of a worker to one model."""

    config: RuntimeConfig
    frame: CallFrame
    model: Model

    async def request(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        """The model's response, once there is room for the request."""
        await self.reserve()
        try:
            if is_heard(self.config, self.frame) and not is_in_code():
                return await answer_heard(self.model, messages, settings, parameters, self.config, self.frame)
            return await self.model.request(messages, settings, parameters)
        except Exception as error:
            self.fail(error)

    async def reserve(self) -> None:
        """Counts a request, and returns when there is room for it."""
        await self.config.budget.reserve(self.frame)
        await self.config.log.sent(self.frame.path)

    def fail(self, error: Exception) -> NoReturn:
        """Keeps that the request failed, which counts as long as it was sent.

        Raises:
            Exception: `error`, or an `UnreadableAnswerError` in its place.
        """
        config, frame = self.config, self.frame
        failure = (None if self._is_local(error) else unreadable(error, self.model.model_name)) or error
        was_sent = not (isinstance(error, ModelConnectionError) and error.phase in NOT_BEGUN)
        config.log.attempted(frame.path, self.model.model_id, failure, was_sent=was_sent)
        if not was_sent:
            config.budget.release(frame)
        if failure is error:
            raise error
        raise failure from error

    def _is_local(self, error: Exception) -> bool:
        """Whether the workspace's own code failed, or a model that asks no provider."""
        return self.model.model_id.startswith(UNPAID) or bool(self.config.backtrace.of_workspace(error))


class CountedModel(WrapperModel):
    """A model whose every request is counted for one call of a worker."""

    def __init__(self, wrapped: Model, counter: RequestCounter) -> None:
        super().__init__(wrapped)
        self._counter = counter

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's response, once there is room for the request."""
        return await self._counter.request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """The same, piece by piece."""
        await self._counter.reserve()
        try:
            stream = self.wrapped.request_stream(
                messages, model_settings, model_request_parameters, run_context
            )
            async with stream as response:
                yield response
            require_end(response, self.wrapped.model_name)
        except Exception as error:
            self._counter.fail(error)


def model_for_call(model: Model, config: RuntimeConfig, frame: CallFrame) -> Model:
    """`model` for one call of a worker; every model of a chain, with its requests counted."""
    if isinstance(model, PlayedModel):
        return model.for_call(config, frame)
    if not isinstance(model, FallbackModel):
        return model
    chain = copy(model)  # the run opens and closes the connections, which the copy shares
    chain.models = [_counted(member, config, frame) for member in model.models]
    return chain


def _counted(member: Model, config: RuntimeConfig, frame: CallFrame) -> Model:
    model = model_for_call(member, config, frame)
    if isinstance(model, FallbackModel):
        return model
    return CountedModel(model, RequestCounter(config, frame, model))
