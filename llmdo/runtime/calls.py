"""The runtime for a worker's tools, and a worker offered as a tool."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import capture_run_messages
from pydantic_ai.exceptions import ToolFailed, UsageLimitExceeded
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from llmdo.base.backtrace import frames_of
from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.toolkit import delegating, delegation, hands_over, tools_of
from llmdo.journal.naming import first_run
from llmdo.policy.flow import read_by
from llmdo.runtime import attachments as files
from llmdo.runtime.code_tools import call_of, path_at
from llmdo.runtime.frames import frame_below
from llmdo.runtime.gate.call import Call
from llmdo.runtime.gate.decisions import judge, require_unasked
from llmdo.runtime.gate.labelling import (
    Handover,
    context_of_code,
    handed_over,
    labels_for,
    opened,
    told_of_failure,
)
from llmdo.runtime.gate.numbering import call_path
from llmdo.runtime.gate.policy import objection_to_output
from llmdo.runtime.gate.provider_side import offered
from llmdo.runtime.gate.sealing import unsealed_by_code
from llmdo.runtime.gate.toolset import Gate
from llmdo.runtime.labels import NO_LABELS, Context
from llmdo.runtime.models.failure import explained, failure_text
from llmdo.runtime.models.recorded import RecordedModel
from llmdo.runtime.models.reporting import cut_off
from llmdo.runtime.models.requests import PersistentModel
from llmdo.runtime.place import code_at, not_calling, place_of, require_no_probe
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.stub import StubToolset
from llmdo.runtime.signatures import FILES, Output
from llmdo.runtime.telemetry.events import WorkerFinished, WorkerStarted
from llmdo.toolsets import call_key

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pydantic import BaseModel
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, UserContent
    from pydantic_ai.models import Model

    from llmdo.graph.worker import Use, Worker
    from llmdo.policy.authority import Capability
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.place import CallPlace
    from llmdo.runtime.signatures import Signature


_UNHEARD: AbstractContextManager[Sequence[ModelMessage]] = nullcontext(())
"""For delegates, whose messages nobody collects."""


@dataclass(frozen=True, slots=True)
class AgentRuntime:
    """The `ctx.deps` of a worker's tools, and the first argument of an entry's function."""

    config: RuntimeConfig
    frame: CallFrame

    @property
    def root(self) -> Path:
        """The folder for tools: the workspace, or the `root` of `[workspace]`."""
        return self.config.folders.root

    @property
    def call_key(self) -> str:
        """The key of the running tool's call, for services that act once for each key; of an entry, its own.

        Another execution of this call in this run has the same key, every other call another.
        """
        return call_key.current() or call_key.key_of(first_run(self.config.run), self.frame.path, 1)

    def spawn(self, name: str, *, input: str = "") -> AgentRuntime:  # noqa: A002
        """The runtime of a call of the worker `name` from here, for code that runs a worker's agent itself.

        Raises:
            ToolFailed: `name` is no delegate of the caller, or the call is blocked, refused by a policy, or needs an
                approval, for which nobody can be asked here.
        """
        callee, context = _callee(self, name), context_of_code(self.frame)
        call = Call(
            path=path_at(self.config, place_of(self.frame, None, name), name, input),
            toolset=name,
            tool=name,
            arguments={"input": input},
            raised=(delegating(name),),
            declared=delegation(self.config.graph, self.frame.worker, callee).capabilities,
            labels=labels_for(self.config, context),
        )
        require_unasked(self.config, self.frame, call)
        child = frame_below(self.config, self.frame, callee, input=input, path=call.path)
        # Whoever runs the agent itself sees at once what comes into it, and asks its model without our knowing.
        inside = Context(is_code=True, into=context)
        inside.carry(call.labels)
        return AgentRuntime(self.config, replace(child, context=inside))

    def call_agent(
        self,
        name: str,
        input: str | Mapping[str, object] | BaseModel,  # noqa: A002
        ctx: RunContext[object] | None = None,
        attachments: Sequence[str] = (),
        *,
        key: str | None = None,
    ) -> Coroutine[object, object, Any]:
        """The output of the worker `name`, called by code: a tool gives its `ctx`, an entry's function has none.

        It is text, or for a typed output, a value of its type. A typed input takes its model, or fitting data or JSON.
        The call's place in the code's order is fixed here, not when it is awaited. If only time orders calls, as in
        threads, `key` names it among the worker's.

        Raises:
            ToolFailed: The caller may not make the call, or it is refused or fails; in a function, LlmdoError.
        """
        above = None if ctx is None else call_path(self.frame.path, self.config.ledger.numbers, ctx)
        place = place_of(self.frame, above, name, key)
        return self._called(context_of_code(self.frame), place, name, input, ctx, attachments)

    async def _called(
        self,
        context: Context,
        place: CallPlace,
        name: str,
        input: str | Mapping[str, object] | BaseModel,  # noqa: A002
        ctx: RunContext[object] | None,
        attachments: Sequence[str],
    ) -> object:
        try:
            with not_calling():
                callee = _callee(self, name)
                given = _arguments(self.config.signatures[name], input, attachments)
                sealed, labels = unsealed_by_code(self.config, name, given, context)
                arguments = sealed.arguments
                path = path_at(self.config, place, name, arguments)
                await self.config.log.require_same(path, name, arguments)
                call = Call(
                    path=path,
                    toolset=name,
                    tool=name,
                    arguments=arguments,
                    raised=_raised(self.config, name, arguments.get(FILES) or ()),
                    declared=delegation(self.config.graph, self.frame.worker, callee).capabilities,
                    labels=labels,
                    brought=sealed.labels,
                )
                await judge(self.config, self.frame, call, ctx, ends="return")
                inside = opened(self.config, self.frame, call)
                if inside:
                    inside.into = context  # also of what is opened later
                try:
                    output = await _enter(self, callee, arguments, path, ctx, inside)
                finally:
                    if inside:
                        context.take(inside)
                await self.config.log.require_known(path, output.text)
                return output.value
        except ToolFailed as failed:
            if ctx is not None:
                raise
            raise LlmdoError(failed.message) from failed

    def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None, *, key: str | None = None
    ) -> Coroutine[object, object, Any]:
        """The result of the tool TOOLSET.TOOL, called by code of a toolset or of an entry's function.

        The `calls` of that toolset or entry name it. It passes the gate as a model's call here would. The tool's own
        objects come as the plain data that a model would see. Place and `key` are as for `call_agent`.

        Raises:
            ToolFailed: The call is not declared, is refused or fails; in a function, LlmdoError.
        """
        return call_of(self.config, self.frame, self, name, arguments or {}, key)

    def toolsets_for(self, name: str) -> list[AbstractToolset[object]]:
        """The toolsets of the worker `name` for this call of it, each behind the gate.

        Raises:
            LlmdoError: This is not a call of `name`: `spawn` gives the runtime of one.
        """
        require_no_probe()
        config = self.config
        if self.frame.worker is None or name != self.frame.worker.name:
            raise LlmdoError(f"`{self.frame.name}` has no toolsets of `{name}`", hint=f"spawn `{name}` first")
        return [
            Gate(
                self._make(use), config, self.frame, use, tools_of(config.graph, self.frame.worker, use), self
            )
            for use in config.graph.workers[name].uses
            if use.name != PROVIDER_SIDE
        ]

    async def load_attachment(self, path: str) -> list[UserContent]:
        """The content of a file for a tool of this worker, under the worker's limits.

        Raises:
            ToolFailed: The file may not be read, or cannot be attached.
        """
        return await files.loaded_by_tool(self.config, self.frame, path)

    def _make(self, use: Use) -> AbstractToolset[object]:
        graph, caller = self.config.graph, self.frame.worker
        if worker := graph.workers.get(use.name):
            signature = self.config.signatures[worker.name]
            return as_toolset(worker, signature, attachments=hands_over(delegation(graph, caller, worker)))
        log = self.config.log
        if isinstance(log, Recorder) and log.is_closed:
            return StubToolset(
                use.name, tools_of(graph, caller, use), log, self.frame.path, self.config.ledger
            )
        return self.config.resolver.make(use, self.frame.authority)


def _callee(runtime: AgentRuntime, name: str) -> Worker:
    """The worker `name`, if the caller may call it."""
    caller, graph = runtime.frame.worker, runtime.config.graph
    own = graph.edges[caller.name] if caller else [called.name for called in runtime.config.entry.delegates]
    if name not in own or name not in graph.workers:
        raise ToolFailed(f"`{runtime.frame.name}` may not call `{name}`: it is not among its delegates")
    return graph.workers[name]


def _arguments(signature: Signature, value: object, attachments: Sequence[str]) -> dict[str, Any]:
    try:
        arguments = deepcopy(signature.takes.arguments(value))
    except LlmdoError as error:
        raise ToolFailed(error.message) from error
    return {**arguments, FILES: list(attachments)} if attachments else arguments


async def _enter(
    runtime: AgentRuntime,
    callee: Worker,
    arguments: Mapping[str, object],
    path: str,
    ctx: RunContext[object] | None,
    context: Context | None,
) -> Output:
    """The output of `callee`, whose call is decided on; its caller is told of any failure.

    `context` is that of the call: its result carries the labels that the callee has read by its end.
    """
    config = runtime.config
    try:
        order = config.signatures[callee.name].takes.order(arguments)
    except Exception as error:  # from the code of a typed input: anything at all
        raise ToolFailed(
            f"`{callee.name}` was not called: {failure_text(error, config.backtrace)}"
        ) from error
    labels = context.end if context else NO_LABELS
    frame = frame_below(config, runtime.frame, callee, input=order.text, path=path, labels=labels)
    content = await _handed(config, callee, order.attachments, path)
    frame.context.carry(config.ledger.labels.read(read_by(_raised(config, callee.name, order.attachments))))
    handover = Handover(runtime.frame, frame, labels)
    try:
        with not_calling():
            output = await run_worker(AgentRuntime(config, frame), [*order.parts, *content], ctx)
    except Exception as error:  # a callee may fail in any way; its caller's tree goes on
        why = failure_text(error, config.backtrace)
        if isinstance(error, UsageLimitExceeded):
            why += "; finish with what you have"
        await _kept_from_caller(runtime, callee, path, None, why)
        frames = frames_of(explained(error, backtrace=config.backtrace))
        why = config.log.returned(path, None, why, frames) or why
        why = told_of_failure(config, handover, context, why, limit=isinstance(error, UsageLimitExceeded))
        raise ToolFailed(f"`{callee.name}` failed: {why}") from error
    withheld = await _kept_from_caller(runtime, callee, path, output.text, None)
    withheld = config.log.returned(path, None if withheld else output.text, withheld)
    if withheld:  # by somebody who has seen it, and may quote it
        why = told_of_failure(config, handover, context, withheld, limit=False)
        raise ToolFailed(f"`{callee.name}` failed: {why}")
    return handed_over(config, handover, context, output) if context else output


async def _kept_from_caller(
    runtime: AgentRuntime, callee: Worker, path: str, output: str | None, error: str | None
) -> str | None:
    """Why a policy withholds the output of `callee`, if one does; each end is reported to them once."""
    log = runtime.config.log
    if not log.mode.live or log.is_over(path, "return"):
        return None  # it was asked when that happened
    why = await objection_to_output(runtime.frame.policies, callee.name, output, error)
    return f"its answer is withheld: {why}" if why else None


async def _handed(
    config: RuntimeConfig, callee: Worker, paths: Sequence[str], path: str
) -> Sequence[UserContent]:
    """The content of the callee's files, from the journal if it has them."""

    async def read() -> list[UserContent]:
        return await files.load(callee, paths, config.paths, config.attachments)

    return await config.log.files(path, paths, read)


async def run_worker(
    runtime: AgentRuntime, prompt: Sequence[UserContent], ctx: RunContext[object] | None = None
) -> Output:
    """The output of the worker of `runtime` for `prompt`; usage and limits are those of the tree.

    Raises:
        Exception: Any failure that ends the worker.
    """
    config, frame = runtime.config, runtime.frame
    config.log.append(WorkerStarted(path=frame.path, worker=frame.name, depth=frame.depth, input=frame.input))
    output: Output | None = None
    failure: Exception | None = None
    messages: Sequence[ModelMessage] = ()
    heard = capture_run_messages() if frame.is_entry else _UNHEARD
    try:
        with config.log.working(frame.path), heard as messages:
            result = await config.agents.of(frame.name).run(
                prompt[0] if len(prompt) == 1 and isinstance(prompt[0], str) else prompt,
                model=_model_of(config, frame),
                deps=runtime,
                toolsets=runtime.toolsets_for(frame.name) or None,
                message_history=frame.history or None,
                usage=config.ledger.usage if ctx is None else ctx.usage,
                usage_limits=config.limits if ctx is None else ctx.usage_limits,
                capabilities=await offered(config, frame) or None,
            )
        answer = Output.of(result.output)
        if reason := cut_off(result.response):
            answer = _incomplete(runtime, answer, reason)
        output = answer
    except Exception as error:
        failure = explained(error, backtrace=config.backtrace)
        raise
    finally:
        if frame.is_entry:
            config.ledger.messages = _new(messages, frame.history)
        config.log.append(
            WorkerFinished(
                path=frame.path,
                worker=frame.name,
                output=None if output is None else output.text,
                error=None if failure is None else failure_text(failure),
                frames=() if failure is None else frames_of(failure),
            )
        )
    return output


def _new(messages: Sequence[ModelMessage], history: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The messages that the agent loop has added to `history`."""
    earlier = {None, *(message.run_id for message in history)}
    return tuple(message for message in messages if message.run_id not in earlier)


def _model_of(config: RuntimeConfig, frame: CallFrame) -> Model:
    """The model of one call of a worker, with its wrappers."""
    model = config.agents.model_of(frame.name)
    if isinstance(config.log, Recorder):
        return RecordedModel(model, config, frame, config.log)
    return PersistentModel(model, config, frame)


def _incomplete(runtime: AgentRuntime, answer: Output, reason: str) -> Output:
    """A cut-off answer; if it is text, it says so to a delegate's caller.

    Raises:
        LlmdoError: The workspace has no use for such answers.
    """
    config, frame = runtime.config, runtime.frame
    if config.graph.settings.on_truncated == "error":
        raise LlmdoError(
            f"the answer of `{frame.name}` is not complete: {reason}",
            hint="raise `max_tokens` in its `model_settings`, or ask for less",
        )
    if "/" not in frame.path or not isinstance(answer.value, str):
        return replace(answer, cut=reason)
    return Output.of(
        f"{answer.value}\n\n[The answer of `{frame.name}` ends here and is not complete: {reason}.]"
    )


def _raised(config: RuntimeConfig, callee: str, attachments: Sequence[str]) -> tuple[Capability, ...]:
    """The capabilities of a call of `callee`: the delegation, and for its caller, reading each attachment."""
    if not attachments:
        return (delegating(callee),)
    reads = frozenset().union(*(files.raised_by(path, config.paths) for path in attachments))
    return (delegating(callee), *reads)


class WorkerToolset(AbstractToolset[object]):
    """A worker as the one tool of its callers, behind the gate like every toolset."""

    def __init__(self, worker: Worker, signature: Signature, *, attachments: bool) -> None:
        self._worker = worker
        self._validator = signature.takes.validator(files=attachments)
        self._definition = ToolDefinition(
            name=worker.name,
            description=worker.description or f"Calls the worker {worker.name}.",
            parameters_json_schema=signature.takes.schema(files=attachments),
        )

    @property
    def id(self) -> str:
        """The worker's name."""
        return self._worker.name

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The one tool."""
        tool = ToolsetTool(
            toolset=self,
            tool_def=self._definition,
            max_retries=ctx.max_retries,
            args_validator=self._validator,
        )
        return {self._worker.name: tool}

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, object],
        ctx: RunContext[Any],
        tool: ToolsetTool[object],  # noqa: ARG002  # pydantic-ai's signature
    ) -> str:
        """The output of the worker."""
        runtime: AgentRuntime = ctx.deps
        path = call_path(runtime.frame.path, runtime.config.ledger.numbers, ctx)
        scope = code_at(runtime.frame)
        context = scope.context if scope else None
        return (await _enter(runtime, _callee(runtime, name), tool_args, path, ctx, context)).text

    def get_capabilities(
        self,
        name: str,  # noqa: ARG002  # the hook of every toolset is called alike
        tool_args: Mapping[str, Any],
        ctx: RunContext[Any],
        config: Mapping[str, object],  # noqa: ARG002
    ) -> tuple[Capability, ...]:
        """The capabilities of this one call."""
        runtime: AgentRuntime = ctx.deps
        return _raised(runtime.config, self._worker.name, tool_args.get(FILES) or ())


def as_toolset(worker: Worker, signature: Signature, *, attachments: bool) -> WorkerToolset:
    """`worker` as a toolset for a delegating worker: the only place that makes it one.

    `attachments` says whether that caller has files to attach and the worker takes them.
    """
    return WorkerToolset(worker, signature, attachments=attachments)
