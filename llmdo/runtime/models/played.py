"""A model that plays a recording: `replay:FILE.sqlite` answers a request as it was answered when the run was recorded.

A request is found by its place, the call path of its worker and its number there, and is then compared with the
recorded one: parallel delegates that are asked the same do not get each other's answers, and what differs has a name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.native_tools import SUPPORTED_NATIVE_TOOLS

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import read_journal
from llmdo.runtime.recording.difference import difference
from llmdo.runtime.recording.encoding import Decoding, Encoding
from llmdo.runtime.recording.requests import (
    definitions,
    last_response,
    shown_tools,
    told_in,
    tools_digest,
)
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


class PlayedModel(Model):
    """A model whose answers are those of a recorded run. It asks nobody: what is not recorded is an error."""

    def __init__(self, file: str, root: Path, call: tuple[RuntimeConfig, CallFrame] | None = None) -> None:
        """`file` lies in the workspace at `root`; `call` is that of the worker which it answers.

        Raises:
            LlmdoError: There is no such file in the workspace.
        """
        super().__init__(profile={"supported_native_tools": SUPPORTED_NATIVE_TOOLS})
        if refused := discovery.exists(root, file):
            raise LlmdoError(f"the recording `{file}` {refused.reason}")
        self._file = file
        self._root = root
        self._call = call

    @property
    def model_name(self) -> str:
        """The file."""
        return self._file

    @property
    def system(self) -> str:
        """What stands for the provider."""
        return "replay"

    def of_call(self, config: RuntimeConfig, frame: CallFrame) -> PlayedModel:
        """The same for one call of a worker."""
        return PlayedModel(self._file, self._root, (config, frame))

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The recorded answer to this request.

        Raises:
            LlmdoError: The recording has no request at this place, or another one; says what differs.
        """
        if self._call is None:
            raise LlmdoError(f"`replay:{self._file}` answers the workers of a run alone")
        config, frame = self._call
        path = frame.path
        step = 1 + _responses(messages) - _responses(frame.history)
        recorder = config.recorder
        encoding = recorder.encoding if recorder else Encoding(Redaction.of(os.environ))
        with read_journal(self._root / self._file) as journal:
            encoding = Encoding(encoding.redaction, journal.know(encoding.redaction.known))
            entry = journal.get(path, "request", step)
            if entry is None:
                raise LlmdoError(
                    f"{path}: request {step} is not in `{self._file}`, {_instead(journal, path)}"
                )
            data = journal.whole(entry)
            before = {**data["asked"], "model": None}
            asked = self._asked(
                config,
                frame,
                messages,
                model_settings,
                model_request_parameters,
                before,
                encoding,
                journal.content,
            )
            if change := difference(before, asked, accepts_drift=False):
                raise LlmdoError(f"{path}: request {step} is not the one in `{self._file}`: {change}")
            response = Decoding(journal.content).response(data["response"])
            if variable := encoding.secrets.lacks(response):
                raise encoding.secrets.missing(variable)
            return response

    def _asked(
        self,
        config: RuntimeConfig,
        frame: CallFrame,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        recorded: Mapping[str, object],
        encoding: Encoding,
        content: Callable[[str], bytes],
    ) -> dict[str, object]:
        """What the request is made of; the `recorded` one was made of the same, but was for another model."""
        shown = definitions(shown_tools(parameters))
        own = config.graph.workers[frame.name].model_settings
        # What became of `max_retries` on the way here does not matter to a model.
        given: Any = {key: value for key, value in (settings or {}).items() if key != "max_retries"}
        given |= {key: value for key, value in own.items() if key == "max_retries"}
        return {
            "model": None,
            "tools": tools_digest(shown, str(recorded["tools"]), encoding, content),
            **told_in(
                encoding, messages, messages[1 + last_response(messages) :], given, parameters, recorded
            ),
        }


def _responses(messages: Sequence[ModelMessage]) -> int:
    return sum(isinstance(message, ModelResponse) for message in messages)


def _instead(journal: JournalStore, path: str) -> str:
    """What a recording holds of the worker at `path`, where it lacks a request."""
    count = sum(entry.path == path for entry in journal.entries("request"))
    if count:
        return f"which holds {count} of this worker"
    others = dict.fromkeys(entry.path for entry in journal.entries("request"))
    return f"which holds requests of {', '.join(others) or 'nobody'}"
