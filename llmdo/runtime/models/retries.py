"""Retries of a request after a passing failure: bounded, with growing waits, and never twice for an effect.

A failed request has run no tool of ours, for these are called after the response. A request with tools that the
provider itself runs is repeated only if it was never begun.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Self

from pydantic_ai.exceptions import (
    AgentRunError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRetry,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.gate.numbering import require_bounded
from llmdo.runtime.models.call_ids import with_unique_ids
from llmdo.runtime.models.failure import UnreadableAnswerError, explained
from llmdo.runtime.models.per_call import ModelPerCall
from llmdo.runtime.models.reporting import RequestReporter
from llmdo.runtime.models.requests import NOT_BEGUN, CountedModel, RequestCounter, model_for_call
from llmdo.runtime.models.streaming import is_heard, tell_whole
from llmdo.runtime.place import is_in_code
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame

RETRIES = 2
"""The number of retries without a `max_retries` of the worker."""

FIRST_WAIT = 0.5  # seconds; doubled after every attempt
LONGEST_WAIT = 60.0  # seconds; a provider that asks for a longer wait is not waited for

TOO_EARLY = frozenset({408, 409, 429})
"""The statuses below 500 that say: the same request may succeed later."""


class PersistentModel(ModelPerCall):
    """A worker's model in one call of it: counted, reported, and asked again after a passing failure.

    A chain of models is repeated when all of it failed.
    """

    def __init__(self, model: Model, config: RuntimeConfig, frame: CallFrame) -> None:
        super().__init__(model_for_call(model, config, frame))
        self._report = RequestReporter(config, frame, model.model_id)
        is_chain = isinstance(self.wrapped, FallbackModel)  # whose members count theirs
        self._counter = None if is_chain else RequestCounter(config, frame, self.wrapped)

    async def __aenter__(self) -> Self:
        """The model as it is: the run opens and closes its connections."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leaves the model open."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's response, perhaps of a later attempt."""
        return await self.answer(messages, model_settings, model_request_parameters)

    async def answer(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The same, without pydantic-ai's wrapping of each `request` method."""
        settings, retries = self._manner(model_settings)
        self._report.requested()
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._answer(messages, settings, model_request_parameters)
            except Exception as error:
                await self._wait(error, attempt, retries, model_request_parameters)
            else:
                require_bounded(response)
                response = with_unique_ids(response, messages)
                self._report.answered(response)
                return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """The same, piece by piece. Nothing is asked again after the first piece."""
        settings, retries = self._manner(model_settings)
        self._report.requested()
        # A chain hands a stream over only when its first piece is there, also where it is a chain of one.
        chain = self.wrapped
        if self._counter is not None:
            chain = FallbackModel(CountedModel(self.wrapped, self._counter))
        attempt, stream = 0, None
        while stream is None:
            attempt += 1
            async with AsyncExitStack() as opened:
                try:
                    stream = await opened.enter_async_context(
                        chain.request_stream(messages, settings, model_request_parameters, run_context)
                    )
                except Exception as error:
                    await self._wait(error, attempt, retries, model_request_parameters)
                    continue
                try:
                    yield stream
                except ModelAPIError as error:  # after its first piece
                    raise self._in_a_sentence(error) from error
        response = stream.get()
        if is_heard(self._report.config, self._report.frame) and not is_in_code():
            tell_whole(
                response, self._report.config, self._report.frame
            )  # its pieces went to the agent alone
        self._report.answered(response)

    async def _answer(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> ModelResponse:
        if self._counter is None:
            return await self.wrapped.request(messages, settings, parameters)
        return await self._counter.request(messages, settings, parameters)

    def _manner(self, model_settings: ModelSettings | None) -> tuple[ModelSettings, int]:
        """The settings of each attempt, and the number of retries."""
        settings: ModelSettings = {**(model_settings or {})}
        retries = settings.pop("max_retries", RETRIES)
        if all("max_retries" not in model.unsupported_settings for model in _senders(self.wrapped)):
            settings["max_retries"] = 0  # or the provider's own client would repeat each attempt as well
        return settings, retries

    async def _wait(
        self, error: Exception, attempt: int, retries: int, parameters: ModelRequestParameters
    ) -> None:
        """Returns when the request may be made again.

        Raises:
            Exception: `error`, in plain words, if it is not made again.
        """
        wait = None
        if isinstance(error, ModelAPIError | FallbackExceptionGroup) and attempt <= retries:
            wait = wait_after(error, attempt, has_effects=bool(parameters.native_tools))
        if wait is None:
            raise self._in_a_sentence(error) from error
        self._report.failed(self._in_a_sentence(error), attempt, wait)
        await asyncio.sleep(wait)

    def _in_a_sentence(self, error: Exception) -> Exception:
        """`error`, or our own error for one of a provider, its client or the workspace's own model."""
        if isinstance(error, FallbackExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]  # of a chain of one, which nobody wrote
        if isinstance(error, ModelAPIError | FallbackExceptionGroup):
            return explained(error, {model.model_name: model.model_id for model in _senders(self.wrapped)})
        if isinstance(error, AgentRunError | ModelRetry | LlmdoError):
            return error
        sentence = f"the model `{self.model_id}` raised {sentence_of(error)}"
        return self._report.config.backtrace.crash(sentence, error)


def wait_after(error: Exception, attempt: int, *, has_effects: bool = False) -> float | None:
    """The seconds before the same request is made again; None if that would be useless or unsafe.

    `has_effects` says that the provider itself may have run tools for it. Of a chain the shortest wait counts.
    """
    if isinstance(error, ExceptionGroup):
        waits = (wait_after(member, attempt, has_effects=has_effects) for member in error.exceptions)
        return min((wait for wait in waits if wait is not None), default=None)
    if not _passes(error) or (has_effects and not _was_not_begun(error)):
        return None
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    if retry_after is not None:
        return retry_after if retry_after <= LONGEST_WAIT else None
    # Spread out, or parallel delegates that failed together would come back together.
    return min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311


def _passes(error: Exception) -> bool:
    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        advice = (error.headers or {}).get("x-should-retry")
        return advice != "false" and (error.status_code >= 500 or error.status_code in TOO_EARLY)
    return isinstance(error, ModelConnectionError | UnreadableAnswerError)


def _was_not_begun(error: Exception) -> bool:
    if isinstance(error, ModelHTTPError):
        return error.status_code == 429 and not error.in_stream
    return isinstance(error, ModelConnectionError) and error.phase in NOT_BEGUN


def _senders(model: Model) -> Iterator[Model]:
    """The models that send the requests of `model`."""
    if isinstance(model, WrapperModel):
        yield from _senders(model.wrapped)
    elif isinstance(model, FallbackModel):
        for member in model.models:
            yield from _senders(member)
    else:
        yield model
