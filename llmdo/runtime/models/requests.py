"""Requests on their way: each attempt at each model of a chain is paid from the budget first, and retried."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Self

from pydantic_ai.exceptions import (
    AgentRunError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRetry,
)
from pydantic_ai.messages import BaseToolCallPart, ModelResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.gate.numbering import require_bounded
from llmdo.runtime.models.failure import UnreadableAnswerError, explained, unreadable
from llmdo.runtime.models.of_file import ModelOfFile
from llmdo.runtime.models.per_call import ModelPerCall
from llmdo.runtime.models.reporting import RequestReporter
from llmdo.runtime.models.streaming import answer_heard, is_heard, require_end, tell_whole
from llmdo.runtime.place import is_in_code
from llmdo.runtime.telemetry.events import UNPAID
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponsePart
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
    if isinstance(model, ModelOfFile):
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
