"""The gate: decides on every call of every tool, on the very arguments that will run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import AgentRunError, ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.toolsets import WrapperToolset

from llmdo.base.backtrace import frames_of
from llmdo.base.diagnostic import LlmdoError
from llmdo.graph import builtin
from llmdo.graph.toolkit import READ, delegating, sends
from llmdo.journal.naming import first_run
from llmdo.runtime.gate.call import Attempt, Refused, copied, frozen
from llmdo.runtime.gate.decisions import ASKS_ITSELF, judge, only_reads
from llmdo.runtime.gate.labelling import add_kept, declared, everything, labels_for, opened
from llmdo.runtime.gate.numbering import MOST_CALLS, call_path, numbered
from llmdo.runtime.gate.sealing import answered, targets_of, unsealed
from llmdo.runtime.gate.starting import is_server, may_start_unasked, refused_by_lock, require_start
from llmdo.runtime.labels import NO_LABELS
from llmdo.runtime.models.failure import failure_text
from llmdo.runtime.place import calling
from llmdo.runtime.recording.encoding import shown_outcome
from llmdo.runtime.recording.entries import noting, without_notes
from llmdo.runtime.recording.replay_mode import Execution, is_safe
from llmdo.runtime.seals import opened_in
from llmdo.runtime.telemetry.events import ToolCalled, ToolFinished
from llmdo.syntax.tool_metadata import PROBING
from llmdo.toolsets import call_key
from llmdo.toolsets.probes import NotKnown, OfferedProbe, answer_of
from llmdo.toolsets.python import sentence_of
from llmdo.toolsets.servers import Drifted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

    from llmdo.base.backtrace import CrashError
    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Use
    from llmdo.journal.entries import Kind
    from llmdo.policy.authority import Capability
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call, Permit
    from llmdo.runtime.labels import Context, Labels
    from llmdo.runtime.seals import Seal
    from llmdo.runtime.telemetry.events import Outcome
    from llmdo.toolsets.probes import Answer


def offered_probe(
    config: RuntimeConfig, frame: CallFrame, attempt: Attempt, call: Call
) -> OfferedProbe | None:
    """The probe of the tool of `call`; None without one, or if the manifest wants a person asked.

    An MCP server offers none: its description of a tool chooses no code of the workspace.
    """
    definition, toolset = attempt.tool.tool_def, config.graph.toolsets.get(attempt.use.name)
    name = (definition.metadata or {}).get(PROBING)
    if toolset is None or toolset.python is None or not isinstance(name, str):
        return None
    if attempt.declared is not None and attempt.declared.retry == "ask":
        return None

    async def ask(number: int) -> Answer:
        key = call_key.key_of(first_run(config.run), call.path, number)
        try:
            probe = config.resolver.probe(attempt.use, attempt.toolset, name)
        except LlmdoError as error:
            return NotKnown(error.message)
        execution = (config.run, number)
        with calling(frame, call.path, attempt.use.name, execution=execution, is_probe=True):
            return await answer_of(name, probe, key, copied(call.arguments), attempt.ctx, definition.timeout)

    return OfferedProbe(name, ask)


_ENDINGS = (ToolFailed, ModelRetry, ValidationError, AgentRunError, LlmdoError)
"""Errors of a tool that are no crash."""


def _plain(tool: ToolsetTool[object]) -> ToolsetTool[object]:
    definition = tool.tool_def
    if definition.kind == "function" and not definition.defer_loading:
        return tool
    return replace(tool, tool_def=replace(definition, kind="function", defer_loading=False))


@dataclass
class Gate(WrapperToolset[object]):
    """A toolset behind the gate, for one call of a worker: the outermost wrapper, so that nothing goes around it."""

    config: RuntimeConfig
    frame: CallFrame
    use: Use
    tools: Mapping[str, Tool]
    """Declared tools by name; any other is hidden, and blocked if called."""
    runtime: object
    """The toolset's `ctx.deps`, whatever the agent's; an agent's own tools get the agent's, which may be this."""
    caller: Context | None = None
    """The labels of the calling code; None if a model calls."""
    is_for_code: bool = False
    """Whether code calls the tools: it is told why a tool never runs, while a model does not see the tool."""
    _open: frozenset[str] = field(init=False)
    """Tools that some call could use."""
    _is_server: bool = field(init=False)
    """Whether it is an MCP server, started by its first call."""
    _asking: set[str] = field(init=False, default_factory=set)
    """Tools whose author wants every call approved."""

    def __post_init__(self) -> None:
        self._is_server = is_server(self.config, self.use)
        self._open = frozenset(
            name
            for name, tool in self.tools.items()
            if self.is_for_code
            or not self.config.never_runs(tool.capabilities, self.frame.authority, self._least(tool))
        )

    @property
    def _labelled(self) -> Context:
        """The labels of the caller."""
        return self.frame.context if self.caller is None else self.caller

    def _context(self, ctx: RunContext[object]) -> RunContext[object]:
        worker = self.frame.worker
        if ctx.deps is self.runtime or (worker is not None and self.use.name == worker.own_toolset):
            return ctx
        return replace(ctx, deps=self.runtime)

    async def for_run(self, ctx: RunContext[object]) -> AbstractToolset[object]:
        """The toolset for one run of its agent."""
        return await super().for_run(self._context(ctx))

    async def for_run_step(self, ctx: RunContext[object]) -> AbstractToolset[object]:
        """The toolset for one step of it."""
        return await super().for_run_step(self._context(ctx))

    async def get_instructions(self, ctx: RunContext[object]) -> Any:
        """The toolset's instructions for the model."""
        instructions = await super().get_instructions(self._context(ctx))
        if self.config.is_labelled and instructions is not None and self.use.name not in builtin.NAMES:
            self._note_words(self.tools.values())
        return instructions

    def _note_words(self, tools: Iterable[Tool]) -> None:
        """Adds the labels of words that these tools give without a decided call: perhaps of all that they declare."""
        if capabilities := {each for tool in tools for each in tool.capabilities}:
            self._labelled.carry(declared(self.config.base.labelling, capabilities, self.frame.path))

    def _least(self, tool: Tool) -> tuple[tuple[Capability, ...], ...] | None:
        """Groups of capabilities; every call raises one of each group, as `never_runs` takes them."""
        if not tool.hook:
            return None
        if self.use.name in self.config.graph.workers:
            return ((delegating(self.use.name),),)
        return tuple(map(tuple, builtin.raised_always(self.use.name, tool)))

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The declared tools that are not blocked whatever the call.

        All become plain function tools: pydantic-ai would defer others to handlers that do not exist here, or add an
        ungated search tool of its own.
        """
        tools = await self.wrapped.get_tools(self._context(ctx))
        if self.config.is_labelled:
            validated = [name for name, tool in tools.items() if tool.args_validator_func is not None]
            self._note_words(self.tools[name] for name in validated if name in self._open)
        self._asking = {name for name, tool in tools.items() if tool.tool_def.kind == "unapproved"}
        open_tools = {
            name: _plain(tool)
            for name, tool in tools.items()
            if name in self._open and tool.tool_def.kind in ("function", "unapproved")
        }
        if not (self.config.log.keeps and self.config.log.mode.live):
            return open_tools
        return {name: noting(tool, self._note_fault) for name, tool in open_tools.items()}

    def _note_fault(self, ctx: RunContext[object], fault: Exception) -> None:
        self.config.log.note_fault(call_path(self.frame.path, self.config.ledger.numbers, ctx), fault)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> Any:
        """The result of the tool, once the call is decided on.

        Raises:
            ToolFailed: The call was refused, or failed in a way that its model can deal with.
            LlmdoError: The tool failed in a way that ends its worker.
        """
        ctx = self._context(ctx)
        path, is_beyond = numbered(self.frame.path, self.config.ledger.numbers, ctx)
        if is_beyond:
            raise ToolFailed(
                f"not called: of one response, only the first {MOST_CALLS} calls are carried out"
            )
        tool, arguments = without_notes(tool), frozen(name, tool_args)
        self.config.log.tell(
            ToolCalled(
                path=path, worker=self.frame.name, toolset=self.use.name, tool=name, arguments=arguments
            )
        )
        outcome: Outcome = "stopped"
        result: object = None
        failure: Exception | None = None
        try:
            result = await self._decided_call(name, path, arguments, ctx, tool)
        except Exception as error:
            outcome, result = shown_outcome(error)
            failure = error if outcome == "error" else None
            raise
        else:
            outcome = "success"
            self.config.ledger.of_worker(self.frame.name).tool_calls += 1
            return result
        finally:
            self.config.log.append(
                ToolFinished(
                    path=path,
                    tool=name,
                    outcome=outcome,
                    result=result,
                    error=failure_text(failure) if failure else None,
                    frames=frames_of(failure) if failure else (),
                )
            )

    async def _decided_call(
        self,
        name: str,
        path: str,
        arguments: dict[str, Any],
        ctx: RunContext[object],
        tool: ToolsetTool[object],
    ) -> Any:
        is_labelled = self.config.is_labelled
        attempt = Attempt(
            path=path,
            name=name,
            tool=tool,
            use=self.use,
            toolset=self.wrapped,
            declared=self.tools.get(name),
            ctx=ctx,
            governing=self.config.resolver.governing,
            files=self.config.confined,
            labels=labels_for(self.config, self._labelled),
            targets=targets_of(self.config.graph, self.use.name, tool.tool_def) if is_labelled else None,
            sends=not is_labelled or sends(self.config.graph, self.use.name, name, given=bool(arguments)),
        )
        if seals := self._labelled.seals:
            attempt, arguments = await self._unsealed(attempt, arguments, seals)
        asks = name in self._asking
        try:
            if self.is_for_code:
                await self.config.log.require_same(path, name, arguments)
            permit = await self._judged(attempt, arguments, asks=asks)
            if attempt.sealed:
                answered(self.config, attempt, permit.call)
            if asks:
                attempt = replace(attempt, ctx=replace(ctx, tool_call_approved=True))
            try:
                return await self._executed(attempt, permit)
            except ApprovalRequired:
                permit = await self._judged(attempt, permit.call.arguments, asks=True)
                approved = replace(attempt, ctx=replace(ctx, tool_call_approved=True))
                return await self._executed(approved, permit, again=True)
        except (ApprovalRequired, CallDeferred) as error:
            raise ToolFailed(f"`{name}` cannot be answered within this run") from error
        except _ENDINGS:
            raise
        except Exception as error:  # from the workspace's own code: anything at all
            raise self._crash(name, error) from error

    async def _unsealed(
        self, attempt: Attempt, arguments: dict[str, Any], seals: Mapping[str, Seal]
    ) -> tuple[Attempt, dict[str, Any]]:
        """The attempt with the labels of its sealed texts, and the arguments with these in their places."""
        sealed = opened_in(arguments, seals)
        return await unsealed(self.config, attempt, sealed) if sealed.seals else (attempt, arguments)

    def _crash(self, name: str, error: Exception, hint: str | None = None) -> CrashError:
        sentence = f"the tool `{name}` of worker `{self.frame.name}` raised {sentence_of(error)}"
        return self.config.backtrace.crash(sentence, error, hint=hint)

    async def _executed(self, attempt: Attempt, permit: Permit, *, again: bool = False) -> Any:
        """The tool's result, or the journal's; delegates are always entered."""
        call, ctx, tool, log = permit.call, attempt.ctx, attempt.tool, self.config.log
        name, arguments = call.tool, call.arguments
        is_over = log.is_over(call.path, self._ends)
        if self._is_server and not is_over:
            await require_start(self.config, self.frame, self.use, ctx, call.labels)
        context = opened(self.config, self.frame, call) if self.config.is_labelled else None
        if context and is_over:
            context.carry(self._unrecorded(call))

        async def work() -> Any:
            try:
                number = (self.config.run, log.step_of(call.path))
                with calling(
                    self.frame, call.path, self.use.name, execution=number, context=context, again=again
                ):
                    return await self.wrapped.call_tool(name, {**arguments}, ctx, tool)
            except Drifted as drifted:
                raise refused_by_lock(self.config, self.frame, call, drifted) from drifted
            except (*_ENDINGS, ApprovalRequired, CallDeferred):
                raise
            except Exception as error:  # here, so that the journal keeps what the run tells
                hint = None
                if log.keeps and "/" not in self.frame.path:  # nobody is told of it, so the run ends
                    hint = f"`llmdo resume {self.config.run} --again {call.path}` runs it again"
                raise self._crash(name, error, hint) from error

        try:
            result = await self._kept(attempt, permit, work)
            if context and context.end:
                self._labelled.hear(call.path, result)
            return result
        finally:
            if context:
                add_kept(self.config, call, context)
                self._labelled.take(context)

    def _unrecorded(self, call: Call) -> Labels:
        """The labels of all that the finished call's code may have read: only its result is recorded."""
        config, worker, toolset = (
            self.config,
            self.frame.worker,
            self.config.graph.toolsets.get(self.use.name),
        )
        if toolset is None or toolset.kind != "python":
            return NO_LABELS
        if worker is None or config.graph.edges[worker.name] or toolset.calls:
            return everything(config.base.labelling, call.path)
        if config.never_runs((READ,), self.frame.authority, ((READ,),)):
            return NO_LABELS
        loaded = declared(config.base.labelling, (READ,), call.path)
        return {**config.ledger.labels.read((READ.scope,)), **loaded}

    async def _kept(
        self, attempt: Attempt, permit: Permit, work: Callable[[], Coroutine[object, object, Any]]
    ) -> Any:
        """The result of `work`, which the journal keeps, or the journal's."""
        call, ctx, tool, log = permit.call, attempt.ctx, attempt.tool, self.config.log
        name, arguments = call.tool, call.arguments
        if not log.keeps or self.use.name in self.config.graph.workers:
            return await work()  # the requests and tools of a worker put on disk what they rest on
        own, known = builtin.BUILT_IN.get(self.use.name), self.tools.get(name)

        async def may_rerun() -> bool:
            starts = may_start_unasked(self.config, self.frame, self.use)
            return starts and await only_reads(self.config, self.frame, call, ctx, attempt)

        safe = is_safe(call.raised, known.retry if known else None, tool.tool_def.metadata)
        execution = Execution(
            path=call.path,
            tool=name,
            arguments=arguments,
            is_live=permit.is_live,
            is_safe=safe,
            may_rerun=may_rerun,
            probe=None if safe else offered_probe(self.config, self.frame, attempt, call),
            is_thread=own.runs_in_threads if own else not getattr(tool, "is_async", True),
        )
        return await log.execution(execution, work, self.config.ledger)

    async def _judged(self, attempt: Attempt, arguments: Mapping[str, Any], *, asks: bool) -> Permit:
        call = attempt.draft(arguments, ASKS_ITSELF if asks else None)
        try:
            return await judge(self.config, self.frame, call, attempt.ctx, attempt, self._ends)
        except Refused as refused:
            if not (attempt.brought or attempt.sealed):
                raise
            # The reasons quote what a call raises, which may be a path that is sealed.
            raise Refused(f"`{call.tool}` is not let through with what is sealed there") from refused

    @property
    def _ends(self) -> Kind:
        """The kind of the entry for a call's end."""
        return "return" if self.use.name in self.config.graph.workers else "finished"
