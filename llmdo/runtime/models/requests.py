"""Requests as they leave: each attempt at each model of a chain takes its place in the budget first."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from copy import copy
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from llmdo.runtime.models.failure import unreadable
from llmdo.runtime.models.played import PlayedModel
from llmdo.runtime.models.streaming import answer_heard, is_heard
from llmdo.runtime.place import is_in_code
from llmdo.runtime.telemetry.events import UNPAID

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame

NOT_BEGUN = frozenset({"pool", "connect"})
"""The phases of a failed connection in which the request was not sent."""


class CountedModel(WrapperModel):
    """A model whose every request is counted for one call of a worker."""

    def __init__(self, wrapped: Model, config: RuntimeConfig, frame: CallFrame) -> None:
        super().__init__(wrapped)
        self._config = config
        self._frame = frame
        self._is_heard = is_heard(config, frame)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's response, once there is room for the request."""
        await self._reserve()
        with self._taken_back_if_not_sent():
            if self._is_heard and not is_in_code():
                return await answer_heard(
                    self.wrapped,
                    messages,
                    model_settings,
                    model_request_parameters,
                    self._config,
                    self._frame,
                )
            return await self.wrapped.request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """The same, piece by piece."""
        await self._reserve()
        with self._taken_back_if_not_sent():
            stream = self.wrapped.request_stream(
                messages, model_settings, model_request_parameters, run_context
            )
            async with stream as response:
                yield response

    async def _reserve(self) -> None:
        config, frame = self._config, self._frame
        await config.budget.reserve(frame)
        if config.recorder:
            await config.recorder.sent(frame.path)

    @contextmanager
    def _taken_back_if_not_sent(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            config, frame = self._config, self._frame
            failure = (None if self._is_local(error) else unreadable(error, self.wrapped.model_name)) or error
            was_sent = not (isinstance(error, ModelConnectionError) and error.phase in NOT_BEGUN)
            if config.recorder:
                config.recorder.attempted(frame.path, self.wrapped.model_id, failure, was_sent=was_sent)
            if not was_sent:
                config.budget.release(frame)
            if failure is error:
                raise
            raise failure from error

    def _is_local(self, error: Exception) -> bool:
        """Whether the workspace's own code failed, or a model that asks no provider."""
        return self.wrapped.model_id.startswith(UNPAID) or bool(self._config.backtrace.of_workspace(error))


def counted(model: Model, config: RuntimeConfig, frame: CallFrame) -> Model:
    """`model`, each of its requests counted; of a chain, those of every model in it."""
    if isinstance(model, PlayedModel):
        model = model.of_call(config, frame)
    if not isinstance(model, FallbackModel):
        return CountedModel(model, config, frame)
    chain = copy(model)  # the run opens and closes the connections, which the copy shares
    chain.models = [counted(member, config, frame) for member in model.models]
    return chain
