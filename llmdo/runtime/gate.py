"""The gate: every call of every tool is decided on here, on the very arguments that will run.

A refused call is a `ToolFailed`, not pydantic-ai's deferred approval: a deferred call is asked about after the
other calls of its step, then validated and executed anew, so that what runs is no longer the object that was
shown. A `ToolFailed` reaches the model at once, ends nothing, and costs no retry.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import AgentRunError, ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import WrapperToolset

from llmdo import builtin
from llmdo.authority import OUTSIDE_CEILINGS, UNDECLARED, Capability, decide, scopes_meet
from llmdo.diagnostic import LlmdoError
from llmdo.inventory import DELEGATE
from llmdo.runtime.approvals import Answer, Question, advice_on
from llmdo.runtime.config import DeniedCall
from llmdo.runtime.events import Asked, Decided, ToolCalled, ToolFinished
from llmdo.toolsets.python import sentence_of
from llmdo.toolsets.refusal import PathRefused, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from llmdo.authority import Authority, Reason, Verdict
    from llmdo.graph import Tool, Use
    from llmdo.runtime.config import CallFrame, RuntimeConfig
    from llmdo.runtime.events import Outcome

_ASKS_ITSELF = "the tool asks for approval of its own accord"


class Refused(ToolFailed):
    """The gate's own no, as the calling model is told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool and all that is decided about."""

    path: str
    toolset: str
    tool: str
    arguments: dict[str, Any]
    """Frozen: what is decided on, shown and executed is this one object."""
    raised: tuple[Capability, ...]
    declared: tuple[Capability, ...]
    asks: bool = False
    """Whether the tool's author wants a person to be asked, whatever the rules say."""
    fault: str | None = None
    """What is wrong with the toolset, where `raised` says `capability.undeclared` for that reason."""


def call_path(frame: CallFrame, ctx: RunContext[Any]) -> str:
    """The call path of the tool call that `ctx` is about.

    Numbered over the model's responses of this frame, in their order and for each tool, so that a run which
    starts the calls in another order gives them the same numbers. A call that no response holds goes by its id.
    """
    number, count = None, 0
    for message in ctx.messages:
        if isinstance(message, ModelResponse):
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.tool_name == ctx.tool_name:
                    count += 1
                    if part.tool_call_id == ctx.tool_call_id:
                        number = count
    return f"{frame.path}/{ctx.tool_name}#{number or ctx.tool_call_id}"


async def judge(config: RuntimeConfig, frame: CallFrame, call: Call) -> None:
    """Returns when `call` may run.

    Raises:
        Refused: The rules block the call, or it needs an approval that was not given.
    """
    verdict = decide(call.raised, call.declared, frame.authority)
    decision, reasons = verdict.decision, tuple(_because(reason) for reason in verdict.reasons)
    if call.asks and decision == "allowed":
        decision, reasons = "needs_approval", (_ASKS_ITSELF,)
    if fault := call.fault or _undeclared(call):
        reasons = (*reasons, fault)
    answer = Answer(allowed=decision == "allowed", by="rules")
    if decision == "needs_approval":
        answer = await _ask(config, frame, call, verdict, reasons)
    config.on_event(
        Decided(
            path=call.path,
            tool=call.tool,
            raised=call.raised,
            decision=decision,
            allowed=answer.allowed,
            by=answer.by,
            reasons=reasons,
        )
    )
    if answer.allowed:
        return
    told = (*reasons, answer.reason) if answer.reason else reasons
    config.ledger.denied.append(DeniedCall(path=call.path, tool=call.tool, decision=decision, reasons=told))
    why = "is blocked" if decision == "blocked" else "needs approval, which was not given"
    raise Refused(f"`{call.tool}` {why}: {'; '.join(reasons)}")


def _undeclared(call: Call) -> str | None:
    for one in call.raised:
        if not any(most.contains(one) for most in call.declared):
            return f"`{one}` is not among what `{call.tool}` declares"
    return None


def _because(reason: Reason) -> str:
    return f"`{reason.capability}`: {reason}" if reason.rule else str(reason)


async def _ask(
    config: RuntimeConfig, frame: CallFrame, call: Call, verdict: Verdict, reasons: tuple[str, ...]
) -> Answer:
    """The approver's answer, or a no of ours where it gives none that counts."""
    advice = (advice_on(reason) for reason in verdict.reasons if reason.decision == "needs_approval")
    question = Question(
        path=call.path,
        worker=frame.name,
        toolset=call.toolset,
        tool=call.tool,
        arguments=call.arguments,
        capabilities=call.raised,
        reasons=reasons,
        advice=tuple(dict.fromkeys(advice)),
        terminal_only=verdict.terminal_only,
    )
    config.on_event(Asked(path=call.path, tool=call.tool))
    try:
        answer: object = await config.approver.ask(question)
    except Exception as error:  # an approver that fails must not be one that approves, nor end the run
        return Answer(allowed=False, by="nobody", reason=f"the approver failed: {type(error).__name__}")
    if not isinstance(answer, Answer) or not isinstance(answer.allowed, bool):
        return Answer(allowed=False, by="nobody", reason="the approver gave no answer")
    if question.terminal_only and not answer.at_terminal:
        return replace(answer, allowed=False)
    return answer


@dataclass
class Gate(WrapperToolset[Any]):
    """A toolset behind the gate, for one call of a worker. Nothing goes around it: it is the outermost wrapper."""

    config: RuntimeConfig
    frame: CallFrame
    use: Use
    tools: Mapping[str, Tool]
    """The declared tools by name; a tool that is not among them is hidden, and blocked if it is called."""
    _open: frozenset[str] = field(init=False)
    """The tools that some call could use."""
    _asking: set[str] = field(init=False, default_factory=set)
    """The tools whose author wants every call approved."""

    def __post_init__(self) -> None:
        self._open = frozenset(
            name
            for name, tool in self.tools.items()
            if not _hopeless(tool, self.frame.authority, self._least(tool))
        )

    def _least(self, tool: Tool) -> tuple[Capability, ...] | None:
        if self.use.name in self.config.graph.workers:
            return (DELEGATE,)
        return tool.capabilities if self.use.name in builtin.NAMES else None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools that are declared and not blocked whatever the call.

        All become plain function tools: pydantic-ai would defer the others to handlers that do not exist
        here, or add a search tool of its own that no gate stands before.
        """
        found = await self.wrapped.get_tools(ctx)
        self._asking = {name for name, tool in found.items() if tool.tool_def.kind == "unapproved"}
        return {
            name: replace(tool, tool_def=replace(tool.tool_def, kind="function", defer_loading=False))
            for name, tool in found.items()
            if name in self._open and tool.tool_def.kind in ("function", "unapproved")
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """What the tool returns, once the call is decided on.

        Raises:
            ToolFailed: The call was refused, or the tool failed in a way that its model can deal with.
            LlmdoError: The tool failed in a way that ends its worker.
        """
        path = call_path(self.frame, ctx)
        arguments = _frozen(name, tool_args)
        self.config.on_event(
            ToolCalled(
                path=path, worker=self.frame.name, toolset=self.use.name, tool=name, arguments=arguments
            )
        )
        outcome: Outcome = "error"
        result: object = None
        try:
            result = await self._decided_call(name, path, arguments, ctx, tool)
        except Refused as refused:
            outcome, result = "denied", refused.message
            raise
        except ToolFailed as failed:
            outcome, result = "failed", failed.message
            raise
        except (ModelRetry, ValidationError) as wrong:
            outcome, result = "retried", str(wrong)
            raise
        else:
            outcome = "success"
            self.config.ledger.of_worker(self.frame.name).tool_calls += 1
            return result
        finally:
            self.config.on_event(ToolFinished(path=path, tool=name, outcome=outcome, result=result))

    async def _decided_call(
        self, name: str, path: str, arguments: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        try:
            await self._decide(name, path, arguments, ctx, tool, asks=name in self._asking)
            if name in self._asking:
                ctx = replace(ctx, tool_call_approved=True)
            try:
                return await self.wrapped.call_tool(name, arguments, ctx, tool)
            except ApprovalRequired:
                await self._decide(name, path, arguments, ctx, tool, asks=True)
                approved = replace(ctx, tool_call_approved=True)
                return await self.wrapped.call_tool(name, arguments, approved, tool)
        except (ApprovalRequired, CallDeferred) as error:
            raise ToolFailed(f"`{name}` cannot be answered within this run") from error
        except (ToolFailed, ModelRetry, ValidationError, AgentRunError, LlmdoError):
            raise
        except Exception as error:  # from the workspace's own code: anything at all
            raise LlmdoError(
                f"the tool `{name}` of worker `{self.frame.name}` raised {sentence_of(error)}"
            ) from error

    async def _decide(
        self,
        name: str,
        path: str,
        arguments: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
        *,
        asks: bool,
    ) -> None:
        declared = self.tools[name].capabilities if name in self.tools else ()
        fault = self._drift(name, tool, declared)
        raised = declared
        if fault is None and self.tools[name].hook and hasattr(self.wrapped, "get_capabilities"):
            raised, fault = await self._narrowed(name, arguments, ctx)
        if fault:
            raised = (Capability(UNDECLARED),)
        call = Call(
            path=path,
            toolset=self.use.name,
            tool=name,
            arguments=arguments,
            raised=raised,
            declared=declared,
            asks=asks,
            fault=fault,
        )
        await judge(self.config, self.frame, call)

    def _drift(self, name: str, tool: ToolsetTool[Any], declared: tuple[Capability, ...]) -> str | None:
        """Why the live tool is not the one that was declared, if it is not."""
        if name not in self.tools:
            return f"the tool `{name}` of `{self.use.name}` is not declared"
        metadata = tool.tool_def.metadata or {}
        live = metadata.get("capabilities", ())
        if not isinstance(live, list | tuple | set | frozenset):
            return f"the metadata of `{name}` does not list capabilities"
        for one in live:
            if not isinstance(one, str) or not any(most.contains(Capability.parse(one)) for most in declared):
                return f"the metadata of `{name}` names `{one}`, which is not declared"
        return None

    async def _narrowed(
        self, name: str, arguments: dict[str, Any], ctx: RunContext[Any]
    ) -> tuple[tuple[Capability, ...], str | None]:
        """What this one call raises, as the toolset says, or what is wrong with its answer."""
        hook: Callable[..., object] = self.wrapped.get_capabilities  # type: ignore[attr-defined]
        try:
            answer = hook(name, arguments, ctx, self.use.config)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # from the workspace's own code: anything at all
            return (), f"get_capabilities of `{self.use.name}` raised {type(error).__name__}"
        if not isinstance(answer, list | tuple | set | frozenset):
            return (), f"get_capabilities of `{self.use.name}` did not return a set"
        named = [Capability.parse(one) if isinstance(one, str) else one for one in answer]
        if not all(isinstance(one, Capability) for one in named):
            return (), f"get_capabilities of `{self.use.name}` returned something that is no capability"
        return tuple(sorted({_normal(one) for one in named}, key=str)), None


def _normal(raised: Capability) -> Capability:
    """`raised` with its scope as rules write theirs; of unknown scope where that is no path of the workspace."""
    if raised.scope is None:
        return raised
    try:
        return Capability(raised.name, normalise(raised.scope))
    except PathRefused:
        return Capability(raised.name)


def _frozen(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return deepcopy(arguments)
    except Exception as error:  # from the copy methods of the workspace's own types
        raise Refused(f"`{name}` is blocked: its arguments cannot be copied") from error


def _hopeless(tool: Tool, authority: Authority, least: tuple[Capability, ...] | None) -> bool:
    """Whether every call of `tool` is blocked.

    Every call raises something within one of `least`; None says that its hook may raise nothing at all.
    """
    if not tool.hook:
        return decide(tool.capabilities, tool.capabilities, authority).decision == "blocked"
    return bool(least) and all(_surely_blocked(one, authority) for one in least or ())


def _surely_blocked(declared: Capability, authority: Authority) -> bool:
    """Whether a call is blocked for anything that it raises within `declared`."""
    rules = (*authority.base, *authority.layers)
    if any(rule.decision == "blocked" and rule.capability.contains(declared) for rule in rules):
        return True
    if authority.default == "blocked" and not any(
        _share(rule.capability, declared) for rule in authority.base
    ):
        return True
    return not any(declared.covers_name(name) for name in OUTSIDE_CEILINGS) and any(
        not any(_share(most, declared) for most in ceiling.capabilities) for ceiling in authority.ceilings
    )


def _share(one: Capability, other: Capability) -> bool:
    """Whether something can be raised that lies in both."""
    related = one.covers_name(other.name) or other.covers_name(one.name)
    return related and scopes_meet(one.scope, other.scope)
