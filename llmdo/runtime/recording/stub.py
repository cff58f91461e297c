"""Inactive models and tools for a replay: they look like the real ones, and do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.gate.numbering import call_path
from llmdo.runtime.recording.difference import definitions_in
from llmdo.runtime.recording.encoding import end_again

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelResponse

    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.recorder import Recorder

_ANYTHING = SchemaValidator(core_schema.any_schema())


class StandInModel(Model):
    """A model that is never asked: its answers are in the journal."""

    def __init__(self, reference: str) -> None:
        super().__init__()
        self._reference = reference

    @property
    def model_name(self) -> str:
        """The part of the reference after the provider."""
        return self._reference.rpartition(":")[2]

    @property
    def system(self) -> str:
        """The provider."""
        return self._reference.partition(":")[0]

    async def request(self, *_: object, **__: object) -> ModelResponse:
        """Never an answer."""
        raise LlmdoError(f"`{self._reference}` is not asked in a replay")


class StubToolset(AbstractToolset[object]):
    """The tools that a worker was shown, as recorded. None can be executed."""

    def __init__(
        self, name: str, tools: Collection[str], recorder: Recorder, path: str, ledger: Ledger
    ) -> None:
        """`tools` may be among them; `path` is the call path of their worker."""
        self._name = name
        self._tools = tools
        self._recorder = recorder
        self._path = path
        self._ledger = ledger

    @property
    def id(self) -> str:
        """The name of the toolset."""
        return self._name

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The tools of the model's next request."""
        content = self._recorder.playback.next_tools(self._path)
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=tool,
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
                args_validator_func=self._judge,
            )
            for tool in (definitions_in(content) if content else ())
            if tool.name in self._tools
        }

    def _judge(self, ctx: RunContext[object], **_: object) -> None:
        """Raises the fault in the arguments that the journal has recorded."""
        entry = self._recorder.journal.get(call_path(self._path, self._ledger.numbers, ctx), "invalid")
        if entry is not None:
            end_again(entry.outcome, self._recorder.journal.whole(entry))

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, object],  # noqa: ARG002
        ctx: RunContext[object],  # noqa: ARG002
        tool: ToolsetTool[object],  # noqa: ARG002
    ) -> object:
        """Never a result."""
        raise LlmdoError(f"`{name}` is not executed in a replay")
