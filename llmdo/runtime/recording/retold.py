"""How the execution of a tool ended, as data, and the same ending again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import ValidationError
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_core import PydanticCustomError

from llmdo.base.backtrace import CrashError, Frame, frames_of
from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.gate.call import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import InitErrorDetails

    from llmdo.runtime.telemetry.events import Outcome


def shown_outcome(error: Exception) -> tuple[Outcome, str | None]:
    """How a call that ended with `error` ended for its model, and what that is told instead of a result."""
    match error:
        case Refused():
            return "denied", error.message
        case ToolFailed():
            return "failed", error.message
        case ModelRetry() | ValidationError():
            return "retried", str(error)
    return "error", None


def ending_of(error: Exception) -> tuple[str, dict[str, object]]:
    """The outcome, in a word, and what there is to say about it."""
    match error:
        case ApprovalRequired():
            return "asks", {}
        case Refused():
            return "denied", {"message": error.message}
        case ToolFailed():
            return "failed", {"message": error.message}
        case ModelRetry():
            return "retried", {"message": error.message}
        case ValidationError():
            details = error.errors(include_url=False, include_context=False)
            return "invalid", {"title": error.title, "errors": details}
        case LlmdoError():
            return "error", {"message": error.message, "hint": error.hint, "frames": frames_of(error)}
    return "error", {"message": str(error)}


def end_again(outcome: str, data: Mapping[str, Any]) -> NoReturn:
    """Ends as a recorded execution that did not succeed.

    Raises:
        Exception: Always; of the kind that `ending_of` was given, as far as whoever is told can tell.
    """
    match outcome:
        case "asks":
            raise ApprovalRequired
        case "denied":
            raise Refused(data["message"])
        case "failed":
            raise ToolFailed(data["message"])
        case "retried":
            raise ModelRetry(data["message"])
        case "invalid":
            raise ValidationError.from_exception_data(data["title"], list(map(_detail, data["errors"])))
    if frames := data.get("frames"):
        raise CrashError(data["message"], hint=data.get("hint"), frames=[Frame(**frame) for frame in frames])
    raise LlmdoError(data["message"], hint=data.get("hint"))


def _detail(error: Mapping[str, Any]) -> InitErrorDetails:
    return {
        "type": PydanticCustomError(error["type"], error["msg"]),
        "loc": tuple(error["loc"]),
        "input": error["input"],
    }
