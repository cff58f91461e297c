"""Times delegation beside the same agents in bare pydantic-ai, every policy on: `python -m bench.delegation`.

All sides run the same scripted models, pass usage and limits on, and build each agent once. Ours besides decides
about every call, and each side does more than the one before: the gate alone, with rules, ceilings and an approver;
governed, with a policy, limits of every kind and an event for whatever happens as well; with flows, under a preset of
flow rules and with an input that a stranger wrote; recording, with every entry
of a journal, encoded and chained, but none of them written; with a journal, which is on disk.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import sqlite3
import statistics
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from dataclasses import replace as with_options
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RunUsage, UsageLimits

from llmdo.base import digest
from llmdo.base.source import Source
from llmdo.base.values import replace
from llmdo.graph.keys import Reference
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.worker import Use, Worker
from llmdo.journal import Journal
from llmdo.journal.entries import Heads
from llmdo.journal.sqlite.connection import lay_out
from llmdo.policy.authority import Capability, Rule
from llmdo.policy.flow import Flows
from llmdo.runtime import ApproveAll, RunOptions, run
from llmdo.runtime.preparation import new_run
from llmdo.runtime.recording.keeping import aside, keeping
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from pydantic_ai.messages import ModelMessage

    from llmdo.journal import Hold
    from llmdo.runtime import Call, RunPolicy
    from llmdo.runtime.telemetry.events import Event

Layer = Literal["the gate alone", "governed", "with flows", "recording", "with a journal"]

NOWHERE = Place(Document(Source("llmdo.toml", ""), {}, dict), ())
LIMIT = 1_000_000
EVERY_LIMIT = Limits(
    requests=LIMIT,
    total_tokens=10**9,
    tool_calls=LIMIT,
    cost_usd=1e6,
    seconds=600,
    requests_per_minute=LIMIT,
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How much delegation there is: `delegations` in all, in chains of `depth`, `together` of them in a response."""

    delegations: int = 200
    depth: int = 1
    together: int = 10

    @property
    def steps(self) -> int:
        """How many responses of the first worker call its delegate."""
        return self.delegations // self.depth // self.together

    def model_of(self, level: int) -> FunctionModel:
        """The scripted model of the worker at `level`; 0 is the first."""
        calls = self.together if level == 0 else 1
        steps = self.steps if level == 0 else 1

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
            if level == self.depth or len(messages) > 2 * steps:
                return ModelResponse(parts=[TextPart("done")])
            called = [
                ToolCallPart(name(level + 1), {"input": "a part"}, tool_call_id=f"c{at}")
                for at in range(calls)
            ]
            return ModelResponse(parts=called)

        return FunctionModel(answer)


def name(level: int) -> str:
    """The name of the worker at `level`."""
    return f"worker{level}"


@dataclass(frozen=True)
class Policy:
    """A policy of one's own that looks at every call and lets it be."""

    depth: int = -1

    def spawn(self) -> RunPolicy:
        """The same, deeper."""
        return Policy(self.depth + 1)

    def on_delegation(self, name: str) -> None:
        """Has nothing against it."""

    def handle_tool(self, ctx: RunContext[Any] | None, call: Call) -> None:
        """Has nothing against it."""


def bare(shape: Shape) -> Callable[[], Awaitable[int]]:
    """Runs the agents in bare pydantic-ai; the model requests that it took."""
    agents: list[Agent[None, str]] = [
        Agent(shape.model_of(level), instructions=f"You are {name(level)}.", name=name(level))
        for level in range(shape.depth + 1)
    ]

    def delegate(caller: Agent[None, str], callee: Agent[None, str], named: str) -> None:
        async def call(ctx: RunContext[None], input: str) -> str:  # noqa: A002
            """Does a part."""
            return (await callee.run(input, usage=ctx.usage, usage_limits=ctx.usage_limits)).output

        caller.tool(name=named)(call)

    for level in range(shape.depth):
        delegate(agents[level], agents[level + 1], name(level + 1))

    async def work() -> int:
        usage = RunUsage()
        limits = UsageLimits(request_limit=LIMIT, total_tokens_limit=10**9, tool_calls_limit=LIMIT)
        await agents[0].run("go", usage=usage, usage_limits=limits)
        return usage.requests

    return work


class Unwritten(Journal):
    """A journal of which nothing is ever written."""

    @classmethod
    def at(cls, path: Path) -> Unwritten:
        """One that would be at `path`."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        lay_out(connection)
        return cls(path, connection, None, Heads())

    @property
    def has_uncommitted(self) -> bool:
        """Nothing waits for a commit."""
        return False

    def commit(self, hold: Hold = "anchored") -> None:
        """Writes nothing."""


@asynccontextmanager
async def recording(root: Path, run: str, layer: Layer) -> AsyncIterator[Recorder | None]:
    """What keeps the journal of a run of that layer."""
    if layer == "with a journal":
        async with aside(keeping(root, run, {})) as recorder:
            yield recorder
    elif layer == "recording":
        with Unwritten.at(root / f"{run}.journal") as journal:
            yield Recorder(journal, Redaction.of({}))
    else:
        yield None


def governed(shape: Shape, root: Path, layer: Layer = "governed") -> Callable[[], Awaitable[int]]:
    """Runs the same as a team, with so much of what ours does; the model requests that it took."""
    lines = [
        f"{name(level)} = bench.delegation.{shape!r}.model_of({level})" for level in range(shape.depth + 1)
    ]
    text = "\n".join(["import bench.delegation", *lines])
    (root / "models.py").write_text(text, encoding="utf-8")
    limits = Limits(requests=LIMIT) if layer == "the gate alone" else EVERY_LIMIT
    graph = replace(team(shape, limits), code={"models.py": digest.of_text(text)})
    if layer == "with flows":
        graph = replace(graph, flows=Flows("rule-of-two"))
    prompts = {worker: f"You are {worker}." for worker in graph.workers}

    async def work() -> int:
        events: list[Event] = []
        name = new_run()
        async with recording(root, name, layer) as recorder:
            options = RunOptions(approver=ApproveAll(), run=name, recorder=recorder)
            if layer != "the gate alone":
                options = with_options(options, policy=Policy(), on_event=events.append)
            if layer == "with flows":
                options = with_options(options, untrusted_input=True)
            outcome = await run(graph, root=root, prompts=prompts, entry="go", options=options)
        if outcome.status != "completed" or outcome.denied:
            raise SystemExit(f"the run did not complete: {outcome.error or outcome.denied[0]}")
        return outcome.usage.requests

    return work


def team(shape: Shape, limits: Limits) -> Graph:
    """A chain of workers under rules, ceilings and these limits."""
    ceiling = (Capability("agent.delegate"), Capability("fs.read", "input/**"))
    workers = {
        name(level): Worker(
            name=name(level),
            at=NOWHERE,
            path=f"{name(level)}.worker",
            config="",
            prompt="",
            model=Reference(f"python:models.py:{name(level)}", NOWHERE),
            uses=(Use(name=name(level + 1), config={}, at=NOWHERE),) if level < shape.depth else (),
            may=ceiling,
        )
        for level in range(shape.depth + 1)
    }
    entry = Entry(
        name="go", at=NOWHERE, worker=Reference(name(0), NOWHERE), input="go", may=ceiling, limits=limits
    )
    rules = {
        "agent.delegate": "needs_approval",
        "fs.write": "blocked",
        "net": "blocked",
        "proc.exec": "blocked",
    }
    return Graph(
        settings=Settings(name="bench", built_in=2, default="needs_approval", max_depth=shape.depth),
        rules=tuple(
            Rule(Capability.parse(capability), decision, "llmdo.toml")  # type: ignore[arg-type]
            for capability, decision in rules.items()
        ),
        entries={"go": entry},
        workers=workers,
    )


def measure(shape: Shape, rounds: int) -> dict[str, list[float]]:
    """CPU milliseconds of each round of each side. The sides take turns at going first."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {
            "bare": bare(shape),
            **{layer: governed(shape, Path(folder), layer) for layer in get_args(Layer)},
        }
        times: dict[str, list[float]] = {side: [] for side in sides}
        requests = set()
        for number in range(rounds + 1):
            for side in sides if number % 2 else reversed(sides):
                gc.collect()
                gc.freeze()  # else a side pays by chance for a walk of all modules that are imported
                start = time.process_time()
                requests.add(asyncio.run(sides[side]()))  # type: ignore[arg-type]
                times[side].append((time.process_time() - start) * 1000)
    if len(requests) != 1:
        raise SystemExit(f"the sides did not do the same: {sorted(requests)} requests")
    return {side: taken[1:] for side, taken in times.items()}


TARGETS = {"governed": {1: 1.05, 4: 1.10}, "with a journal": {1: 1.20, 4: 1.25}}
"""The most that a side may cost, by the depth."""


def rows(shape: Shape, times: dict[str, list[float]]) -> Iterator[str]:
    """A table of the sides: its median time, what it adds to the one before for each delegation, its ratio to bare."""
    yield f"depth {shape.depth}, {shape.delegations} delegations      ms CPU   added us   ratio  (from, to)      target"
    before = times["bare"]
    for side, taken in times.items():
        ratios = [mine / theirs for theirs, mine in zip(times["bare"], taken, strict=True)]
        added = [mine - theirs for theirs, mine in zip(before, taken, strict=True)]
        each = statistics.median(added) * 1000 / shape.delegations
        target = TARGETS.get(side, {}).get(shape.depth)
        yield (
            f"  {side:28} {statistics.median(taken):10.1f} {each:10.0f} {statistics.median(ratios):7.3f}"
            f"  ({min(ratios):.3f}, {max(ratios):.3f})  {'' if target is None else f'{target:.2f}'}"
        )
        before = taken


def main() -> None:
    """Prints a table for depth 1 and one for depth 4, with the load of the machine at the time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delegations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--together", type=int, default=10, help="calls in one response of the first worker")
    chosen = parser.parse_args()
    print(f"pydantic-ai {version('pydantic-ai-slim')}, Python {platform.python_version()}")
    for depth in (1, 4):
        shape = Shape(delegations=chosen.delegations, depth=depth, together=chosen.together)
        print(*rows(shape, measure(shape, chosen.rounds)), sep="\n")
        print(f"  load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
