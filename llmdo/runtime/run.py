"""A run: an entry of a graph from its input to its outcome."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.usage import UsageLimits

from llmdo.authority import base_rules
from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.inventory import governing_files, reachable
from llmdo.runtime.agents import Agents
from llmdo.runtime.approvals import RejectAll
from llmdo.runtime.calls import AgentRuntime, entry_authority, run_worker, told
from llmdo.runtime.config import CallFrame, RuntimeConfig
from llmdo.runtime.events import RunFinished, RunStarted, discard
from llmdo.runtime.models import ModelChoice, ModelSource, choose, models_of
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.pathmap import PathMap
from llmdo.toolsets.python import Modules
from llmdo.toolsets.resolver import ToolsetResolver

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.usage import RunUsage

    from llmdo.graph import Entry, Graph, Limits
    from llmdo.runtime.approvals import Approver
    from llmdo.runtime.config import DeniedCall
    from llmdo.runtime.events import Sink, Status

EntryFunction = Callable[["AgentRuntime", str], Awaitable[object]]
"""An entry in code: is given the runtime, whose `call_agent` reaches the entry's `calls`, and the input."""

DEFAULT_REQUESTS = 50  # model requests of a tree whose entry names no limit; pydantic-ai's own default


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the caller of a run says, beside what the files say. They lift no block."""

    input: str | None = None
    """None: what the entry's `input` says."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Path maps that replace or add to the manifest's."""
    models: ModelChoice = field(default_factory=ModelChoice)
    max_depth: int | None = None
    """May only lower the workspace's."""
    approver: Approver | None = None
    """None: nobody can be asked, so every question is answered with no."""
    on_event: Sink = discard
    instruments: tuple[AbstractCapability[Any], ...] = ()
    """What watches every agent of the run, such as a trace."""
    run: str | None = None
    """The run's id, from `new_run`; None: a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model requests and tools have used."""

    requests: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    """None where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended and what it took."""

    run: str
    """The run's id."""
    entry: str
    status: Status
    output: str | None
    """None where it did not complete."""
    error: str | None
    """Why it did not complete, in one sentence."""
    usage: Usage
    """Of the whole tree."""
    usage_by_worker: Mapping[str, Usage]
    denied: tuple[DeniedCall, ...]
    """The calls that the gate did not let through, in the order in which they were refused."""


def run_sync(
    graph: Graph, *, root: Path, prompts: Mapping[str, str], entry: str, options: RunOptions | None = None
) -> RunOutcome:
    """As `run`, for callers without an event loop. Ctrl-C makes the outcome `interrupted`; a second one raises."""
    return asyncio.run(run(graph, root=root, prompts=prompts, entry=entry, options=options))


async def run(
    graph: Graph, *, root: Path, prompts: Mapping[str, str], entry: str, options: RunOptions | None = None
) -> RunOutcome:
    """The outcome of `entry`, run to its end; `prompts` holds each worker's prompt by its name.

    However the run ends, its outcome says so and what it used. A cancelled one is `interrupted`.

    Raises:
        LlmdoError: The run cannot start; nothing was asked of a model.
    """
    options = options or RunOptions()
    started = _entry(graph, entry)
    text = options.input if options.input is not None else started.input
    if text is None:
        raise LlmdoError(
            f"entry `{entry}` needs an input", hint="give one, or set the entry's `input` in llmdo.toml"
        )
    with closing(Root.open(root)) as confined:
        modules = Modules(root, confined)
        config = configure(graph, started, root, confined, modules, prompts, options)
        work = _work_of(started, modules)
        async with AsyncExitStack() as connections:  # kept for the run, and closed with it
            for model in {id(model): model for model in config.agents.models.values()}.values():
                await connections.enter_async_context(model)
            return await _outcome(config, work, text)


def configure(
    graph: Graph,
    entry: Entry,
    root: Path,
    confined: Root,
    modules: Modules,
    prompts: Mapping[str, str],
    options: RunOptions,
) -> RuntimeConfig:
    """All that the calls of a run of `entry` share; every model that it can reach is made.

    Raises:
        LlmdoError: A model cannot be made, a toolset cannot be loaded, or one is used that cannot be run yet.
    """
    workers = reachable(graph, entry)
    _refuse_mcp(graph, workers)
    paths = PathMap.of(graph.paths).with_overrides(options.paths)
    graph = replace(graph, paths={**graph.paths, **options.paths})  # what delegation declares follows the map
    source = ModelSource(aliases=graph.models, load=modules.load)
    models = models_of(graph, entry, workers, options.models, source)
    depth = graph.settings.max_depth
    resolver = ToolsetResolver(
        graph=graph, files=confined, modules=modules, paths=paths, protected=governing_files(graph)
    )
    resolver.preload(use for name in workers for use in graph.workers[name].uses)
    return RuntimeConfig(
        run=options.run or new_run(),
        graph=graph,
        root=root,
        entry=entry,
        rules=base_rules(graph.rules),
        approver=options.approver or RejectAll(),
        agents=Agents(
            graph=graph,
            prompts=prompts,
            models=models,
            references={
                name: choose(graph, entry, graph.workers[name], options.models) or "" for name in models
            },
            instruments=options.instruments,
        ),
        resolver=resolver,
        confined=confined,
        paths=paths,
        max_depth=depth if options.max_depth is None else min(depth, options.max_depth),
        limits=usage_limits(entry.limits),
        on_event=options.on_event,
    )


def new_run() -> str:
    """An id for a run: no other has it, and ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def usage_limits(limits: Limits) -> UsageLimits:
    """The budgets of an entry's tree in pydantic-ai's terms."""
    return UsageLimits(
        request_limit=DEFAULT_REQUESTS if limits.requests is None else limits.requests,
        input_tokens_limit=limits.input_tokens,
        output_tokens_limit=limits.output_tokens,
        total_tokens_limit=limits.total_tokens,
        tool_calls_limit=limits.tool_calls,
        cost_limit=None if limits.cost_usd is None else Decimal(str(limits.cost_usd)),
    )


async def _outcome(
    config: RuntimeConfig, work: Callable[[AgentRuntime, str], Awaitable[str]], text: str
) -> RunOutcome:
    entry, emit = config.entry, config.on_event
    frame = CallFrame(worker=None, input=text, depth=-1, path=entry.name, authority=entry_authority(config))
    start = AgentRuntime(config, frame)
    status: Status = "failed"
    output: str | None = None
    error: str | None = None
    emit(
        RunStarted(
            path=entry.name, run=config.run, entry=entry.name, input=text, models=config.agents.references
        )
    )
    try:
        async with asyncio.timeout(entry.limits.seconds) as clock:
            output = await work(start, text)
        status = "completed"
    except (asyncio.CancelledError, KeyboardInterrupt):
        status, error = "interrupted", "the run was interrupted"
    except TimeoutError as late:
        error = (
            f"the run took longer than {entry.limits.seconds:g} seconds" if clock.expired() else told(late)
        )
    except UsageLimitExceeded as limit:
        error = _over(limit, entry.limits)
    except (
        Exception
    ) as failure:  # whatever a model, a tool or a function raises ends the run, not the program
        error = told(failure)
    emit(RunFinished(path=entry.name, run=config.run, status=status, error=error))
    ledger = config.ledger
    return RunOutcome(
        run=config.run,
        entry=entry.name,
        status=status,
        output=output,
        error=error,
        usage=_usage(ledger.usage),
        usage_by_worker={name: _usage(used) for name, used in sorted(ledger.by_worker.items())},
        denied=tuple(ledger.denied),
    )


def _work_of(entry: Entry, modules: Modules) -> Callable[[AgentRuntime, str], Awaitable[str]]:
    """What starting `entry` does: calls its worker, or its own function."""
    if entry.worker is not None:
        return partial(_start_worker, entry.worker.name)
    if entry.function is None:
        raise LlmdoError(f"entry `{entry.name}` names neither a worker nor a function")
    found = modules.load(entry.function.name)
    if not inspect.iscoroutinefunction(found):
        raise LlmdoError(
            f"`{entry.function.name}` is not an async function",
            hint="write `async def NAME(runtime, input) -> str`",
        )
    return partial(_call_function, found)


async def _start_worker(name: str, start: AgentRuntime, text: str) -> str:
    return await run_worker(start.spawn(name, input=text, path=name))


async def _call_function(function: EntryFunction, start: AgentRuntime, text: str) -> str:
    output = await function(start, text)
    if not isinstance(output, str):
        raise LlmdoError(f"the function of entry `{start.config.entry.name}` did not return text")
    return output


def _entry(graph: Graph, name: str) -> Entry:
    if name not in graph.entries:
        raise LlmdoError(f"there is no entry `{name}`", hint=did_you_mean(name, graph.entries))
    entry = graph.entries[name]
    for start in entry.starts:
        if start.name not in graph.workers:
            raise LlmdoError(
                f"entry `{name}` names `{start.name}`, which is not a worker",
                hint=did_you_mean(start.name, graph.workers),
            )
    return entry


def _refuse_mcp(graph: Graph, workers: tuple[str, ...]) -> None:
    for name in workers:
        for use in graph.workers[name].uses:
            toolset = graph.toolsets.get(use.name)
            if toolset is not None and toolset.kind == "mcp":
                raise LlmdoError(
                    f"`{use.name}` is an MCP server, which this version of llmdo does not run yet",
                    hint=f"remove it from the toolsets of worker `{name}`",
                )


def _over(limit: UsageLimitExceeded, limits: Limits) -> str:
    said = f"a limit of the run was reached: {limit}"
    if limits.requests is None and "request_limit" in limit.message:
        said += f" (the entry names no limit, so {DEFAULT_REQUESTS} holds; `limits.requests` sets another)"
    return said


def _usage(used: RunUsage) -> Usage:
    return Usage(
        requests=used.requests,
        tool_calls=used.tool_calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=used.cost,
    )
