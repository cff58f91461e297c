"""Answers that arrive piece by piece: a model streams if somebody listens, and its pieces are reported.

The agent loop, the journal and the budget see only the whole answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import BaseToolCallPart, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from llmdo.runtime.models.failure import UnreadableAnswerError, explained, failure_text
from llmdo.runtime.models.of_file import ModelOfFile
from llmdo.runtime.telemetry.events import StreamBroken, TextDelta, ToolCallDelta

if TYPE_CHECKING:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        ModelResponsePart,
        ModelResponseStreamEvent,
        ToolCallPartDelta,
    )
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.telemetry.events import Sink

BROKEN = "it broke off before its end"


def is_heard(config: RuntimeConfig, frame: CallFrame) -> bool:
    """Whether somebody listens to the arriving answers of the worker of `frame`."""
    is_entrys = config.entry.worker is not None and frame.depth == 0
    return config.streams == "everything" or (config.streams == "entry" and is_entrys)


async def answer_heard(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    config: RuntimeConfig,
    frame: CallFrame,
) -> ModelResponse:
    """The answer of `model`, reported as it arrives; all at once if the model cannot stream.

    Raises:
        UnreadableAnswerError: The stream ended before the answer did.
        Exception: The model's own error.
    """
    if not can_stream(model):
        response = await model.request(messages, settings, parameters)
        tell_whole(response, config, frame)
        return response
    pieces = Pieces(frame.path, frame.name, config.log.tell)
    try:
        async with model.request_stream(messages, settings, parameters) as stream:
            async for event in stream:
                pieces.take(event)
        response = _complete(stream, model.model_name)
    except Exception as error:
        if pieces.any_reported:
            failure = explained(error, {model.model_name: model.model_id})
            broken = StreamBroken(
                path=frame.path, worker=frame.name, model=model.model_id, error=failure_text(failure)
            )
            config.log.tell(broken)
        raise
    pieces.end(response)
    return response


def tell_whole(response: ModelResponse, config: RuntimeConfig, frame: CallFrame) -> None:
    """Reports an answer in one piece for each of its parts."""
    pieces = Pieces(frame.path, frame.name, config.log.tell)
    for index, part in enumerate(response.parts):
        pieces.begin(index, part)
    pieces.end(response)


def can_stream(model: Model) -> bool:
    """Whether `model` can answer piece by piece; a scripted one if its script does."""
    if isinstance(model, FunctionModel):
        return model.stream_function is not None
    if isinstance(model, ModelOfFile):
        return False  # whose answers have no pieces
    if isinstance(model, FallbackModel):
        return all(map(can_stream, model.models))
    if isinstance(model, WrapperModel):
        return can_stream(model.wrapped)
    return type(model).request_stream is not Model.request_stream


def _complete(stream: StreamedResponse, model: str) -> ModelResponse:
    """The answer that was streamed.

    Raises:
        UnreadableAnswerError: It has no end.
    """
    response = stream.get()
    if response.state == "incomplete":
        raise UnreadableAnswerError(model, BROKEN)
    require_end(stream, model)
    return response


def require_end(stream: StreamedResponse, model: str) -> None:
    """Requires that a finished stream has given a complete answer.

    pydantic-ai takes the end of a connection for the end of an answer, and of chat completions then assumes a reason.

    Raises:
        UnreadableAnswerError: Its provider has not said that the answer is complete.
    """
    response = stream.get()
    is_assumed = response.finish_reason == "stop" and not getattr(stream, "_has_finish_reason", True)
    has_reason = bool(response.finish_reason or "finish_reason" in (response.provider_details or {}))
    is_providers = type(stream).__module__.startswith("pydantic_ai.models.") and bool(response.provider_name)
    is_open = is_providers and response.state == "complete" and not has_reason
    if is_assumed or is_open:
        raise UnreadableAnswerError(model, BROKEN)


class Pieces:
    """Reports the pieces of one answer."""

    def __init__(self, path: str, worker: str, tell: Sink) -> None:
        self._path = path
        self._worker = worker
        self._tell = tell
        self.any_reported = False
        self._has_text = False
        self._is_in_text = False
        self._numbers: dict[int, int] = {}
        """The numbers of the calls, by the index of their parts."""
        self._tools: dict[int, str] = {}
        """The names of their tools."""
        self._unwritten: list[int] = []
        """The indices of the calls whose arguments came as data."""

    def take(self, event: ModelResponseStreamEvent) -> None:
        """Reports a piece that has arrived."""
        if event.event_kind == "part_delta":
            delta = event.delta
            if delta.part_delta_kind == "text":
                self._tell_text(delta.content_delta)
            elif delta.part_delta_kind == "tool_call":
                self._go_on(event.index, delta)
        elif event.event_kind == "part_start":
            self.begin(event.index, event.part)

    def begin(self, index: int, part: ModelResponsePart) -> None:
        """Reports a new part of the answer."""
        if isinstance(part, TextPart):
            # As `ModelResponse.text` puts parts together.
            between = "\n\n" if self._has_text and not self._is_in_text else ""
            self._has_text = True
            self._tell_text(between + part.content)
        elif isinstance(part, BaseToolCallPart) and index not in self._tools:
            self._numbers[index], self._tools[index] = len(self._numbers), part.tool_name
            if isinstance(part.args, dict):
                self._unwritten.append(index)
            self._tell_call(index, part.args if isinstance(part.args, str) else "")
        self._is_in_text = isinstance(part, TextPart)

    def end(self, response: ModelResponse) -> None:
        """Reports the arguments that did not come as text."""
        for index in self._unwritten:
            part = response.parts[index] if index < len(response.parts) else None
            if isinstance(part, BaseToolCallPart):
                self._tell_call(index, part.args_as_json_str())

    def _go_on(self, index: int, delta: ToolCallPartDelta) -> None:
        if index not in self._tools:
            return
        self._tools[index] += delta.tool_name_delta or ""
        if isinstance(delta.args_delta, str):
            self._tell_call(index, delta.args_delta)
        elif delta.args_delta and index not in self._unwritten:
            self._unwritten.append(index)

    def _tell_text(self, text: str) -> None:
        if text:
            self.any_reported = True
            self._tell(TextDelta(path=self._path, worker=self._worker, text=text))

    def _tell_call(self, index: int, arguments: str) -> None:
        self.any_reported = True
        self._tell(
            ToolCallDelta(
                path=self._path,
                worker=self._worker,
                index=self._numbers[index],
                tool=self._tools[index],
                arguments=arguments,
            )
        )
