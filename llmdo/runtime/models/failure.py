"""Failures of models, workers and tools in a sentence for models and people, with remedies."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRetry,
    ModelTimeoutError,
    ToolFailed,
    UnexpectedModelBehavior,
)

from llmdo.base.backtrace import CrashError
from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.models import key_variables
from llmdo.runtime.signatures import mistakes
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.backtrace import Backtrace

MAX_TOLD = 500  # characters: what a model is told about a failure
MAX_QUOTED = 200  # characters of a provider's own words

_CREDENTIALS = frozenset({401, 403})
"""The statuses about a key: responses may hold a part of it and are never quoted."""

_MASKED = re.compile(r"[\w-]+(?:\*{2,}[\w*-]*|(?:\.{3,}|…|•{2,})[\w-]+)")
"""A word with its middle left out, as providers quote keys."""

_PAGE = re.compile(r"<!doctype html|<html", re.IGNORECASE)


_WORDED = (AgentRunError, FallbackExceptionGroup, LlmdoError, ModelRetry, ToolFailed, ValidationError)
"""Failures with messages of their own, better than a place in code."""


_MALFORMED = (AttributeError, LookupError, TypeError)
"""The errors of clients at answers without the expected parts, such as `null`."""


class UnreadableAnswerError(ModelAPIError):
    """A provider's response is no answer of its API, such as a proxy's page."""


class OutOfQuotaError(LlmdoError):
    """The quota of a provider is used up: further requests fail as well."""


def failure_text(error: BaseException, backtrace: Backtrace | None = None) -> str:
    """The failure of a worker for its caller's model: a sentence with the place, without source."""
    return _shortened(explained(error, backtrace=backtrace).message)


def without_body(error: BaseException) -> str:
    """The reason for a failed request, without the response, which may repeat anything."""
    match error:
        case ModelHTTPError():
            text = f"the status was {error.status_code}"
        case AgentRunError() | LlmdoError():
            text = error.message
        case _:
            text = str(error)
    return _shortened(text)


def explained(
    error: BaseException, models: Mapping[str, str] | None = None, backtrace: Backtrace | None = None
) -> LlmdoError:
    """A failure in one sentence, with a hint if there is a remedy.

    `models` maps each provider's name of a model, the only one in a failure, to `provider:model`. `backtrace` finds the
    failed place in the workspace's code.
    """
    match error:
        case CrashError():
            return error
        case LlmdoError():
            cause = error.__cause__
            if backtrace is None or cause is None or isinstance(cause, _WORDED):
                return error
            return backtrace.crash(error.message, cause, hint=error.hint)
        case FallbackExceptionGroup():
            each = [explained(exception, models) for exception in error.exceptions]
            hints = dict.fromkeys(failure.hint for failure in each if failure.hint)
            sentences = "; ".join(failure.message for failure in each)
            kind = (
                OutOfQuotaError
                if all(isinstance(failure, OutOfQuotaError) for failure in each)
                else LlmdoError
            )
            return kind(f"every model of the chain failed: {sentences}", hint="; ".join(hints) or None)
        case ModelAPIError():
            return _of_provider(error, (models or {}).get(error.model_name, error.model_name))
        case ContentFilterError():
            return LlmdoError(f"the model refused to answer: {_refusal(error)}")
        case UnexpectedModelBehavior():
            return LlmdoError(_with_last_mistake(error))
        case AgentRunError():
            return LlmdoError(error.message)
    return backtrace.crash(sentence_of(error), error) if backtrace else LlmdoError(sentence_of(error))


def unreadable(error: Exception, model_name: str) -> UnreadableAnswerError | None:
    """A client's `error` about an unreadable answer; None for all other failures."""
    text = str(error)
    if isinstance(error, _MALFORMED):
        return UnreadableAnswerError(model_name, "it does not have the form that the API promises")
    if type(error) is not ModelAPIError or "JSON" not in text:
        # What the agent loop raises does not come up within a request: this is its client's.
        if not isinstance(error, UnexpectedModelBehavior) or isinstance(error, ContentFilterError):
            return None
        text = error.message
    problem = "it is a page of HTML" if _PAGE.search(str(error)) else text.partition(", got: ")[0]
    return UnreadableAnswerError(model_name, problem)


def _of_provider(error: ModelAPIError, model: str) -> LlmdoError:
    match error:
        case UnreadableAnswerError():
            return LlmdoError(
                f"the answer of `{model}` cannot be read: {error.message}", hint=_address_hint(model)
            )
        case ModelTimeoutError():
            return LlmdoError(f"`{model}` did not answer in time: {error.message}")
        case ModelConnectionError():
            return LlmdoError(
                f"the connection to `{model}` failed: {error.message}", hint=_address_hint(model)
            )
        case ModelHTTPError():
            return _of_status(error, model)
    return LlmdoError(f"`{model}` failed: {_quotable(error.message)}")


def _of_status(error: ModelHTTPError, model: str) -> LlmdoError:
    status, hint, kind = error.status_code, None, LlmdoError
    if status in _CREDENTIALS:
        problem = "did not accept the key" if status == 401 else "may not be used with this key"
        return LlmdoError(f"`{model}` {problem} (status {status})", hint=_key_hint(model))
    if isinstance(error, ModelQuotaExceededError) or status == 402:
        kind, problem = OutOfQuotaError, "is out of quota"
        hint = "look at plan and billing where the key comes from, or name another model"
    elif status == 404:
        problem = "is not known to its provider"
        nearest = getattr(error, "suggested_model_id", None)  # which older versions do not have
        hint = (
            f"did you mean `{nearest}`?" if nearest else "is that the model's name, and may the key use it?"
        )
    elif status == 429:
        problem = "takes no more requests for now"
        hint = "wait, or set `requests-per-minute` in the entry's `limits`"
    elif status in (408, 409) or status >= 500:
        problem = "failed"
        hint = "it may work later; a chain of models in [models] goes on with another one"
    else:
        problem = "rejected the request"
    detail = _body_message(error.body)
    return kind(f"`{model}` {problem} (status {status})" + (f": {detail}" if detail else ""), hint=hint)


def _key_hint(model: str) -> str:
    names = key_variables(model)
    variables = [name for name in names if os.environ.get(name)] or names
    if not variables:
        return f"check the key that `{model}` is asked with"
    return f"check the key in the environment variable {' or '.join(f'`{name}`' for name in variables)}"


def _address_hint(model: str) -> str | None:
    """A question about the variable that replaces the provider's address, if set."""
    names = (name.removesuffix("_API_KEY") + "_BASE_URL" for name in key_variables(model))
    variable = next((name for name in names if os.environ.get(name)), None)
    return f"is the address in `{variable}` right?" if variable else None


def _body_message(body: object) -> str:
    """The provider's own message in an error's body; empty for none, or a page."""
    while isinstance(body, dict):
        body = body.get("message") or body.get("error") or body.get("detail")
    return _quotable(body) if isinstance(body, str) and not _PAGE.search(body) else ""


def _quotable(text: str) -> str:
    """`text` on one line, shortened, without keys and parts of keys."""
    line = Redaction.of(os.environ).text(" ".join(text.split()))
    line = _MASKED.sub("[redacted]", line)
    return line if len(line) <= MAX_QUOTED else line[:MAX_QUOTED] + "..."


def _refusal(error: ContentFilterError) -> str:
    try:
        details: Any = json.loads(error.body or "")[0]["provider_details"]
        refusal = details.get("refusal") or details.get("block_reason")
    except (ValueError, LookupError, TypeError, AttributeError):
        refusal = None
    return _quotable(refusal) if isinstance(refusal, str) and refusal else _quotable(error.message)


def _with_last_mistake(error: UnexpectedModelBehavior) -> str:
    """The failure, and the model's last mistake if it was corrected too often."""
    message = error.message.partition(" Consider raising")[0].rstrip(".")
    mistake = error.__cause__
    if mistake is None or "xceeded max" not in message:
        return _quotable(message)
    detail = mistakes(mistake) if isinstance(mistake, ValidationError) else str(mistake)
    return f"{message}; the last mistake: {_quotable(detail)}"


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_TOLD else text[:MAX_TOLD] + "..."
