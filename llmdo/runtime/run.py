"""A run: an entry of a graph from its input to its outcome."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
from pydantic_core import PydanticSerializationError, to_json

from llmdo.base.backtrace import frames_of
from llmdo.base.diagnostic import LlmdoError, did_you_mean, near_or_all
from llmdo.graph.offers import require_ours
from llmdo.journal.entries import ClaimedError, StoreError
from llmdo.runtime.approvals.approver import GoneError
from llmdo.runtime.attachments import handed_at_start
from llmdo.runtime.calls import AgentRuntime, run_worker
from llmdo.runtime.frames import entry_frame, frame_below
from llmdo.runtime.in_python import dependencies
from llmdo.runtime.models.failure import OutOfQuotaError, explained, failure_text
from llmdo.runtime.options import RunOptions
from llmdo.runtime.outcome import RunOutcome, usage_of
from llmdo.runtime.place import calling, not_calling, numbered_tasks
from llmdo.runtime.preparation import configure, start_servers, with_given_models
from llmdo.runtime.recording.keeping import begin, keep_outcome, recorded_outcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import (
    DivergenceError,
    ReachedError,
    ReplayMode,
    UnfinishedError,
    WaitingError,
)
from llmdo.runtime.seals import opened_text
from llmdo.runtime.signatures import Output
from llmdo.runtime.telemetry.events import RunFinished, RunStarted
from llmdo.runtime.tool_entry import call_tool
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules, sentence_of
from llmdo.workspace.root import Folders
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.flow import Labelling
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.labels import Context, Labels
    from llmdo.runtime.signatures import Order
    from llmdo.runtime.telemetry.events import Status

EntryFunction = Callable[["AgentRuntime", str], Awaitable[object]]
"""An entry in code: takes the runtime, whose `call_agent` reaches the entry's `calls`, and the input."""


async def run(
    graph: Graph, *, root: Path, prompts: Mapping[str, str], entry: str, options: RunOptions | None = None
) -> RunOutcome:
    """The outcome of `entry`, run to its end; `prompts` holds each worker's prompt by name.

    Raises:
        UntrustedError: It would execute code that nobody has answered for, and `options.consent` refuses it.
        LlmdoError: The run cannot start; nothing was asked of a model.
        CancelledError: It was cancelled. Its events and its journal say that it was interrupted.
    """
    options = options or RunOptions()
    started = _entry(graph, entry)
    if options.history and started.worker is None:
        raise LlmdoError(
            f"entry `{entry}` is code, and only a worker takes a history",
            hint="give code what it needs in its input",
        )
    text = options.input if options.input is not None else started.input
    if text is None:
        raise LlmdoError(
            f"entry `{entry}` needs an input",
            hint=f"give one, or set the entry's `input` in {graph.manifest}",
        )
    code, folders = options.code or root, _folders(graph, root, options)
    graph = consented(graph, root, options)
    with (
        closing(Root.of(folders)) as confined,
        closing(Root.open(code)) as code_files,
        Modules(code, code_files, graph.code) as modules,
    ):
        config = configure(graph, started, folders, confined, modules, prompts, options)
        work = partial(_with_deps, modules, _work_of(config, modules, text, options))
        async with AsyncExitStack() as connections:  # kept for the run, and closed with it
            for model in {id(model): model for model in config.agents.models.values()}.values():
                await connections.enter_async_context(model)
            if config.servers:
                connections.push_async_callback(config.servers.close)
            await begin(config, text, options, modules.text)
            _announce(config, text)
            if options.locked:
                await _start_servers(config, text)
            outcome, cancellation = await _outcome(config, work, text)
            new, context, labelling = config.ledger.messages, config.ledger.context, config.base.labelling
            labels = labelling.record_of(context.end) if context and labelling.labels else None
            outcome = replace(outcome, messages=(*options.history, *new), new_messages=new, labels=labels)
            return await _recorded(config, outcome, cancellation)


def consented(graph: Graph, root: Path, options: RunOptions) -> Graph:
    """`graph` with the code of models that `options` alone name, if all code of the run is permitted.

    If no tool is executed, that is Python alone. Code that only a journal names needs an answer.

    Raises:
        UntrustedError: Some code is not permitted.
    """
    whole = with_given_models(graph, options.code or root, options.models)
    if whole.code or not _is_idle(options):
        strict = options.models.source == "journal" and whole is not graph
        (options.consent or Consent()).require(whole, root, options.code, strict=strict)
    return whole


def _folders(graph: Graph, workspace: Path, options: RunOptions) -> Folders:
    """The run's folders; if no tool is executed, as in most replays, a missing root is not needed."""
    folders = Folders(workspace, graph.settings.root)
    return Folders(workspace) if _is_idle(options) and not folders.is_there else folders


def _is_idle(options: RunOptions) -> bool:
    """Whether the run is repeated from its journal without executing tools."""
    mode = options.recorder.mode if options.recorder else ReplayMode()
    return not (mode.live or mode.reruns)


async def _recorded(
    config: RuntimeConfig, outcome: RunOutcome, cancellation: BaseException | None
) -> RunOutcome:
    """`outcome`, once in the journal, even if the run is cancelled repeatedly meanwhile.

    Only then is the end announced: whoever hears of it may look at the run, or resume it.

    Raises:
        CancelledError: The run was cancelled, or is now.
    """
    recording = asyncio.ensure_future(keep_outcome(config.log, outcome))
    while not recording.done():
        try:
            await asyncio.shield(recording)
        except asyncio.CancelledError as again:
            cancellation = cancellation or again
    ended = recording.result()
    config.log.append(
        RunFinished(
            path=ended.entry, run=ended.run, status=ended.status, error=ended.error, frames=ended.frames
        )
    )
    if ended is outcome:  # else its end is on no record, and somebody else's may be
        _tell(config, outcome)
    if cancellation is not None:
        raise cancellation
    return replace(ended, error=ended.error or config.ledger.stop.reason)


def _tell(config: RuntimeConfig, outcome: RunOutcome) -> None:
    """Notifies the webhook, if there is one and this is no replay."""
    notify, log = config.graph.notify, config.log
    if notify is None or not log.mode.live:
        return
    from llmdo.runtime import webhook  # which brings what speaks HTTP: few workspaces have one

    webhook.tell(
        notify,
        outcome,
        workspace=config.graph.settings.name,
        session=log.session if isinstance(log, Recorder) else 1,
        journal=log.journal if isinstance(log, Recorder) else None,
        environ=os.environ,
    )


async def _start_servers(config: RuntimeConfig, text: str) -> None:
    """Starts the servers of a `--locked` run; the journal keeps a failure or a cancellation.

    Raises:
        LlmdoError: A server cannot be started, or differs from the lock.
    """
    try:
        await start_servers(config, entry_frame(config, text))
    except (LlmdoError, asyncio.CancelledError) as error:
        reason = error if isinstance(error, LlmdoError) else LlmdoError("the run was interrupted")
        failed = RunOutcome(
            run=config.run,
            entry=config.entry.name,
            status="failed" if reason is error else "interrupted",
            output=None,
            reached=None,
            error=reason.message,
            hint=reason.hint,
            usage=usage_of(config.ledger.usage),
            usage_by_worker={},
            unpriced=config.ledger.unpriced,
            denied=tuple(config.ledger.denied),
        )
        await _recorded(config, failed, None)
        raise


async def _outcome(
    config: RuntimeConfig, work: Callable[[AgentRuntime], Awaitable[Output]], text: str
) -> tuple[RunOutcome, BaseException | None]:
    """The outcome, and the cancellation that ended the run, for which somebody waits."""
    entry, stop = config.entry, config.ledger.stop
    start = AgentRuntime(config, entry_frame(config, text))
    stop.task = asyncio.current_task()
    status: Status = "failed"
    output: Output | None = None
    error: str | None = None
    failure: LlmdoError | None = None
    cancellation: BaseException | None = None
    try:
        async with asyncio.timeout(config.budget.seconds_left) as clock, config.log.brake.guarding():
            with numbered_tasks(), not_calling():
                await stop.arrival()
                result = await work(start)
                await config.log.require_known(entry.name, result.text)
                await stop.arrival()
        status, output = "completed", result
    except (asyncio.CancelledError, KeyboardInterrupt) as cancelled:
        status, error = "interrupted", "the run was interrupted"
        if stop.reason is not None and stop.took():
            status, error = stop.status, stop.reason
        else:
            cancellation = cancelled
    except WaitingError as waiting:
        status, error = "waiting", str(waiting)
    except (GoneError, ReachedError) as ended:
        status, error = "interrupted", str(ended)
    except (StoreError, ClaimedError, UnfinishedError) as stopped:  # the run itself has done nothing wrong
        status, error, failure = "interrupted", failure_text(stopped), stopped
    except TimeoutError as late:
        error = (
            f"the run took longer than {config.budget.limits.seconds:g} seconds"
            if clock.expired()
            else failure_text(late)
        )
    except UsageLimitExceeded as limit:
        error = str(limit)
    except Exception as raised:  # whatever a model, a tool or a function raises ends the run, not the program
        failure = explained(raised, backtrace=config.backtrace)
        error = failure_text(failure)
    stop.task = None
    return _ended(config, status, output, error, failure), cancellation


def _announce(config: RuntimeConfig, text: str) -> None:
    entry, isolation = config.entry, config.resolver.isolation
    config.log.append(
        RunStarted(
            path=entry.name,
            run=config.run,
            entry=entry.name,
            input=text,
            models=config.agents.references,
            isolation=str(isolation) if isolation else None,
            files_of=config.graph.settings.files_of,
        )
    )


def _ended(
    config: RuntimeConfig,
    status: Status,
    output: Output | None,
    error: str | None,
    failure: LlmdoError | None,
) -> RunOutcome:
    ledger = config.ledger
    outcome = RunOutcome(
        run=config.run,
        entry=config.entry.name,
        status=status,
        output=output.text if output else None,
        value=output.value if output else None,
        error=error,
        hint=failure.hint if failure else None,
        out_of_quota=isinstance(failure, OutOfQuotaError),
        diverged=isinstance(failure, DivergenceError),
        truncated=output.cut if output else None,
        is_typed=output is not None and not isinstance(output.value, str),
        frames=frames_of(failure) if failure else (),
        reached=None if status == "completed" else ledger.last_text,
        usage=replace(
            usage_of(ledger.usage), requests=ledger.requests + ledger.unanswered, cost_usd=ledger.cost
        ),
        usage_by_worker={name: usage_of(used) for name, used in sorted(ledger.by_worker.items())},
        unpriced=ledger.unpriced,
        denied=tuple(ledger.denied),
    )
    return recorded_outcome(config.log, outcome)


def _work_of(
    config: RuntimeConfig, modules: Modules, text: str, options: RunOptions
) -> Callable[[AgentRuntime], Awaitable[Output]]:
    """The work of the entry with `text`: a call of its worker, its own function, or its tool.

    Raises:
        LlmdoError: It has none of them, or `text` does not fit its worker.
    """
    entry = config.entry
    if entry.worker is not None:
        takes = config.signatures[entry.worker.name].takes
        order = takes.order(takes.arguments(text))
        if order.attachments:
            raise LlmdoError(
                f"the input of entry `{entry.name}` hands over files, which only a caller can do"
            )
        return partial(_start_worker, entry.worker.name, order, options)
    if options.attachments:
        raise LlmdoError(f"entry `{entry.name}` starts no worker, so it takes no attachments")
    if entry.tool is not None:
        return partial(call_tool, text=text)
    if entry.function is None:
        raise LlmdoError(f"entry `{entry.name}` names neither a worker nor a function nor a tool")
    function = modules.load(entry.function.name)
    if not inspect.iscoroutinefunction(function):
        raise LlmdoError(
            f"`{entry.function.name}` is not an async function",
            hint="write `async def NAME(runtime, input) -> str`",
        )
    return partial(_call_function, function, text)


async def _with_deps(
    modules: Modules, work: Callable[[AgentRuntime], Awaitable[Output]], start: AgentRuntime
) -> Output:
    """The result of `work`, run while the deps of the run's agents exist."""
    async with dependencies(start.config, modules) as by_worker:
        start.config.agents.deps.update(by_worker)
        return await work(start)


async def _start_worker(name: str, order: Order, options: RunOptions, start: AgentRuntime) -> Output:
    worker = start.config.graph.workers[name]
    frame = frame_below(start.config, start.frame, worker, input=order.text, path=name)
    handed = await handed_at_start(start.config, start.frame, worker, options.attachments)
    start.config.ledger.context = frame.context
    frame.context.carry(start.frame.context.end)
    if options.history:
        frame.context.carry(_labels_of_history(start.config.base.labelling, options))
    own = replace(frame, history=options.history)
    answer = await run_worker(AgentRuntime(start.config, own), [*order.parts, *handed])
    return _opened(answer, frame.context)


def _opened(answer: Output, context: Context) -> Output:
    """An answer with the texts of its seals, for a reader."""
    if not isinstance(answer.value, str) or not context.seals:
        return answer
    text = opened_text(answer.value, context.seals)
    return replace(answer, value=text, text=text)


def _labels_of_history(labelling: Labelling, options: RunOptions) -> Labels:
    """The labels of the run's history; of an earlier run's, those that its journal keeps."""
    if options.continues is not None:
        return dict.fromkeys(labelling.carried_in(options.continues.labels), "the conversation")
    return dict.fromkeys(labelling.of_strange_input, "the history")


async def _call_function(function: EntryFunction, text: str, start: AgentRuntime) -> Output:
    try:
        await start.config.log.require_known(start.frame.path, text)
        with calling(start.frame, start.frame.path, context=start.frame.context):
            value = await function(start, text)
    except (AgentRunError, LlmdoError):
        raise
    except Exception as error:  # from the workspace's own code: anything at all
        sentence = f"the function of entry `{start.config.entry.name}` raised {sentence_of(error)}"
        raise start.config.backtrace.crash(sentence, error) from error
    try:
        to_json(value)
    except PydanticSerializationError as error:
        raise LlmdoError(
            f"the function of entry `{start.config.entry.name}` returned no data: {error}"
        ) from error
    if value is None:
        raise LlmdoError(f"the function of entry `{start.config.entry.name}` returned nothing")
    return _opened(Output.of(value), start.frame.context)


def _entry(graph: Graph, name: str) -> Entry:
    if name not in graph.entries:
        raise LlmdoError(f"there is no entry `{name}`", hint=near_or_all(name, graph.entries, "entry"))
    entry = graph.entries[name]
    require_ours(entry)
    for start in entry.starts:
        if start.name not in graph.workers:
            raise LlmdoError(
                f"entry `{name}` names `{start.name}`, which is not a worker",
                hint=did_you_mean(start.name, graph.workers),
            )
    return entry
