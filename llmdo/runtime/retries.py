"""Asking a provider again after a failure that passes: bounded, with growing waits, and never twice for an effect.

A request that failed has run no tool of ours, for tools are called after the response is complete. Tools that the
provider itself runs are another matter: where a request offers some, it is repeated only if it was never begun.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability
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

from llmdo.diagnostic import LlmdoError
from llmdo.runtime.calls import told
from llmdo.runtime.events import ModelFailed
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.calls import AgentRuntime

RETRIES = 2
"""How often a request is repeated where the worker's `max_retries` does not say."""

FIRST_WAIT = 0.5  # seconds; doubled after every attempt
LONGEST_WAIT = 60.0  # seconds; a provider that asks for a longer wait is not waited for

TOO_EARLY = frozenset({408, 409, 429})
"""The statuses below 500 that say: the same request may succeed later."""

NOT_BEGUN = frozenset({"pool", "connect"})
"""The phases of a failed connection in which the request was not sent."""


@dataclass
class Retries(AbstractCapability[Any]):
    """Repeats the model requests of a worker's call. A chain of models is repeated when all of it failed."""

    runtime: AgentRuntime | None = None
    """Of the call; None in the agent, which is shared by calls."""

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: no file can ask for it."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> Retries:
        """The same for one call of the worker."""
        return replace(self, runtime=ctx.deps)

    def get_wrapper_model(self, model: Model) -> Model | None:
        """`model`, asked again where that may help."""
        if self.runtime is None:
            return None
        config, frame = self.runtime.config, self.runtime.frame

        def tell(error: Exception, attempt: int, wait: float) -> None:
            config.on_event(
                ModelFailed(
                    path=frame.path, model=model.model_id, error=told(error), attempt=attempt, wait=wait
                )
            )

        return PersistentModel(model, tell)


class PersistentModel(WrapperModel):
    """A model that is asked again after a failure that passes."""

    def __init__(self, wrapped: Model, tell: Callable[[Exception, int, float], None]) -> None:
        super().__init__(wrapped)
        self._tell = tell

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's response, perhaps of a later attempt."""
        settings: ModelSettings = {**(model_settings or {})}
        retries = settings.pop("max_retries", RETRIES)
        if all("max_retries" not in one.unsupported_settings for one in _asked(self.wrapped)):
            settings["max_retries"] = 0  # or the provider's own client would repeat each attempt as well
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self.wrapped.request(messages, settings, model_request_parameters)
            except (ModelAPIError, FallbackExceptionGroup) as error:
                wait = wait_after(error, attempt, has_effects=bool(model_request_parameters.native_tools))
                if wait is None or attempt > retries:
                    raise
                self._tell(error, attempt, wait)
            except (AgentRunError, ModelRetry, LlmdoError):
                raise
            except Exception as error:  # a client that met an answer which its author did not think of
                raise LlmdoError(f"the model `{self.model_id}` raised {sentence_of(error)}") from error
            await asyncio.sleep(wait)


def wait_after(error: Exception, attempt: int, *, has_effects: bool = False) -> float | None:
    """The seconds to wait before the same request is made again; None where that would not help or not be safe.

    `has_effects` says that the provider itself may have run tools for it. Of a chain the shortest wait counts.
    """
    if isinstance(error, ExceptionGroup):
        waits = (wait_after(one, attempt, has_effects=has_effects) for one in error.exceptions)
        return min((wait for wait in waits if wait is not None), default=None)
    if not _passes(error) or (has_effects and not _was_not_begun(error)):
        return None
    asked = error.retry_after if isinstance(error, ModelAPIError) else None
    if asked is not None:
        return asked if asked <= LONGEST_WAIT else None
    # Spread out, or parallel delegates that failed together would come back together.
    return min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311


def _passes(error: Exception) -> bool:
    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        said = (error.headers or {}).get("x-should-retry")
        return said != "false" and (error.status_code >= 500 or error.status_code in TOO_EARLY)
    return isinstance(error, ModelConnectionError)


def _was_not_begun(error: Exception) -> bool:
    if isinstance(error, ModelHTTPError):
        return error.status_code == 429 and not error.in_stream
    return isinstance(error, ModelConnectionError) and error.phase in NOT_BEGUN


def _asked(model: Model) -> Iterator[Model]:
    """The models that send the requests of `model`."""
    if isinstance(model, WrapperModel):
        yield from _asked(model.wrapped)
    elif isinstance(model, FallbackModel):
        for one in model.models:
            yield from _asked(one)
    else:
        yield model
