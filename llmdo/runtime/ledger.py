"""The use and refusals of a run so far: the one changing value that its calls share."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic_ai.usage import RunUsage

from llmdo.runtime.brake import Stop
from llmdo.runtime.labels import Context, KeptLabels
from llmdo.runtime.place import UnorderedCalls

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RequestUsage

    from llmdo.journal.decided import DecidedCall
    from llmdo.runtime.gate.numbering import CallNumbers


@dataclass(slots=True)
class Ledger:
    """The use and refusals of a run so far."""

    usage: RunUsage = field(default_factory=RunUsage)
    """Of the whole tree; pydantic-ai adds to it. Its requests are the responses acted on."""
    requests: int = 0
    """Sent to providers, including failed ones and those under way."""
    unanswered: int = 0
    """Requests of the run's earlier processes whose answers nobody heard, in addition to these."""
    unpriced: int = 0
    """Answers without a known price, which the cost leaves out."""
    by_worker: dict[str, RunUsage] = field(default_factory=dict)
    denied: list[DecidedCall] = field(default_factory=list)
    last_text: str | None = None
    """Of the entry's worker: the result so far if the run does not complete."""
    messages: tuple[ModelMessage, ...] = ()
    """Added to those of the entry's worker in this run."""
    numbers: dict[str | None, CallNumbers] = field(default_factory=dict)
    """By the id of an agent's run."""
    unordered: UnorderedCalls = field(default_factory=UnorderedCalls)
    lock: str | None = None
    """The digest of the graph's lock; None until a question needs it."""
    stop: Stop = field(default_factory=Stop)
    context: Context | None = None
    """The labels that the entry's worker has read; None for code."""
    labels: KeptLabels = field(default_factory=KeptLabels)
    """Of things that outlive a call within the run."""
    unsealed: set[tuple[str, str, str, str]] = field(default_factory=set)
    """Sealed values of calls let through: toolset, tool, argument and value."""
    starts: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    """Decisions on starting MCP servers, by call path."""

    @property
    def cost(self) -> Decimal | None:
        """The cost of all answers with a known price: pydantic-ai knows none of a scripted stream."""
        if self.usage.cost is not None:
            return self.usage.cost
        known = [used.cost for used in self.by_worker.values() if used.cost is not None]
        return sum(known, Decimal(0)) if known else None

    def of_worker(self, name: str) -> RunUsage:
        """The usage of one worker's calls, without its delegates."""
        return self.by_worker.setdefault(name, RunUsage())

    def count_request(self, worker: str, number: int = 1) -> None:
        """Adds a request of `worker`, or takes one back."""
        self.requests += number
        self.of_worker(worker).requests += number

    def count_unanswered(self, by_worker: Mapping[str, int]) -> None:
        """Adds unanswered requests of earlier processes."""
        for worker, number in by_worker.items():
            self.unanswered += number
            self.of_worker(worker).requests += number

    def count_answered(self, worker: str, used: RequestUsage) -> None:
        """Adds a request that was answered in an earlier part of the run."""
        self.count_request(worker)
        self.usage.requests += 1
        self.unpriced += used.cost is None
        for usage in (self.usage, self.of_worker(worker)):
            usage.incr(used)
