"""The budget of the tree of one run: asked before each request and tool call, never after."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
from pydantic_ai.usage import RunUsage, UsageLimits

from llmdo.graph.builtin import ENTRY_SIDE, PROVIDER_SIDE
from llmdo.runtime.gate.policy import PolicyRefusal
from llmdo.runtime.telemetry.events import UNPAID, LimitLoosened, RequestDelayed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.usage import RequestUsage

    from llmdo.graph.limits import Limits
    from llmdo.journal.spent import Spent
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.telemetry.events import Sink

DEFAULT_REQUESTS = 50  # model requests of a tree whose entry names no limit; pydantic-ai's own default
MINUTE = 60.0


class LimitReached(UsageLimitExceeded):
    """A limit of the run is reached; our words alone."""

    def __init__(self, message: str) -> None:
        AgentRunError.__init__(self, message)  # pydantic-ai's own adds where its documentation is


@dataclass(slots=True, kw_only=True)
class Budget:
    """The remaining requests, tool calls, tokens and money of the tree of one run.

    A request is counted before it is sent, so that parallel workers together never exceed the limit. Its cost is not
    known then: tokens and money exceed their limit by at most the requests under way.
    """

    limits: Limits
    ledger: Ledger
    on_event: Sink
    pace: Callable[[float], Awaitable[float | None]] | None = None
    """The wait of a request, from the seconds between two, if all processes of a store share the limit a minute.

    It is None, or returns None, if each run limits itself.
    """
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _starts: deque[float] = field(init=False)
    """Start times of the last requests, also future ones: as many as a minute allows."""
    _tool_calls: set[str] = field(init=False, default_factory=set)
    """Call paths of the tool calls let through."""
    _seconds: float = field(init=False, default=0.0)
    """Used by earlier processes of the run."""
    _of_conversation: frozenset[str] = field(init=False, default=frozenset())
    """Limits that are the run's share of its conversation's."""
    _loose: set[tuple[str, str]] = field(init=False, default_factory=set)
    """Limits reported as impossible to hold for a model."""

    def __post_init__(self) -> None:
        self._starts = deque(maxlen=self.limits.requests_per_minute)

    def lower(self, share: Mapping[str, float]) -> None:
        """Replaces limits by the run's share of its conversation's, by their names."""
        changed: dict[str, Any] = dict(share)
        self.limits = replace(self.limits, **changed)
        self._of_conversation = frozenset(changed)

    async def reserve(self, frame: CallFrame) -> None:
        """Counts a request of the worker of `frame`, and returns when it may be sent.

        Raises:
            LimitReached: Nothing was counted.
        """
        self.check(frame.depth)
        self.ledger.count_request(frame.name)
        try:
            if wait := await self._wait():
                self.on_event(RequestDelayed(path=frame.path, worker=frame.name, wait=wait))
                await self.sleep(wait)
                self._check_spent()
        except BaseException:
            self.release(frame)
            raise

    def release(self, frame: CallFrame) -> None:
        """Takes back the count of `reserve`: the request never reached its provider."""
        self.ledger.count_request(frame.name, -1)

    def check(self, depth: int) -> None:
        """Requires that a worker at `depth` may send another request.

        Raises:
            LimitReached: It may not.
        """
        self.check_requests(depth, self.ledger.unanswered)
        self._check_spent()

    def check_requests(self, depth: int, unanswered: int = 0) -> None:
        """Requires a request for a worker at `depth`, and one for each above it, to finish with the results so far.

        `unanswered` requests are spent in addition.

        Raises:
            LimitReached: There are too few.
        """
        most = DEFAULT_REQUESTS if self.limits.requests is None else self.limits.requests
        left = most - max(self.ledger.requests, self.ledger.usage.requests) - unanswered
        if left <= depth:
            reached = f"{self._whose('requests')} limit of {_counted(most, 'request')} is reached"
            if left > 0:
                reached += (
                    f", but for {left} that {'is' if left == 1 else 'are'} kept for the callers to finish"
                )
            if self.limits.requests is None:
                reached += " (the entry names none; `limits.requests` sets it)"
            raise LimitReached(reached)

    def count_earlier(self, spent: Spent) -> None:
        """Counts the spending of earlier processes of the run, unless serving it counts it again."""
        self.ledger.count_unanswered(spent.unanswered)
        self._tool_calls.update(spent.tool_calls)
        self._seconds = spent.seconds

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for this process's work at the run; None without a limit."""
        most = self.limits.seconds
        return None if most is None else max(0.0, most - self._seconds)

    def count_tool_call(self, path: str) -> None:
        """Counts the tool call at `path`, once.

        Raises:
            LimitReached: It is one too many.
        """
        most = self.limits.tool_calls
        if most is None or path in self._tool_calls:
            return
        if len(self._tool_calls) >= most:
            whose = self._whose("tool_calls")
            raise LimitReached(f"{whose} limit of {_counted(most, 'tool call')} is reached")
        self._tool_calls.add(path)

    def look_at(self, path: str, model: str, used: RequestUsage) -> None:
        """Reports, once for a model, limits that cannot hold for lack of data from its provider."""
        is_unpaid = model.startswith(UNPAID)
        tokens = (self.limits.input_tokens, self.limits.output_tokens, self.limits.total_tokens)
        if used.unmeasured_requests and any(limit is not None for limit in tokens):
            who = "it is scripted and" if is_unpaid else "its provider"
            self._loosen(path, model, "tokens", f"{who} does not say how many it used")
        if not is_unpaid and used.cost is None and self.limits.cost_usd is not None:
            self._loosen(path, model, "cost-usd", "no price is known for it")

    def _loosen(self, path: str, model: str, limit: str, reason: str) -> None:
        if (model, limit) not in self._loose:
            self._loose.add((model, limit))
            self.on_event(LimitLoosened(path=path, model=model, limit=limit, reason=reason))

    def _check_spent(self) -> None:
        if reached := next(self._reached(), None):
            raise LimitReached(reached)

    def _reached(self) -> Iterator[str]:
        used, limits = self.ledger.usage, self.limits
        for kind, most, spent in (
            ("input tokens", limits.input_tokens, used.input_tokens),
            ("output tokens", limits.output_tokens, used.output_tokens),
            ("tokens", limits.total_tokens, used.total_tokens),
        ):
            if most is not None and spent >= most:
                whose = self._whose("total_tokens" if kind == "tokens" else kind.replace(" ", "_"))
                yield f"{whose} limit of {most:,} {kind} is reached: {spent:,} are used"
        if limits.cost_usd is not None and (used.cost or 0) >= Decimal(str(limits.cost_usd)):
            whose = self._whose("cost_usd")
            yield f"{whose} limit of ${limits.cost_usd:.2f} is reached: ${used.cost:.4f} are used"

    def _whose(self, limit: str) -> str:
        return "the conversation's remaining" if limit in self._of_conversation else "the run's"

    async def _wait(self) -> float:
        """The seconds until the next request may start, with its place in the queue taken."""
        if (most := self.limits.requests_per_minute) is None:
            return 0.0
        if self.pace and (wait := await self.pace(MINUTE / most)) is not None:
            return wait
        now = self.clock()
        is_full = len(self._starts) == self._starts.maxlen
        start = max(now, self._starts[0] + MINUTE) if is_full else now
        self._starts.append(start)
        return start - now


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimit:
    """Refuses a tool call too many, and a delegate that could not even begin."""

    budget: Budget
    depth: int = -1

    def spawn(self) -> BudgetLimit:
        """The same, one delegation deeper."""
        return replace(self, depth=self.depth + 1)

    def on_delegation(self, name: str) -> None:  # noqa: ARG002  # all workers are alike
        """Refuses a delegate that may send no request."""
        try:
            self.budget.check(self.depth + 1)
        except LimitReached as reached:
            raise PolicyRefusal(f"{reached}; finish with what you have") from reached

    def handle_tool(self, ctx: RunContext[object] | None, call: Call) -> None:  # noqa: ARG002
        """Refuses one call too many. Neither offering a provider's tool nor the entry's attachments count."""
        if call.toolset in (PROVIDER_SIDE, ENTRY_SIDE):
            return
        try:
            self.budget.count_tool_call(call.path)
        except LimitReached as reached:
            raise PolicyRefusal(f"{reached}; finish with what you have") from reached


class TreeLimits(UsageLimits):
    """The limit of requests for pydantic-ai: for agents that tools run with `ctx.usage_limits`.

    It refuses the next request, never a response already paid for. A worker's request is checked for cost only when it
    leaves: one that the journal answers costs nothing.
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__(request_limit=None)
        self._budget = budget

    def check_before_request(self, usage: RunUsage) -> None:  # noqa: ARG002  # the tree's, which the budget has
        """Requires that the run may send another request."""
        self._budget.check_requests(0)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
