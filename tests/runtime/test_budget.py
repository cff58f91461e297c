"""Budgets of a tree: never a request too many, no answer thrown away, and a caller is left what it needs to finish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.usage import RequestUsage

from llmdo.graph.limits import Limits
from llmdo.policy.authority import Authority
from llmdo.runtime import CallFrame, RunOptions, RunOutcome, run
from llmdo.runtime.budget import Budget, TreeLimits
from llmdo.runtime.ledger import Ledger
from llmdo.runtime.telemetry.events import Event, LimitLoosened, RequestDelayed, discard
from tests.support.building import go, graph, prompts, script, toolset, with_code, worker

SLOW = """
import asyncio
from decimal import Decimal
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

DELEGATES, STEPS, COST = {delegates}, {steps}, "{cost}"

async def main(messages, info):
    if len(messages) == 1:
        parts = [ToolCallPart("helper", {{"input": str(n)}}, tool_call_id=f"c{{n}}") for n in range(DELEGATES)]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=10, cost=Decimal(COST)))
    done = sum(part.outcome == "success" for part in messages[-1].parts if isinstance(part, ToolReturnPart))
    return ModelResponse(parts=[TextPart(f"{{done}} done")], usage=RequestUsage(input_tokens=10, cost=Decimal(COST)))

async def helper(messages, info):
    await asyncio.sleep(0.002)
    usage = RequestUsage(input_tokens=10, cost=Decimal(COST))
    if len(messages) < 2 * STEPS - 1:
        return ModelResponse(parts=[ToolCallPart("count", {{}}, tool_call_id=f"t{{len(messages)}}")], usage=usage)
    return ModelResponse(parts=[TextPart("helped")], usage=usage)

main, helper = FunctionModel(main), FunctionModel(helper)
"""

TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

counter = FunctionToolset(id="counter")

@counter.tool_plain
def count() -> int:
    return 1
"""


def parallel(
    tmp_path: Path, *, delegates: int = 20, steps: int = 3, cost: str = "0.01", **limits: Any
) -> Any:
    """The outcome of a run whose `main` calls `helper` many times at once."""
    (tmp_path / "models.py").write_text(SLOW.format(delegates=delegates, steps=steps, cost=cost))
    (tmp_path / "tools.py").write_text(TOOLS)
    team_graph = graph(
        worker("main", "helper"),
        worker("helper", "counter"),
        toolset("counter", "tools.py:counter", count=[]),
        limits=limits,
    )
    return go(team_graph, tmp_path)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "limit",
    [1, 21, 62, *(pytest.param(limit, marks=pytest.mark.long) for limit in (2, 3, 22, 41, 61, 100))],
)
def test_parallel_delegates_never_send_a_request_too_many(limit: int, tmp_path: Path) -> None:
    outcome = parallel(tmp_path, requests=limit)
    assert outcome.usage.requests <= limit
    assert outcome.usage.requests == sum(usage.requests for usage in outcome.usage_by_worker.values())
    if limit == 1:
        assert outcome.status == "failed"
        assert outcome.error == "the run's limit of 1 request is reached"
        return
    assert outcome.status == "completed", outcome.error  # its last request was kept for it
    assert outcome.usage.requests == min(limit, 62)
    assert outcome.output == ("20 done" if limit >= 62 else outcome.output)


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 3])
def test_tokens_and_cost_go_over_their_limit_by_no_more_than_what_is_under_way(
    steps: int, tmp_path: Path
) -> None:
    outcome = parallel(tmp_path, steps=steps, total_tokens=100)
    assert (outcome.status, outcome.reached) == ("failed", None)
    assert "the run's limit of 100 tokens is reached: 210 are used" in outcome.error or steps == 1
    assert 100 <= outcome.usage.input_tokens <= 100 + 20 * 10
    outcome = parallel(tmp_path, steps=steps, requests=99, cost_usd=0.1)
    assert Decimal("0.1") <= outcome.usage.cost_usd <= Decimal("0.1") + 20 * Decimal("0.01")
    assert "the run's limit of $0.10 is reached" in outcome.error


def test_one_after_the_other_goes_over_by_one_request_at_most(tmp_path: Path) -> None:
    outcome = parallel(tmp_path, delegates=1, steps=30, total_tokens=105)
    assert outcome.usage.input_tokens == 110
    assert outcome.usage_by_worker["helper"].requests == 10


def test_an_answer_that_was_paid_for_is_used(tmp_path: Path) -> None:
    code = SLOW.format(delegates=0, steps=1, cost="0.01").replace("len(messages) == 1", "False")
    (tmp_path / "models.py").write_text(code)
    outcome = go(graph(worker("main"), limits={"total_tokens": 1}), tmp_path)
    assert (outcome.status, outcome.output) == ("completed", "0 done")
    assert outcome.usage.input_tokens == 10


def test_a_limit_on_tokens_cannot_hold_for_a_script(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "done"], helper=["fine"])
    events: list[Event] = []
    team_graph = graph(
        worker("main", "helper"), worker("helper"), limits={"total_tokens": 1, "cost_usd": 1.0}
    )
    outcome = go(team_graph, tmp_path, on_event=events.append)
    assert outcome.output == "done"
    loose = {(event.limit, event.reason) for event in events if isinstance(event, LimitLoosened)}
    assert loose == {("tokens", "it is scripted and does not say how many it used")}


def test_a_delegate_at_a_limit_is_reported_and_its_callers_can_finish(tmp_path: Path) -> None:
    busy = [[("leaf", {"input": "x"})]] * 9
    script(tmp_path, main=[[("helper", {"input": "x"})], "main: {results}"], helper=busy, leaf=["leaf"])
    team_graph = graph(
        worker("main", "helper"), worker("helper", "leaf"), worker("leaf"), limits={"requests": 4}
    )
    outcome = go(team_graph, tmp_path)
    assert outcome.status == "completed"
    assert outcome.usage.requests == 4
    assert outcome.output == (
        "main: [failed: `helper` failed: the run's limit of 4 requests is reached, "
        "but for 1 that is kept for the callers to finish; finish with what you have]"
    )
    assert [(call.path, call.decision) for call in outcome.denied] == [
        ("main/helper#1/leaf#1", "blocked"),
        ("main/helper#1/leaf#2", "blocked"),
    ]
    assert "but for 2 that are kept for the callers" in outcome.denied[0].reasons[0]


def test_the_entrys_own_limit_ends_the_run_with_what_was_reached(tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "def talk(messages, info):\n"
        "    number = len(messages) // 2 + 1\n"
        "    return ModelResponse(parts=[TextPart(f'so far {number}'), ToolCallPart('helper', {'input': 'x'})])\n"
        "main = FunctionModel(talk)\n"
    )
    script(tmp_path, helper=["fine"] * 9)
    team_graph = graph(
        worker("main", "helper", model="python:talk.py:main"), worker("helper"), limits={"requests": 5}
    )
    outcome = go(team_graph, tmp_path)
    assert (outcome.status, outcome.output, outcome.reached) == ("failed", None, "so far 3")
    assert outcome.error == "the run's limit of 5 requests is reached"
    assert {name: used.requests for name, used in outcome.usage_by_worker.items()} == {"main": 3, "helper": 2}


def test_without_a_limit_the_default_holds_and_the_error_says_so(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})]] * 60, helper=["fine"])
    outcome = go(graph(worker("main", "helper"), worker("helper")), tmp_path)
    assert outcome.usage.requests == 50
    assert outcome.error == (
        "the run's limit of 50 requests is reached (the entry names none; `limits.requests` sets it)"
    )


def test_tool_calls_are_counted_when_they_are_let_through(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    script(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("helper", {"input": "x"})], "main: {results}"],
        helper=[[("count", {}), ("count", {})], "{results}"],
    )
    team_graph = graph(
        worker("main", "helper"),
        worker("helper", "counter"),
        toolset("counter", "tools.py:counter", count=[]),
        limits={"tool_calls": 3},
    )
    outcome = go(team_graph, tmp_path)
    assert outcome.status == "completed"
    assert outcome.usage.tool_calls == 3
    assert (outcome.output or "").count(
        "the run's limit of 3 tool calls is reached; finish with what you"
    ) == 3
    assert len(outcome.denied) == 3


FOREIGN = """
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

own = FunctionToolset(id="own")
agent = Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[ToolCallPart("again", {})])))

@agent.tool_plain
def again() -> str:
    return "again"

@own.tool
async def agent_of_its_own(ctx: RunContext) -> str:
    return (await agent.run("x", usage=ctx.usage, usage_limits=ctx.usage_limits)).output
"""


def test_an_agent_that_a_tool_runs_is_under_the_limit_it_is_handed(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FOREIGN)
    script(tmp_path, main=[[("agent_of_its_own", {})], "{results}"])
    team_graph = graph(
        worker("main", "own"),
        toolset("own", "tools.py:own", agent_of_its_own=[]),
        limits={"requests": 7},
    )
    outcome = go(team_graph, tmp_path)
    assert outcome.error == "the run's limit of 7 requests is reached"


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        target = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, target)


def frame(depth: int = 0) -> CallFrame:
    nobody = Authority(base=(), default="blocked")
    return CallFrame(worker=None, input="", depth=depth, path="main", authority=nobody)


def budget(clock: Clock | None = None, on_event: Callable[[Event], None] = discard, **limits: Any) -> Budget:
    if clock is None:
        return Budget(limits=Limits(**limits), ledger=Ledger(), on_event=on_event)
    return Budget(limits=Limits(**limits), ledger=Ledger(), on_event=on_event, clock=clock, sleep=clock.sleep)


def test_no_minute_holds_more_requests_than_allowed() -> None:
    clock, started, events = Clock(), [], []
    shared = budget(clock, events.append, requests=500, requests_per_minute=7)

    async def request() -> None:
        await shared.reserve(frame())
        started.append(clock.now)

    async def parts() -> None:
        for size in (3, 1, 20, 5):
            await asyncio.gather(*(request() for _ in range(size)))
            clock.now += 11

    asyncio.run(parts())
    assert len(started) == 29
    started.sort()
    assert all(later - earlier >= 60 for earlier, later in zip(started, started[7:], strict=False))
    assert started[-1] - started[0] <= 5 * 60
    delays = [event for event in events if isinstance(event, RequestDelayed)]
    assert 0 < len(delays) < 29


def test_a_request_that_waits_is_counted_and_given_back_when_it_is_cancelled() -> None:
    clock = Clock()
    shared = budget(clock, requests=3, requests_per_minute=1)

    async def scenario() -> None:
        await shared.reserve(frame())
        clock.sleep = lambda _: asyncio.sleep(30)  # type: ignore[method-assign]
        shared.sleep = clock.sleep
        waiting = asyncio.create_task(shared.reserve(frame()))
        await asyncio.sleep(0)
        assert shared.ledger.requests == 2
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert shared.ledger.requests == 1

    asyncio.run(scenario())


def test_a_request_that_waited_is_not_sent_when_the_money_is_gone() -> None:
    clock = Clock()
    shared = budget(clock, requests=9, requests_per_minute=1, cost_usd=1.0)

    async def scenario() -> None:
        await shared.reserve(frame())
        shared.ledger.usage.incr(RequestUsage(cost=Decimal(2)))
        with pytest.raises(UsageLimitExceeded, match=r"limit of \$1.00 is reached: \$2.0000 are used"):
            await shared.reserve(frame())

    asyncio.run(scenario())
    assert shared.ledger.requests == 1


@pytest.mark.parametrize(
    ("limits", "below", "rest", "message"),
    [
        ({"input_tokens": 10}, {"input_tokens": 9}, {"input_tokens": 1}, "10 input tokens is reached: 10 are"),
        ({"output_tokens": 10}, {"output_tokens": 9}, {"output_tokens": 1}, "10 output tokens is reached: 10"),
        ({"total_tokens": 10}, {"input_tokens": 9}, {"output_tokens": 1}, "10 tokens is reached: 10 are used"),
        ({"cost_usd": 1.0}, {"cost": Decimal("0.99")}, {"cost": Decimal("0.01")}, r"\$1.00 is reached: \$1.0000"),
    ],
)  # fmt: skip
def test_what_is_used_up_to_the_last_allows_no_further_request(
    limits: dict[str, Any], below: dict[str, Any], rest: dict[str, Any], message: str
) -> None:
    shared = budget(**limits)
    shared.ledger.usage.incr(RequestUsage(**below))
    shared.check(0)
    shared.ledger.usage.incr(RequestUsage(**rest))
    with pytest.raises(UsageLimitExceeded, match=f"the run's limit of {message}"):
        shared.check(0)


@pytest.mark.long
def test_the_time_limit_holds_while_requests_wait(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "done"], helper=["fine"])
    limits = {"seconds": 1.5, "requests_per_minute": 1}
    team_graph = with_code(graph(worker("main", "helper"), worker("helper"), limits=limits), tmp_path)
    events: list[Event] = []

    async def scenario() -> RunOutcome:
        options = RunOptions(on_event=events.append)
        return await asyncio.wait_for(
            run(team_graph, root=tmp_path, prompts=prompts(team_graph), entry="go", options=options), 10
        )

    outcome = asyncio.run(scenario())
    assert outcome.error == "the run took longer than 1.5 seconds"
    assert outcome.usage.requests == 1
    assert [round(event.wait) for event in events if isinstance(event, RequestDelayed)] == [60]


def test_a_delegate_leaves_a_request_to_each_of_its_callers() -> None:
    shared = budget(requests=3)

    async def scenario() -> None:
        with pytest.raises(UsageLimitExceeded):
            await shared.reserve(frame(3))
        await shared.reserve(frame(2))
        with pytest.raises(UsageLimitExceeded, match="but for 2 that are kept"):
            await shared.reserve(frame(2))
        await shared.reserve(frame(1))
        await shared.reserve(frame(0))
        with pytest.raises(UsageLimitExceeded, match=r"limit of 3 requests is reached$"):
            await shared.reserve(frame(0))

    asyncio.run(scenario())
    with pytest.raises(UsageLimitExceeded):
        TreeLimits(shared).check_before_request(shared.ledger.usage)


def test_a_limit_that_cannot_hold_for_a_model_is_told_once() -> None:
    events: list[Event] = []
    shared = budget(on_event=events.append, cost_usd=1.0, total_tokens=9)
    for model in ("acme:new", "acme:new", "python:local", "acme:other"):
        shared.look_at("main", model, RequestUsage(input_tokens=1))
    shared.look_at("main", "acme:dumb", RequestUsage(unmeasured_requests=1, cost=Decimal(1)))
    shared.look_at("main", "function:rules", RequestUsage(unmeasured_requests=1))
    loosened = [(event.model, event.limit) for event in events if isinstance(event, LimitLoosened)]
    assert loosened == [
        ("acme:new", "cost-usd"),
        ("acme:other", "cost-usd"),
        ("acme:dumb", "tokens"),
        ("function:rules", "tokens"),
    ]
    free = budget(on_event=events.append)
    free.look_at("main", "acme:new", RequestUsage())
    assert len(events) == 4


UNREACHED = """
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

ERRORS = [ModelConnectionError("m", "refused", phase="{phase}", retry_after=0.0)]

def answer(messages, info):
    if ERRORS:
        raise ERRORS.pop()
    return ModelResponse(parts=[TextPart("done")])

main = FunctionModel(answer)
"""


@pytest.mark.parametrize(("phase", "status"), [("connect", "completed"), ("read", "failed")])
def test_a_request_that_failed_counts_as_long_as_it_was_sent(phase: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(UNREACHED.format(phase=phase), encoding="utf-8")
    outcome = go(graph(worker("main"), limits={"requests": 1}), tmp_path)
    assert outcome.status == status, outcome.error
    assert outcome.usage.requests == 1
