"""Failures in a sentence: of models, workers and tools, as models and people are told of them."""

from __future__ import annotations

from pydantic_ai.exceptions import (
    AgentRunError,
    FallbackExceptionGroup,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
)

from llmdo.diagnostic import LlmdoError
from llmdo.toolsets.python import sentence_of

MAX_TOLD = 500  # characters: what a model is told about a failure


def told(error: BaseException) -> str:
    """Why a worker failed, as its caller's model is told."""
    text = " ".join(_sentence(error).split())
    return text if len(text) <= MAX_TOLD else text[:MAX_TOLD] + "..."


def without_body(error: BaseException) -> str:
    """Why a request failed, without what the provider sent: that may repeat anything."""
    match error:
        case ModelHTTPError():
            text = f"the status was {error.status_code}"
        case AgentRunError() | LlmdoError():
            text = error.message
        case _:
            text = sentence_of(error)
    text = " ".join(text.split())
    return text if len(text) <= MAX_TOLD else text[:MAX_TOLD] + "..."


def _sentence(error: BaseException) -> str:
    match error:
        case FallbackExceptionGroup():
            return f"every model of the chain failed: {'; '.join(map(_sentence, error.exceptions))}"
        case ModelTimeoutError():
            return f"`{error.model_name}` did not answer in time: {error.message}"
        case ModelConnectionError():
            return f"the connection to `{error.model_name}` failed: {error.message}"
        case AgentRunError() | LlmdoError():
            return str(error)
    return sentence_of(error)
