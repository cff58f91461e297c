"""The two scopes of a run: what the whole run shares, and what one call of a worker owns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_ai.usage import RunUsage

from llmdo.runtime.telemetry.events import discard

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RequestUsage, UsageLimits

    from llmdo.authority import Authority, Decision, Rule
    from llmdo.graph import Entry, Graph, Worker
    from llmdo.runtime.agents import Agents
    from llmdo.runtime.approvals.approver import Approver
    from llmdo.runtime.budget import Budget
    from llmdo.runtime.gate.policy import RunPolicy
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.signatures import Signature
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.pathmap import PathMap
    from llmdo.toolsets.resolver import ToolsetResolver
    from llmdo.toolsets.servers import Servers


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A call that the gate did not let through."""

    path: str
    tool: str
    decision: Decision
    """`blocked` by the rules or by a policy, or `needs_approval` that was not given."""
    reasons: tuple[str, ...]
    """Why, for the user, a sentence each."""


@dataclass(slots=True)
class Ledger:
    """What a run has used and refused so far: of all that a run shares, the one value that changes."""

    usage: RunUsage = field(default_factory=RunUsage)
    """Of the whole tree; pydantic-ai adds to it. Its requests are the responses that were acted on."""
    requests: int = 0
    """Those that were sent to providers, failed ones and those under way included."""
    by_worker: dict[str, RunUsage] = field(default_factory=dict)
    denied: list[DeniedCall] = field(default_factory=list)
    said: str | None = None
    """The last text of the entry's worker: what was reached, where the run does not complete."""
    unrecorded: Counter[str] = field(default_factory=Counter)
    """How many calls to a worker were made at each place by code, which no model's response puts in order."""
    lock: str | None = None
    """The digest of the lock of the graph that is run; None until a question needs it."""
    task: asyncio.Task[Any] | None = None
    """What runs the entry."""
    stopped: str | None = None
    """Why a person ended the run, where one did."""
    starts: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    """The decisions on starting MCP servers, by call path."""

    def stop(self, reason: str) -> None:
        """Ends the run as Ctrl-C does: with all that was started, and with an outcome."""
        self.stopped = reason
        if self.task:
            self.task.cancel()

    def of_worker(self, name: str) -> RunUsage:
        """What the calls of one worker have used, without its delegates."""
        return self.by_worker.setdefault(name, RunUsage())

    def count_request(self, worker: str, number: int = 1) -> None:
        """Adds a request of `worker`, or takes one back."""
        self.requests += number
        self.of_worker(worker).requests += number

    def count_answered(self, worker: str, used: RequestUsage) -> None:
        """Adds a request of `worker` that was answered in an earlier part of the run."""
        self.count_request(worker)
        self.usage.requests += 1
        for usage in (self.usage, self.of_worker(worker)):
            usage.incr(used)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """All that the calls of one run share."""

    run: str
    """The run's id."""
    graph: Graph
    root: Path
    entry: Entry
    rules: tuple[Rule, ...]
    """The base rules, as `base_rules` returned them."""
    tightening: tuple[Rule, ...] = ()
    """The rules of the person who runs it, which hold for every call."""
    approver: Approver
    agents: Agents
    signatures: Mapping[str, Signature]
    """Of every worker that the entry can reach."""
    resolver: ToolsetResolver
    confined: Root
    paths: PathMap
    max_depth: int
    budget: Budget
    limits: UsageLimits
    """The budget in pydantic-ai's terms."""
    ledger: Ledger
    servers: Servers | None = None
    """None where no worker of the run uses an MCP server."""
    policy: RunPolicy | None = None
    """The one that the caller of the run gave."""
    on_event: Sink = discard
    recorder: Recorder | None = None
    """None in a run that keeps no journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """One call of a worker, or the entry's function."""

    worker: Worker | None
    """None in an entry's function."""
    input: str
    depth: int
    path: str
    """The call path: `main`, `main/pitch_evaluator#2`."""
    authority: Authority
    """What has a say over this worker's calls at this place in the tree."""
    policies: tuple[RunPolicy, ...] = ()
    """Who else has a say over them, in the order in which they are asked."""
    history: tuple[ModelMessage, ...] = ()
    """The messages that the call starts from: none, for nothing is inherited."""

    @property
    def name(self) -> str:
        """The worker's name, or where it is none, the entry's."""
        return self.worker.name if self.worker else self.path
