"""The entries of a journal, made of the events of a run."""

from __future__ import annotations

import inspect
import platform
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pydantic_ai
from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry

from llmdo.journal.decided import record_of
from llmdo.journal.entries import JournalEntry
from llmdo.journal.location import MachineFolder
from llmdo.journal.records import size_of
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.toolsets import ToolsetTool

    from llmdo.journal.binding import Binding
    from llmdo.journal.entries import Kind
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.telemetry.events import Decided, ToolFinished, WorkerStarted


def run_entry(binding: Binding, encoding: Encoding) -> JournalEntry:
    """The binding of the run."""
    return JournalEntry(
        path=binding.entry,
        kind="run",
        step=1,
        digest=encoding.digest(binding.input),
        body=encoding.plain(binding.data).body,
    )


def history_entry(
    path: str, messages: Sequence[ModelMessage], encoding: Encoding
) -> tuple[JournalEntry, Mapping[str, bytes]]:
    """The messages that the run starts from, and their binary contents."""
    packed = encoding.messages(messages)
    return JournalEntry(path=path, kind="history", step=1, body=packed.body), packed.contents


def messages_entry(
    path: str, number: int, messages: Sequence[ModelMessage], encoding: Encoding
) -> tuple[JournalEntry, Mapping[str, bytes]]:
    """The messages of the process with that number, and their binary contents."""
    packed = encoding.messages(messages)
    return JournalEntry(path=path, kind="messages", step=number, body=packed.body), packed.contents


def call_entry(begun: WorkerStarted, encoding: Encoding) -> JournalEntry:
    """The beginning of a worker's call."""
    data = {"worker": begun.worker, "input": begun.input, "depth": begun.depth}
    return JournalEntry(
        path=begun.path,
        kind="call",
        step=1,
        digest=encoding.digest(begun.input),
        body=encoding.plain(data).body,
    )


def decision_entry(
    decided: Decided, kind: Kind, step: int, encoding: Encoding
) -> tuple[JournalEntry, Mapping[str, bytes]]:
    """A decision on a call, and the binary contents of its arguments."""
    call = decided.call
    packed = encoding.plain({**record_of(call), "arguments": call.arguments})
    entry = JournalEntry(
        path=call.path,
        kind=kind,
        step=step,
        outcome="allowed" if call.allowed else "denied",
        digest=encoding.digest(call.arguments),
        body=packed.body,
    )
    return entry, packed.contents


def ended_entry(ended: ToolFinished, step: int, encoding: Encoding) -> JournalEntry:
    """The end of a call for its model: size and digest of the result without secrets."""
    data = {"tool": ended.tool, **size_of(encoding.redaction.plain(ended.result))}
    return JournalEntry(
        path=ended.path, kind="ended", step=step, outcome=ended.outcome, body=encoding.plain(data).body
    )


def session_entry(
    path: str,
    number: int,
    journal: JournalStore,
    begun: Mapping[str, object],
    encoding: Encoding,
    workspace: Path,
) -> JournalEntry:
    """The session of the process with that number, working on the run in `workspace`.

    `begun` holds its approvals, its isolation and the limits set by a person.
    """
    content: dict[str, object] = {
        "run": journal.run,
        "llmdo": __version__,
        "pydantic-ai": pydantic_ai.__version__,
        "python": platform.python_version(),
        **begun,
    }
    if journal.is_shared:
        content["location"] = MachineFolder.of(workspace).data
    return JournalEntry(path=path, kind="session", step=number, body=encoding.plain(content).body)


_FAULT = "llmdo:fault"
"""The key of a fault among arguments that nobody has looked at yet."""


class _LaterValidator:
    """Validates like the validator of a tool, but returns a fault in place of the arguments.

    A validator does not know its call; the function that looks at the arguments after it does.
    """

    def __init__(self, tool: ToolsetTool[object]) -> None:
        self.tool = tool
        """The tool as it was."""

    def validate_json(self, *arguments: Any, **options: Any) -> Any:
        """The arguments in a JSON text, or their fault."""
        try:
            return self.tool.args_validator.validate_json(*arguments, **options)
        except (ValidationError, ModelRetry) as error:
            return {_FAULT: error}

    def validate_python(self, *arguments: Any, **options: Any) -> object:
        """The same of a dict."""
        try:
            return self.tool.args_validator.validate_python(*arguments, **options)
        except (ValidationError, ModelRetry) as error:
            return {_FAULT: error}


def noting(
    tool: ToolsetTool[object], note: Callable[[RunContext[object], ValidationError | ModelRetry], None]
) -> ToolsetTool[object]:
    """`tool`, with a `note` of every call with unfit arguments."""

    async def judge(ctx: RunContext[object], **arguments: object) -> None:
        try:
            fault = arguments.get(_FAULT)
            if isinstance(fault, ValidationError | ModelRetry):  # a model may call an argument so, too
                raise fault
            if tool.args_validator_func is not None:
                verdict = tool.args_validator_func(ctx, **arguments)
                if inspect.isawaitable(verdict):
                    await verdict
        except (ValidationError, ModelRetry) as error:
            note(ctx, error)
            raise

    return replace(tool, args_validator=_LaterValidator(tool), args_validator_func=judge)


def without_notes(tool: ToolsetTool[object]) -> ToolsetTool[object]:
    """The tool originally given to `noting`; otherwise `tool`."""
    validator = tool.args_validator
    return validator.tool if isinstance(validator, _LaterValidator) else tool
