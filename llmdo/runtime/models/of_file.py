"""The common base of models whose answers are in a file of the workspace. They ask nobody."""

from __future__ import annotations

from contextlib import asynccontextmanager
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model
from pydantic_ai.native_tools import SUPPORTED_NATIVE_TOOLS

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


class ModelOfFile(Model):
    """A model with the answers in `file`, which lies in the workspace at `root`."""

    kind: ClassVar[str]
    """The beginning of its references, before the colon."""

    def __init__(self, file: str, root: Path) -> None:
        super().__init__(profile={"supported_native_tools": SUPPORTED_NATIVE_TOOLS})
        self._file = file
        self._root = root
        self.answers: tuple[RuntimeConfig, CallFrame] | None = None
        """The worker's call that it answers; None outside of a run."""

    @property
    def model_name(self) -> str:
        """The file."""
        return self._file

    @property
    def system(self) -> str:
        """A name in place of the provider."""
        return self.kind

    def for_call(self, config: RuntimeConfig, frame: CallFrame) -> Self:
        """The same for one call of a worker."""
        model = copy(self)
        model.answers = config, frame
        return model

    @property
    def call(self) -> tuple[RuntimeConfig, CallFrame]:
        """The same, in a run.

        Raises:
            LlmdoError: Code asks it outside of one.
        """
        if self.answers is None:
            raise LlmdoError(f"`{self.kind}:{self._file}` answers the workers of a run alone")
        return self.answers

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,  # noqa: ARG002
    ) -> AsyncIterator[StreamedResponse]:
        """The whole answer at once, for agents of code that stream."""
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters)


def responses_since(frame: CallFrame, messages: Sequence[ModelMessage]) -> list[int]:
    """The places of the answers in `messages` that the call of `frame` has had itself."""
    earlier = sum(isinstance(message, ModelResponse) for message in frame.history)
    return [at for at, message in enumerate(messages) if isinstance(message, ModelResponse)][earlier:]
