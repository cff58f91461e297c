"""A run: an entry of a graph from its input to its outcome."""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import UsageLimitExceeded

from llmdo.authority import base_rules, decide
from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.inventory import governing_files, reachable
from llmdo.runtime.agents import Agents
from llmdo.runtime.approvals.approver import RejectAll
from llmdo.runtime.budget import Budget, TreeLimits
from llmdo.runtime.calls import (
    AgentRuntime,
    authority_below,
    below,
    entry_authority,
    entry_frame,
    run_worker,
)
from llmdo.runtime.config import Ledger, RuntimeConfig
from llmdo.runtime.gate.provider_side import require_support
from llmdo.runtime.gate.starting import START_TOOL, is_server
from llmdo.runtime.in_python import agents_of, prompts_of
from llmdo.runtime.models.choice import ModelChoice, ModelSource, choose, models_of
from llmdo.runtime.models.failure import told
from llmdo.runtime.recording.keeping import begin, kept
from llmdo.runtime.recording.requests import Recording
from llmdo.runtime.recording.standin import StandInModel
from llmdo.runtime.recording.terms import WaitingError
from llmdo.runtime.signatures import signatures_of
from llmdo.runtime.telemetry.events import RunFinished, RunStarted, ServerNoticed, discard
from llmdo.runtime.tool_entry import call_tool
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.launch import Launcher
from llmdo.toolsets.pathmap import PathMap
from llmdo.toolsets.python import Modules
from llmdo.toolsets.resolver import ToolsetResolver
from llmdo.toolsets.servers import servers_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal
    from pathlib import Path

    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RunUsage

    from llmdo.authority import Rule
    from llmdo.graph import Entry, Graph
    from llmdo.runtime.approvals.approver import Approver
    from llmdo.runtime.config import DeniedCall
    from llmdo.runtime.gate.policy import RunPolicy
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.signatures import Order
    from llmdo.runtime.telemetry.events import Sink, Status

EntryFunction = Callable[["AgentRuntime", str], Awaitable[object]]
"""An entry in code: is given the runtime, whose `call_agent` reaches the entry's `calls`, and the input."""


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
    policy: RunPolicy | None = None
    """Has a say over every call, beside the limits of the run."""
    approver: Approver | None = None
    """None: nobody can be asked, so every question is answered with no."""
    tightening: tuple[Rule, ...] = ()
    """Rules of the person who runs it, from their `policy.toml`: they only tighten."""
    on_event: Sink = discard
    instruments: tuple[AbstractCapability[Any], ...] = ()
    """What watches every agent of the run, such as a trace."""
    run: str | None = None
    """The run's id, from `new_run`; None: a new one."""
    recorder: Recorder | None = None
    """The run's journal, where it keeps one."""
    locked: bool = False
    """Whether MCP servers that are not what was locked refuse the run, and not only their tools."""


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
    reached: str | None
    """Where it did not complete, the last that the entry's worker said."""
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
        work = _work_of(config, modules, text)
        async with AsyncExitStack() as connections:  # kept for the run, and closed with it
            for model in {id(model): model for model in config.agents.models.values()}.values():
                await connections.enter_async_context(model)
            if config.servers:
                connections.push_async_callback(config.servers.close)
                if options.locked:
                    await config.servers.require_locked(sorted(_startable(config)))
            begin(config, text, options)
            return kept(config.recorder, await _outcome(config, work, text))


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
    paths = PathMap.of(graph.paths).with_overrides(options.paths)
    graph = replace(graph, paths={**graph.paths, **options.paths})  # what delegation declares follows the map
    references = {name: choose(graph, entry, graph.workers[name], options.models) or "" for name in workers}
    models = _models(graph, entry, references, modules, options)
    reached = [graph.workers[name] for name in workers]
    depth = graph.settings.max_depth
    uses = [use for name in workers for use in graph.workers[name].uses]
    uses += [entry.use] if entry.use else []
    governing = governing_files(graph)
    launcher = Launcher(root=root, files=confined, governing=governing, environ=os.environ)
    servers = servers_of(graph, uses, launcher, partial(_notice, options.on_event, entry))
    resolver = ToolsetResolver(
        graph=graph, files=confined, modules=modules, paths=paths, protected=governing, servers=servers
    )
    if options.recorder is None or not options.recorder.is_closed:
        resolver.preload(uses)
    signatures = signatures_of(graph, workers, modules)
    instruments = (*options.instruments, *([Recording(options.recorder)] if options.recorder else []))
    budget = Budget(limits=entry.limits, ledger=Ledger(), on_event=options.on_event)
    return RuntimeConfig(
        run=options.run or new_run(),
        graph=graph,
        root=root,
        entry=entry,
        rules=base_rules(graph.rules),
        tightening=options.tightening,
        approver=options.approver or RejectAll(),
        agents=Agents(
            graph=graph,
            prompts=prompts_of(reached, prompts, modules),
            models=models,
            references=references,
            signatures=signatures,
            instruments=instruments,
            adopted=agents_of(reached, modules),
        ),
        signatures=signatures,
        resolver=resolver,
        servers=servers,
        confined=confined,
        paths=paths,
        max_depth=depth if options.max_depth is None else min(depth, options.max_depth),
        policy=options.policy,
        budget=budget,
        limits=TreeLimits(budget),
        ledger=budget.ledger,
        on_event=options.on_event,
        recorder=options.recorder,
    )


def _models(
    graph: Graph, entry: Entry, references: Mapping[str, str], modules: Modules, options: RunOptions
) -> dict[str, Model]:
    """Each worker's model; where none is ever asked, what stands for it."""
    if options.recorder and not options.recorder.terms.live:
        return {name: StandInModel(reference) for name, reference in references.items()}
    source = ModelSource(aliases=graph.models, load=modules.load, _made=dict(options.models.made))
    models = models_of(graph, entry, references, options.models, source)
    require_support(graph, models, {name: source.chain(said) for name, said in references.items()})
    return models


def _startable(config: RuntimeConfig) -> set[str]:
    """The MCP servers that some worker of the run may start without a question."""
    graph = config.graph
    found: set[str] = set()
    authority = entry_authority(config)
    for name in reachable(graph, config.entry):
        own = authority_below(config, authority, graph.workers[name])
        if decide(START_TOOL.capabilities, START_TOOL.capabilities, own).decision == "allowed":
            found.update(use.name for use in graph.workers[name].uses if is_server(config, use))
    return found


def _notice(emit: Sink, entry: Entry, server: str, message: str) -> None:
    emit(ServerNoticed(path=entry.name, server=server, message=message))


def new_run() -> str:
    """An id for a run: no other has it, and ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"[:-3] + f"-{secrets.token_hex(4)}"


async def _outcome(
    config: RuntimeConfig, work: Callable[[AgentRuntime], Awaitable[str]], text: str
) -> RunOutcome:
    entry, emit = config.entry, config.on_event
    start = AgentRuntime(config, entry_frame(config, text))
    task = config.ledger.task = asyncio.current_task()
    status: Status = "failed"
    output: str | None = None
    error: str | None = None
    emit(
        RunStarted(
            path=entry.name,
            run=config.run,
            entry=entry.name,
            input=text,
            models=config.agents.references,
            isolation=str(isolation) if (isolation := config.resolver.isolation) else None,
        )
    )
    try:
        brake = config.recorder.brake.guarding() if config.recorder else nullcontext()
        async with asyncio.timeout(entry.limits.seconds) as clock, brake:
            output = await work(start)
        status = "completed"
    except (asyncio.CancelledError, KeyboardInterrupt):
        status, error = "interrupted", config.ledger.stopped or "the run was interrupted"
        if config.ledger.stopped and task:
            task.uncancel()  # it was we who cancelled it
    except WaitingError as waiting:
        status, error = "waiting", str(waiting)
    except TimeoutError as late:
        error = (
            f"the run took longer than {entry.limits.seconds:g} seconds" if clock.expired() else told(late)
        )
    except UsageLimitExceeded as limit:
        error = str(limit)
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
        reached=None if status == "completed" else ledger.said,
        usage=replace(_usage(ledger.usage), requests=ledger.requests),
        usage_by_worker={name: _usage(used) for name, used in sorted(ledger.by_worker.items())},
        denied=tuple(ledger.denied),
    )


def _work_of(config: RuntimeConfig, modules: Modules, text: str) -> Callable[[AgentRuntime], Awaitable[str]]:
    """What starting the entry with `text` does: calls its worker, its own function, or its tool.

    Raises:
        LlmdoError: It has none of them, or `text` is not what its worker takes.
    """
    entry = config.entry
    if entry.worker is not None:
        takes = config.signatures[entry.worker.name].takes
        order = takes.order(takes.arguments(text))
        if order.attachments:
            raise LlmdoError(
                f"the input of entry `{entry.name}` hands over files, which only a caller can do"
            )
        return partial(_start_worker, entry.worker.name, order)
    if entry.tool is not None:
        return partial(call_tool, text=text)
    if entry.function is None:
        raise LlmdoError(f"entry `{entry.name}` names neither a worker nor a function nor a tool")
    found = modules.load(entry.function.name)
    if not inspect.iscoroutinefunction(found):
        raise LlmdoError(
            f"`{entry.function.name}` is not an async function",
            hint="write `async def NAME(runtime, input) -> str`",
        )
    return partial(_call_function, found, text)


async def _start_worker(name: str, order: Order, start: AgentRuntime) -> str:
    child = below(start, start.config.graph.workers[name], input=order.text, path=name)
    return await run_worker(child, order.parts)


async def _call_function(function: EntryFunction, text: str, start: AgentRuntime) -> str:
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


def _usage(used: RunUsage) -> Usage:
    return Usage(
        requests=used.requests,
        tool_calls=used.tool_calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=used.cost,
    )
