"""A model that plays a recording: `replay:FILE.sqlite` gives the recorded answers of a run.

`replay:FILE.json` plays those of an eval, whose run is chosen by its input.

A request is found by its worker's call path and its number there, then compared with the recorded one: parallel
delegates with equal requests keep their own answers, and differences are named.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import read_journal, recorded
from llmdo.journal.entries import RECORDED_COST, JournalError
from llmdo.runtime.models.of_file import ModelOfFile, responses_since
from llmdo.runtime.recording.difference import (
    comparable,
    definitions,
    difference,
    last_response,
    shown_tools,
    tools_digest,
)
from llmdo.runtime.recording.encoding import Decoding, Encoding
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.journal.recorded import Recording
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """A request as a recording has it."""

    request: Mapping[str, Any]
    answer: object
    encoding: Encoding
    """The encoding for comparisons with it."""
    content: Callable[[str], bytes]
    otherwise: str
    """The message about another request."""
    again: str = ""
    """The way to record that one."""


class PlayedModel(ModelOfFile):
    """A model with the answers of a recorded run. It asks nobody: an unrecorded request is an error."""

    kind = "replay"

    def __init__(self, file: str, root: Path) -> None:
        """`file` lies in the workspace at `root`.

        Raises:
            LlmdoError: There is no such file in the workspace.
        """
        super().__init__(file, root)
        if refused := discovery.exists(root, file):
            raise LlmdoError(f"the recording `{file}` {refused.reason}")

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The recorded answer to this request.

        Raises:
            LlmdoError: The recording has none at this place, or of another request.
        """
        config, frame = self.call
        path = frame.path
        step = 1 + len(responses_since(frame, messages))
        log = config.log
        encoding = log.encoding if isinstance(log, Recorder) else Encoding(Redaction.of(os.environ))
        is_of_eval = self._file.endswith(recorded.SUFFIX)
        opened = self._of_eval if is_of_eval else self._of_run
        with opened(config, path, step, encoding) as exchange:
            current = self._comparable(
                config, frame, messages, model_settings, model_request_parameters, exchange
            )
            if change := difference({**exchange.request, "model": None}, current, accepts_drift=False):
                raise LlmdoError(f"{path}: request {step} {exchange.otherwise}: {change}{exchange.again}")
            response = Decoding(exchange.content).response(exchange.answer)
            if variable := exchange.encoding.secrets.lacks(response):
                raise exchange.encoding.secrets.missing(variable)
            return self._played(response, exchange.request)

    @contextmanager
    def _of_run(
        self,
        config: RuntimeConfig,  # noqa: ARG002  # which that of an eval looks at
        path: str,
        step: int,
        encoding: Encoding,
    ) -> Iterator[_Exchange]:
        """The request at a place of the exported run.

        Raises:
            LlmdoError: It is not there.
        """
        with read_journal(self._root / self._file) as journal:
            entry = journal.get(path, "request", step)
            if entry is None:
                raise LlmdoError(
                    f"{path}: request {step} is not in `{self._file}`, {_instead(journal, path)}"
                )
            encoding = Encoding(encoding.redaction, journal.know(encoding.redaction.known))
            data = journal.whole(entry)
            yield _Exchange(
                request=data["asked"],
                answer=data["response"],
                encoding=encoding,
                content=journal.content,
                otherwise=f"is not the one in `{self._file}`",
            )

    @contextmanager
    def _of_eval(
        self, config: RuntimeConfig, path: str, step: int, encoding: Encoding
    ) -> Iterator[_Exchange]:
        """The request at a place of this run, in the recording of an eval.

        Raises:
            LlmdoError: It is not there, or its answer is not.
        """
        source = discovery.read(self._root, self._file, limit=recorded.LARGEST)
        if isinstance(source, discovery.RefusedPath):
            raise LlmdoError(f"the recording `{self._file}` {source.reason}")
        recording = _parsed(source, self._file)
        first = recorded.begun(config.log.journal) if isinstance(config.log, Recorder) else None
        if first is None:
            raise LlmdoError(f"`replay:{self._file}` answers the runs of an eval, which have a journal")
        run = recording.run(first.path, recorded.given_to(first))
        if run is None:
            raise LlmdoError(
                f"{path}: `{self._file}` has no run of entry `{first.path}` with this input; {recording.again}"
            )
        request = run.request(path, step)
        if request is None:
            raise LlmdoError(
                f"{path}: request {step} is not in `{self._file}`, in the case `{run.case}`; {recording.again}"
            )
        if request.lacks:
            raise LlmdoError(
                f"{path}: the answer to request {step} in `{self._file}` is without {request.lacks}"
            )
        yield _Exchange(
            request=request.sent,
            answer=request.answer,
            encoding=encoding,
            content=_no_content,
            otherwise="was recorded for another request",
            again=f"; {recording.again}",
        )

    def _played(self, response: ModelResponse, sent: Mapping[str, object]) -> ModelResponse:
        """A recorded answer in this model's name, at no cost; the original cost is noted."""
        cost = response.usage.cost
        response.usage = replace(response.usage, cost=Decimal(0))
        response.provider_name, response.model_name = self.system, self._file
        response.provider_details = {
            "recorded_model": sent["model"],
            RECORDED_COST: None if cost is None else str(cost),
        }
        return response

    def _comparable(
        self,
        config: RuntimeConfig,
        frame: CallFrame,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        exchange: _Exchange,
    ) -> dict[str, object]:
        """The request in comparable form; the recorded one was for another model."""
        shown = definitions(shown_tools(parameters))
        own = config.graph.workers[frame.name].model_settings
        # What became of `max_retries` on the way here does not matter to a model.
        own_settings: Any = {key: value for key, value in (settings or {}).items() if key != "max_retries"}
        own_settings |= {key: value for key, value in own.items() if key == "max_retries"}
        new = messages[1 + last_response(messages) :]
        return {
            "model": None,
            "tools": tools_digest(shown, str(exchange.request["tools"]), exchange.encoding, exchange.content),
            **comparable(exchange.encoding, messages, new, own_settings, parameters, exchange.request),
        }


@lru_cache(maxsize=4)
def _parsed(content: bytes, name: str) -> Recording:
    """The recording of an eval, parsed once for all requests.

    Raises:
        LlmdoError: It is none.
    """
    return recorded.parse(content.decode("utf-8", "replace"), name)


def _no_content(digest: str) -> bytes:
    raise JournalError(f"the content `{digest}` is in no recording of text")


def _instead(journal: JournalStore, path: str) -> str:
    """The recorded requests of the worker at `path`, else the workers with some, in words."""
    count = sum(entry.path == path for entry in journal.entries("request"))
    if count:
        return f"which holds {count} of this worker"
    paths = dict.fromkeys(entry.path for entry in journal.entries("request"))
    return f"which holds requests of {', '.join(paths) or 'nobody'}"
