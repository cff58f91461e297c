"""What happens in a run, as it happens: one stream for the whole tree, every event with its call path.

The live display, the log, the trace and the journal are consumers of it. Events hold what was said and
done in full; a consumer that writes them down decides what of it may be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from decimal import Decimal

    from llmdo.base.backtrace import Frame
    from llmdo.journal.decided import DecidedCall

Status = Literal["completed", "truncated", "failed", "interrupted", "waiting", "cancelled"]
"""How a run ended; one that waits goes on when its questions are answered."""

Outcome = Literal["success", "denied", "failed", "retried", "error", "stopped"]
"""How a tool call ended: `denied` by the gate, `failed` or `retried` by the tool; `error` ends the worker. It is
`stopped` with its run, which was interrupted or waits, and is not over for the journal."""

Streams = Literal["nothing", "entry", "everything"]
"""Whose answers are reported piece by piece: nobody's, those of the entry's own worker, or all."""

UNPAID = ("function:", "test:", "python:", "replay:", "script:")
"""How the models name themselves that run in this process, and that nobody is paid for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened at one place in the tree."""

    kind: ClassVar[str]
    """The event's name, the same in every version."""
    path: str
    """The call path: `main`, `main/summarizer#2`, `main/summarizer#2/read_file#1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run begins; nothing was asked of a model yet."""

    kind: ClassVar[str] = "run_started"
    run: str
    entry: str
    input: str
    models: Mapping[str, str]
    """Worker to the model that it uses, as the files or the flags name it."""
    isolation: str | None = None
    """What isolates commands and what that does not cover; None where no worker can run any."""
    files_of: str | None = None
    """The folder that tools work on, as the manifest names it, where it is not the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStarted(Event):
    """A worker begins to work on its input."""

    kind: ClassVar[str] = "worker_started"
    worker: str
    depth: int
    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequested(Event):
    """A worker's model is about to be asked."""

    kind: ClassVar[str] = "model_requested"
    worker: str
    model: str
    """`provider:model`, as the model names itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDelayed(Event):
    """A request waits, so that there are no more in a minute than the entry allows."""

    kind: ClassVar[str] = "request_delayed"
    worker: str
    wait: float
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLoosened(Event):
    """A limit of the run cannot hold for one model. Told once for each."""

    kind: ClassVar[str] = "limit_loosened"
    model: str
    limit: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed(Event):
    """A provider did not answer, and is asked again after a wait."""

    kind: ClassVar[str] = "model_failed"
    model: str
    error: str
    attempt: int
    """Which attempt failed: 1 is the first."""
    wait: float
    """Seconds until the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """A piece of a worker's answer, as it arrived. Put together they are the `text` of its `ModelResponded`."""

    kind: ClassVar[str] = "text_delta"
    worker: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta(Event):
    """A piece of a call that a worker's model is writing. It is not complete, and nothing is decided about it."""

    kind: ClassVar[str] = "tool_call_delta"
    worker: str
    index: int
    """Which of the calls of the answer, from 0."""
    tool: str
    """Its name, as far as it is known."""
    arguments: str
    """The next piece of them, as JSON; the first may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBroken(Event):
    """An answer broke off: the pieces that were reported of it are void. It may be asked for again."""

    kind: ClassVar[str] = "stream_broken"
    worker: str
    model: str
    """`provider:model` of the one that was answering."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponded(Event):
    """A worker's model answered."""

    kind: ClassVar[str] = "model_responded"
    worker: str
    model: str
    """`provider:model` of the one that answered, which in a chain need not be the first."""
    text: str
    """What it said, beside its calls."""
    calls: tuple[str, ...]
    """The names of the tools that it called."""
    input_tokens: int | None
    output_tokens: int | None
    """None where nobody measured them."""
    cost_usd: Decimal | None
    """None where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTruncated(Event):
    """A worker's model was cut off before its answer was complete."""

    kind: ClassVar[str] = "answer_truncated"
    worker: str
    model: str
    """`provider:model` of the one that answered."""
    reason: str
    """What cut it off, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A model called a tool; the gate has not decided yet."""

    kind: ClassVar[str] = "tool_called"
    worker: str
    toolset: str
    tool: str
    arguments: Mapping[str, object]
    """Those that are decided on and, if it comes to that, executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Event):
    """A call waits for an answer of the approver; `Decided` about the same call follows."""

    kind: ClassVar[str] = "asked"
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Event):
    """The gate decided about a call, perhaps after asking."""

    kind: ClassVar[str] = "decided"
    call: DecidedCall
    lasts: bool = True
    """Whether it counts for a run that goes on; not where the lock refused the call, or a person ended the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Event):
    """A tool call ended, one way or another."""

    kind: ClassVar[str] = "tool_finished"
    tool: str
    outcome: Outcome
    result: object
    """What the tool returned, or what the model was told instead; None where it was told nothing."""
    error: str | None = None
    """Why it ended the worker, where it did."""
    frames: tuple[Frame, ...] = ()
    """Where code of the workspace failed, the innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNoticed(Event):
    """Something about an MCP server that a person should know: it died, or is not what was locked."""

    kind: ClassVar[str] = "server_noticed"
    server: str
    """The name of its toolset."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFinished(Event):
    """A worker gave its output, or failed. It did neither where the run was stopped or waits: its end says why."""

    kind: ClassVar[str] = "worker_finished"
    worker: str
    output: str | None
    error: str | None
    frames: tuple[Frame, ...] = ()
    """Where code of the workspace failed, the innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The run is over, however it ended, and its journal says so: `interrupted` where the store failed at that."""

    kind: ClassVar[str] = "run_finished"
    run: str
    status: Status
    error: str | None
    frames: tuple[Frame, ...] = ()
    """Where code of the workspace failed, the innermost first."""


Sink = Callable[[Event], None]
"""Where events go. It is called between the steps of the run, so it must be quick and must not fail."""


def discard(event: Event) -> None:
    """Does nothing: the sink of a run that nobody watches."""


def each(sinks: Iterable[Sink]) -> Sink:
    """One sink that passes every event to all of `sinks`, in their order."""
    all_sinks = tuple(sinks)

    def pass_on(event: Event) -> None:
        for sink in all_sinks:
            sink(event)

    return pass_on
