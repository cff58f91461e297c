"""Reports and counts of a worker's requests to its model, answered by a provider or the journal."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic_ai.messages import NativeToolCallPart, ToolCallPart

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
    from pydantic_ai.messages import ModelResponse

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
