"""A worker's model in a run with a journal."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic_ai.models import CompletedStreamedResponse

from llmdo.base.values import replace
from llmdo.journal.entries import JournalEntry
from llmdo.runtime.models.reporting import RequestReporter
from llmdo.runtime.models.requests import PersistentModel
from llmdo.runtime.place import is_in_code
from llmdo.runtime.recording.difference import (
    comparable,
    definitions,
    difference,
    last_response,
    shown_tools,
    tools_digest,
)
from llmdo.runtime.recording.replay_mode import Asking, DivergenceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.recording.recorder import Recorder


class RecordedModel(PersistentModel):
    """A worker's model in one call of it: its requests are served from the journal, or sent and recorded.

    It is the outermost model, so nothing is asked around it. Requests by a tool's own code pass through: the journal
    has the tool's result.
    """

    def __init__(self, model: Model, config: RuntimeConfig, frame: CallFrame, recorder: Recorder) -> None:
        super().__init__(model, config, frame)
        self._config = config
        self._frame = frame
        self._recorder = recorder
        self._prepared: list[ModelMessage] | None = None
        """The messages of the next request, before their conversion for the provider."""
        self._seen = 0
        """The number of messages in the previous request."""
        self._last: ModelMessage | None = None
        """The last of them."""
        self._tools: list[ToolDefinition] = []
        self._tools_digest = ""

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """The messages converted for the provider; recorded as they were before, equal for every model."""
        if not is_in_code():
            self._prepared = messages
        return super().prepare_messages(messages, model_request_parameters)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The response, recorded or new."""
        if is_in_code():
            return await self.answer(messages, model_settings, model_request_parameters)
        asking = await self._asking(messages, model_settings, model_request_parameters)
        if asking.recorded is not None:
            return self._served(asking.recorded)
        with self._recorder.working(asking.place):
            response = await self.answer(messages, model_settings, model_request_parameters)
        await self._keep(asking, response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """The same, piece by piece; a recorded one in one piece."""
        live = super().request_stream(messages, model_settings, model_request_parameters, run_context)
        if is_in_code():
            async with live as stream:
                yield stream
            return
        asking = await self._asking(messages, model_settings, model_request_parameters)
        if asking.recorded is not None:
            response = self._served(asking.recorded)
            yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters)
            return
        with self._recorder.working(asking.place):
            async with live as stream:
                yield stream
        await self._keep(asking, stream.get())

    async def _asking(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> Asking:
        sent = messages if self._prepared is None else self._prepared
        new = _new_in(sent, self._seen, self._last)
        if self._seen == 0 and self._frame.history:
            # The run is bound to what the call starts from, whose end the loop may have mended.
            new = sent[1 + last_response(sent) :]
        self._prepared, self._seen = None, len(sent)
        self._last = sent[-1] if sent else None

        def build(recorded: Mapping[str, object] | None) -> dict[str, object]:
            return {
                "model": self._config.agents.references.get(self._frame.name, ""),
                "tools": self._offered(shown_tools(parameters), recorded),
                **comparable(self._recorder.encoding, sent, new, settings, parameters, recorded),
            }

        recorder, path = self._recorder, self._frame.path
        step = recorder.playback.take(path, "request")
        await recorder.stop_before(f"{path}@{step}")
        async with recorder.certain:
            if entry := recorder.journal.get(path, "request", step):
                data = recorder.journal.whole(entry)
                now = build(data["asked"])
                if change := difference(data["asked"], now, accepts_drift=recorder.mode.drifted):
                    other = f"{path}: request {step} is not the recorded one: {change}"
                    await recorder.brake.pull(DivergenceError(other))
                asking = Asking(path, step, now)
                with recorder.working(asking.place):
                    return replace(asking, recorded=recorder.decoding.response(data["response"]))
            await recorder.horizon.require_live(path, f"asks its model for the time {step}")
            await recorder.require_known(path, sent)
            return Asking(path, step, build(None))

    async def _keep(self, asking: Asking, response: ModelResponse) -> None:
        """Keeps a request and its model's answer."""
        encoding = self._recorder.encoding
        packed, request = encoding.response(response), encoding.plain(asking.sent)
        entry = JournalEntry(
            path=asking.path,
            kind="request",
            step=asking.step,
            digest=encoding.digest_in(request),
            body=b'{"asked":' + request.body + b',"response":' + packed.body + b"}",
        )
        # Whatever is done because of it is recorded first, and that takes it along.
        await self._recorder.record(entry, packed.contents, hold="written")

    def _served(self, response: ModelResponse) -> ModelResponse:
        """A recorded response, counted and reported like a new one."""
        self._config.ledger.count_request(self._frame.name)
        report = RequestReporter(self._config, self._frame, self.model_id)
        report.requested()
        report.answered(response)
        return response

    def _offered(self, tools: list[ToolDefinition], recorded: Mapping[str, object] | None) -> str:
        """The journal's digest of the tools shown to the model.

        It is that of the `recorded` request if that showed the same.
        """
        if recorded is not None:
            journal, encoding = self._recorder.journal, self._recorder.encoding
            return tools_digest(definitions(tools), str(recorded["tools"]), encoding, journal.content)
        if tools != self._tools or not self._tools_digest:
            self._tools = tools
            self._tools_digest = self._recorder.keep(definitions(tools))
        return self._tools_digest


def _new_in(messages: Sequence[ModelMessage], seen: int, last: ModelMessage | None) -> Sequence[ModelMessage]:
    """The messages after the `last` of the `seen` ones of the previous request; all if it was removed."""
    if seen == 0 or (seen <= len(messages) and messages[seen - 1] is last):
        return messages[seen:]
    for at in range(len(messages) - 1, -1, -1):
        if messages[at] is last or messages[at] == last:
            return messages[at + 1 :]
    return messages
