"""What 20 delegates at once spend of a limit, and 50 runs at once in one process: `python -m bench.budgets`.

The delegates are bare of any cleverness: each sends five requests of 1,000 tokens and one cent, one after the other,
all of them at the same time. Beside each limit stands what the same agents spend in bare pydantic-ai, to which usage
and limits are handed on as its documentation says.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ToolFailed, UsageLimitExceeded
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits

from bench.delegation import NOWHERE
from llmdo.graph.keys import Reference
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Use, Worker
from llmdo.runtime import RunOptions, RunOutcome, run

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

DELEGATES = 20
STEPS = 5
RUNS = 50
TOKENS, CENT = 1_000, Decimal("0.01")

MODELS = "import bench.budgets\nmain, helper = bench.budgets.main_model, bench.budgets.helper_model\n"
TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

steps = FunctionToolset(id="steps")

@steps.tool_plain
async def step() -> str:
    return "fine"
"""


def _used() -> RequestUsage:
    return RequestUsage(input_tokens=TOKENS, cost=CENT)


async def _main(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")], usage=_used())
    calls = [
        ToolCallPart("helper", {"input": f"part {number}"}, tool_call_id=f"c{number}")
        for number in range(DELEGATES)
    ]
    return ModelResponse(parts=calls, usage=_used())


async def _helper(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    await asyncio.sleep(0.005)
    if len(messages) < 2 * STEPS - 1:
        return ModelResponse(
            parts=[ToolCallPart("step", {}, tool_call_id=f"s{len(messages)}")], usage=_used()
        )
    return ModelResponse(parts=[TextPart("done")], usage=_used())


main_model, helper_model = FunctionModel(_main), FunctionModel(_helper)


def team(limits: Limits) -> Graph:
    """A worker that calls its helper 20 times at once."""

    def worker(name: str, *uses: str) -> Worker:
        return Worker(
            name=name,
            at=NOWHERE,
            path=f"{name}.worker",
            config="",
            prompt="",
            model=Reference(f"python:models.py:{name}", NOWHERE),
            uses=tuple(Use(name=use, config={}, at=NOWHERE) for use in uses),
        )

    steps = Toolset(
        name="steps",
        kind="python",
        at=NOWHERE,
        python="tools.py:steps",
        tools={"step": Tool(name="step", capabilities=())},
    )
    return Graph(
        settings=Settings(name="bench", built_in=2, default="needs_approval", max_depth=5),
        entries={
            "go": Entry(name="go", at=NOWHERE, worker=Reference("main", NOWHERE), input="go", limits=limits)
        },
        workers={"helper": worker("helper", "steps"), "main": worker("main", "helper")},
        toolsets={"steps": steps},
    )


async def governed(root: Path, limits: Limits) -> RunOutcome:
    """The outcome of the team under `limits`."""
    graph = team(limits)
    prompts = {name: f"You are {name}." for name in graph.workers}
    return await run(graph, root=root, prompts=prompts, entry="go", options=RunOptions())


async def bare(limits: UsageLimits) -> RunUsage:
    """What the same agents spend in bare pydantic-ai; a delegate at a limit is told, as ours is."""
    helper: Agent[None, str] = Agent(helper_model)
    main: Agent[None, str] = Agent(main_model)
    spent = RunUsage()

    @helper.tool_plain
    async def step() -> str:
        return "fine"

    @main.tool(name="helper")
    async def call(ctx: RunContext[None], input: str) -> str:  # noqa: A002
        try:
            return (await helper.run(input, usage=ctx.usage, usage_limits=ctx.usage_limits)).output
        except UsageLimitExceeded as reached:
            raise ToolFailed(str(reached)) from reached

    with suppress(UsageLimitExceeded):
        await main.run("go", usage=spent, usage_limits=limits)
    return spent


async def table(root: Path) -> None:
    """Prints each limit with what was spent."""
    print("| limit | llmdo spent | ended | bare pydantic-ai spent |")
    print("| --- | ---: | --- | ---: |")
    for most in (10, 30, 60, 101):
        ours = await governed(root, Limits(requests=most))
        theirs = await bare(UsageLimits(request_limit=most))
        row(f"{most} requests", ours.usage.requests, ours.status, theirs.requests)
    for most in (5_000, 30_000, 60_000):
        ours = await governed(root, Limits(requests=1_000, total_tokens=most))
        theirs = await bare(UsageLimits(request_limit=1_000, total_tokens_limit=most))
        spent = ours.usage.input_tokens + ours.usage.output_tokens
        row(f"{most:,} tokens", f"{spent:,}", ours.status, f"{theirs.total_tokens:,}")
    for cost in (0.05, 0.3, 0.6):
        ours = await governed(root, Limits(requests=1_000, cost_usd=cost))
        theirs = await bare(UsageLimits(request_limit=1_000, cost_limit=Decimal(str(cost))))
        row(f"${cost:.2f}", f"${ours.usage.cost_usd:.2f}", ours.status, f"${theirs.cost:.2f}")


def row(*cells: Any) -> None:
    """Prints one row."""
    print("|", " | ".join(map(str, cells)), "|")


async def crowd(root: Path) -> None:
    """Prints what 50 runs at once take, and whether each did what it does alone."""
    limits = [Limits(requests=2 + number) for number in range(RUNS)]
    alone = [await governed(root, limit) for limit in limits[:3]]
    start, cpu = time.perf_counter(), time.process_time()
    outcomes = await asyncio.gather(*(governed(root, limit) for limit in limits))
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    requests = sum(outcome.usage.requests for outcome in outcomes)
    held = all(
        outcome.usage.requests == limit.requests and outcome.status == "completed"
        for outcome, limit in zip(outcomes, limits, strict=True)
    )
    same = all(
        by_itself.usage == together.usage for by_itself, together in zip(alone, outcomes, strict=False)
    )
    print(
        f"\n{RUNS} runs at once, {requests} requests: {wall:.2f} s, {cpu:.2f} s CPU;"
        f" each kept its own limit: {held}; the first three used what they use alone: {same}"
    )


def main() -> None:
    """Prints the table, and the figure of many runs."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "models.py").write_text(MODELS, encoding="utf-8")
        (root / "tools.py").write_text(TOOLS, encoding="utf-8")
        asyncio.run(table(root))
        asyncio.run(crowd(root))


if __name__ == "__main__":
    main()
