"""The shared objects of a run, made first: models, toolsets, servers, signatures, the budget."""

from __future__ import annotations

import dataclasses
import os
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models import Model

from llmdo.base.backtrace import Backtrace
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import fields, replace
from llmdo.graph.code_calls import own_uses, uses_with_calls
from llmdo.graph.inventory import Inventory
from llmdo.graph.keys import NOWHERE, decoded
from llmdo.graph.limits import Limits
from llmdo.graph.models import model_file, python_reference
from llmdo.graph.toolkit import delegating, reachable
from llmdo.journal.naming import new_run
from llmdo.journal.spent import spent
from llmdo.journal.unsettled import commands_of
from llmdo.policy.authority import decide
from llmdo.policy.composition import Base
from llmdo.runtime.agents import Agents
from llmdo.runtime.approvals.approver import RejectAll
from llmdo.runtime.attached import WorkspaceFiles
from llmdo.runtime.brake import Stop
from llmdo.runtime.budget import Budget, TreeLimits
from llmdo.runtime.config import REMEMBERED, RuntimeConfig
from llmdo.runtime.frames import frame_below
from llmdo.runtime.gate.call import Refused
from llmdo.runtime.gate.provider_side import require_support
from llmdo.runtime.gate.starting import is_server, may_start_unasked, require_start
from llmdo.runtime.in_python import agents_of, prompts_of
from llmdo.runtime.ledger import Ledger
from llmdo.runtime.models.choice import ModelSource, choose, models_of
from llmdo.runtime.models.reporting import without_guesses
from llmdo.runtime.recording.log import RunLog
from llmdo.runtime.recording.stub import StandInModel
from llmdo.runtime.signatures import signatures_of
from llmdo.runtime.telemetry.events import ServerNoticed
from llmdo.toolsets.launch import Launcher
from llmdo.toolsets.paths import PathMap
from llmdo.toolsets.resolver import ToolsetResolver
from llmdo.toolsets.servers import require_client, servers_of
from llmdo.workspace.modules import importable, text_digests
from llmdo.workspace.reading import read_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.worker import Use
    from llmdo.runtime.adopted import AdoptedAgent
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.models.choice import ModelChoice
    from llmdo.runtime.options import RunOptions
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.python import Modules
    from llmdo.workspace.root import Folders


def configure(
    graph: Graph,
    entry: Entry,
    folders: Folders,
    confined: Root,
    modules: Modules,
    prompts: Mapping[str, str],
    options: RunOptions,
) -> RuntimeConfig:
    """The configuration of a run of `entry`, with every model that it can reach.

    `confined` is the opened root of `folders`.

    Raises:
        LlmdoError: A model cannot be made, a toolset cannot be loaded, or one cannot be run yet.
    """
    stop, log = options.stop or Stop(), options.recorder or RunLog()
    log.tell = stop.guarding(options.on_event)
    paths = PathMap.of(graph.paths).with_overrides(options.paths)
    graph = replace(graph, paths={**graph.paths, **options.paths})  # what delegation declares follows the map
    resolver = _resolver(graph, entry, folders, confined, modules, paths, options, log)
    agents = _agents(graph, entry, modules, prompts, options)
    budget = _budget(entry, options, Ledger(stop=stop), log)
    depth, base = graph.settings.max_depth, Base.of(graph, options.tightening)
    return RuntimeConfig(
        run=options.run or new_run(),
        graph=graph,
        folders=folders,
        entry=entry,
        base=base,
        labels_of=lru_cache(REMEMBERED)(base.labelling.of),
        is_labelled=bool(base.labelling.labels) or any(worker.output for worker in graph.workers.values()),
        approver=options.approver or RejectAll(),
        agents=agents,
        signatures=agents.signatures,
        resolver=resolver,
        servers=resolver.servers,
        confined=confined,
        attachments=options.attachment_resolver or WorkspaceFiles(confined),
        backtrace=Backtrace(modules.root, options.debug),
        paths=paths,
        is_untrusted=options.untrusted_input if entry.untrusted_input is None else entry.untrusted_input,
        max_depth=depth if options.max_depth is None else min(depth, options.max_depth),
        policy=options.policy,
        budget=budget,
        limits=TreeLimits(budget),
        ledger=budget.ledger,
        log=log,
        streams=options.streams,
    )


def _resolver(
    graph: Graph,
    entry: Entry,
    folders: Folders,
    confined: Root,
    modules: Modules,
    paths: PathMap,
    options: RunOptions,
    log: RunLog,
) -> ToolsetResolver:
    """The resolver of the toolsets that `entry` can reach, with loaded code.

    Raises:
        LlmdoError: Some cannot be loaded.
    """
    uses = [use for name in reachable(graph, entry) for use in graph.workers[name].uses]
    uses = [*uses_with_calls(graph, uses), *own_uses(graph, entry)]
    governing = folders.governed(Inventory.of(graph).governing)
    launcher = Launcher(folders=folders, files=confined, governing=governing, environ=os.environ)
    resolver = ToolsetResolver(
        graph=graph,
        folders=folders,
        files=confined,
        modules=modules,
        paths=paths,
        governing=launcher.governing,
        servers=servers_of(graph, uses, launcher, partial(_notice, log, entry)),
        commands=_commands(options),
    )
    if not log.is_closed:
        resolver.preload(uses)
        if resolver.servers:
            require_client()
    return resolver


def _commands(options: RunOptions) -> Path | None:
    """The file next to the journal that lists the run's commands; None if none outlives it."""
    recorder = options.recorder
    if recorder is None or not recorder.mode.live:
        return None
    return commands_of(recorder.journal)


def with_given_models(graph: Graph, root: Path, choice: ModelChoice) -> Graph:
    """`graph` with the code and the files of models that only this run's choice names.

    Raises:
        LlmdoError: The choice is a fleet's, and names one outside of the lock.
    """
    named = (*choice.by_worker.values(), choice.default, choice.environment)
    others = [name for name in named if name and name not in graph.python_models]
    unlisted = [name for name in others if python_reference(name) or model_file(name)]
    if unlisted and choice.source == "fleet":
        raise LlmdoError(
            f"`{unlisted[0]}` is asked for as a model, and no file of the workspace names it",
            hint="a worker runs what the lock names: put it into [models] of llmdo.toml, then `llmdo lock`",
        )
    graph = replace(graph, governing=graph.governing.union(filter(None, map(model_file, unlisted))))
    attributes = map(python_reference, unlisted)
    paths = {attribute.rpartition(":")[0] for attribute in attributes if attribute} - graph.code.keys()
    if not paths:
        return graph
    sources = read_modules(root, sorted(paths))
    return replace(
        graph,
        code={**text_digests(sources), **graph.code},
        governing=graph.governing | importable(sources),
    )


def _budget(entry: Entry, options: RunOptions, ledger: Ledger, log: RunLog) -> Budget:
    """The run's budget, less the use of its earlier processes; its conversation may leave less."""
    entry = _with_limits(entry, options)
    recorder = options.recorder
    budget = Budget(
        limits=entry.limits,
        ledger=ledger,
        on_event=log.tell,
        pace=partial(recorder.turn, f"requests of {entry.name}") if recorder else None,
    )
    if recorder:
        budget.count_earlier(spent(recorder.journal))
    return budget


def _with_limits(entry: Entry, options: RunOptions) -> Entry:
    """The entry with the limits of this run; a person may have set some again."""
    recorder = options.recorder
    if recorder is None:
        return entry
    stated = {**spent(recorder.journal).limits, **options.limits}
    changed = decoded(Limits, "lock", stated, NOWHERE)
    named: dict[str, Any] = {
        each.name: value for each in fields(Limits) if (value := getattr(changed, each.name)) is not None
    }
    if not recorder.mode.live:
        named["seconds"] = None  # a replay takes as long as it takes
    return replace(entry, limits=replace(entry.limits, **named))


def _agents(
    graph: Graph, entry: Entry, modules: Modules, prompts: Mapping[str, str], options: RunOptions
) -> Agents:
    workers = reachable(graph, entry)
    reached = [graph.workers[name] for name in workers]
    adopted = agents_of(reached, modules)
    options = dataclasses.replace(options, models=options.models.with_instances(_overriding(adopted)))
    references = {worker.name: choose(graph, entry, worker, options.models) or "" for worker in reached}
    return Agents(
        graph=graph,
        prompts=prompts_of(reached, prompts, modules),
        models=_models(graph, entry, references, modules, options),
        references=references,
        signatures=signatures_of(graph, workers, modules),
        instruments=options.instruments,
        adopted=adopted,
    )


def _overriding(adopted: Mapping[str, AdoptedAgent]) -> dict[str, Model]:
    """The models by which the starting program overrides those of adopted agents."""
    models = {name: agent.overridden.get("model") for name, agent in adopted.items()}
    return {name: model for name, model in models.items() if isinstance(model, Model)}


def _models(
    graph: Graph,
    entry: Entry,
    references: Mapping[str, str],
    modules: Modules,
    options: RunOptions,
) -> dict[str, Model]:
    """Each worker's model, or a stand-in if none is ever asked."""
    if options.recorder and not options.recorder.mode.live:
        return {name: StandInModel(reference) for name, reference in references.items()}
    source = ModelSource(
        aliases=graph.models, load=modules.load, root=modules.root, _made=dict(options.models.instances)
    )
    models = models_of(graph, entry, references, options.models, source)
    require_support(graph, models, {name: source.chain(reference) for name, reference in references.items()})
    quiet = {id(model): without_guesses(model) for model in models.values()}
    return {name: quiet[id(model)] for name, model in models.items()}


def _notice(log: RunLog, entry: Entry, server: str, message: str) -> None:
    log.tell(ServerNoticed(path=entry.name, server=server, message=message))


async def start_servers(config: RuntimeConfig, entry: CallFrame) -> None:
    """Starts the servers that need no question, each decided on at its first place of use.

    Raises:
        LlmdoError: Some cannot be started, or differ from the lock; all are reported at once.
    """
    if config.servers is None:
        return
    permitted: set[str] = set()
    for frame, use in _uses(config, entry):
        if use.name not in permitted:
            try:
                await require_start(config, frame, use)
            except Refused:
                continue  # by a policy, perhaps of this place alone
            permitted.add(use.name)
    await config.servers.require_locked(sorted(permitted))


def _uses(config: RuntimeConfig, entry: CallFrame) -> Iterator[tuple[CallFrame, Use]]:
    """Every use of a server that may be started at its place, with that place's frame, the nearest first.

    Only places reached without a question count. A ceiling against starting a server also holds below, so that a
    worker's nearest place decides for the others.
    """
    graph = config.graph
    yield from _startable(config, entry, own_uses(graph, config.entry))
    known: set[str] = set()
    level = [entry]
    while level:
        deeper: list[CallFrame] = []
        for frame in level:
            for name in _callees(config, frame):
                if name not in known and frame.depth < config.max_depth:
                    worker, path = graph.workers[name], _place(config, frame, name)
                    try:
                        callee = frame_below(config, frame, worker, input="", path=path)
                    except ToolFailed:
                        continue  # a policy has none for this place
                    known.add(name)
                    deeper.append(callee)
                    yield from _startable(config, callee, uses_with_calls(graph, worker.uses))
        level = deeper


def _startable(
    config: RuntimeConfig, frame: CallFrame, uses: Iterable[Use]
) -> Iterator[tuple[CallFrame, Use]]:
    for use in uses:
        if is_server(config, use) and may_start_unasked(config, frame, use):
            yield frame, use


def _callees(config: RuntimeConfig, frame: CallFrame) -> tuple[str, ...]:
    """The workers that may be called from here without a question; the entry's own is simply started."""
    if frame.worker is None and config.entry.worker is not None:
        return (config.entry.worker.name,)
    if frame.worker is None:
        names = tuple(called.name for called in config.entry.delegates)
    else:
        names = tuple(name for name in config.graph.edges[frame.worker.name] if name in config.graph.workers)
    raised = ((name, [delegating(name)]) for name in names)
    return tuple(
        name for name, needs in raised if decide(needs, needs, frame.authority).decision == "allowed"
    )


def _place(config: RuntimeConfig, frame: CallFrame, name: str) -> str:
    """A worker's call path, without the number that only a call has."""
    is_started = frame.worker is None and config.entry.worker is not None
    return name if is_started else f"{frame.path}/{name}"
