"""What a run has used and refused so far: of all that its calls share, the one value that changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic_ai.usage import RunUsage

from llmdo.runtime.labels import Context, KeptLabels
from llmdo.runtime.place import UnorderedCalls
from llmdo.runtime.stop import Stop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RequestUsage

    from llmdo.journal.decided import DecidedCall
    from llmdo.runtime.gate.numbering import CallNumbers


@dataclass(slots=True)
class Ledger:
    """What a run has used and refused so far."""

    usage: RunUsage = field(default_factory=RunUsage)
    """Of the whole tree; pydantic-ai adds to it. Its requests are the responses that were acted on."""
    requests: int = 0
    """Those that were sent to providers, failed ones and those under way included."""
    unanswered: int = 0
    """Those that earlier processes of the run sent, and whose answers nobody heard: they count beside these."""
    unpriced: int = 0
    """The answers of which no price is known, which the cost is without."""
    by_worker: dict[str, RunUsage] = field(default_factory=dict)
    denied: list[DecidedCall] = field(default_factory=list)
    last_text: str | None = None
    """The last text of the entry's worker: what was reached, where the run does not complete."""
    messages: tuple[ModelMessage, ...] = ()
    """What came to the messages of the entry's worker in this run."""
    numbers: dict[str | None, CallNumbers] = field(default_factory=dict)
    """The numbers of the calls of each run of an agent, by its id."""
    unordered: UnorderedCalls = field(default_factory=UnorderedCalls)
    lock: str | None = None
    """The digest of the lock of the graph that is run; None until a question needs it."""
    stop: Stop = field(default_factory=Stop)
    """Ends the run early."""
    context: Context | None = None
    """What the entry's worker has read; None of code."""
    labels: KeptLabels = field(default_factory=KeptLabels)
    """Of what outlives a call within the run."""
    unsealed: set[tuple[str, str, str, str]] = field(default_factory=set)
    """The sealed values that calls were let through with: toolset, tool, argument and value."""
    starts: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    """The decisions on starting MCP servers, by call path."""

    @property
    def cost(self) -> Decimal | None:
        """What all answers cost whose price is known: pydantic-ai knows of no price of a scripted stream."""
        if self.usage.cost is not None:
            return self.usage.cost
        known = [used.cost for used in self.by_worker.values() if used.cost is not None]
        return sum(known, Decimal(0)) if known else None

    def of_worker(self, name: str) -> RunUsage:
        """What the calls of one worker have used, without its delegates."""
        return self.by_worker.setdefault(name, RunUsage())

    def count_request(self, worker: str, number: int = 1) -> None:
        """Adds a request of `worker`, or takes one back."""
        self.requests += number
        self.of_worker(worker).requests += number

    def count_unanswered(self, by_worker: Mapping[str, int]) -> None:
        """Adds the requests of earlier processes that no model answered."""
        for worker, number in by_worker.items():
            self.unanswered += number
            self.of_worker(worker).requests += number

    def count_answered(self, worker: str, used: RequestUsage) -> None:
        """Adds a request of `worker` that was answered in an earlier part of the run."""
        self.count_request(worker)
        self.usage.requests += 1
        self.unpriced += used.cost is None
        for usage in (self.usage, self.of_worker(worker)):
            usage.incr(used)
