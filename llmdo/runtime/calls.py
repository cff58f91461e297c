"""Calls of workers: the runtime that a worker's tools are given, and a worker offered as a tool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from pydantic_ai.exceptions import (
    AgentRunError,
    FallbackExceptionGroup,
    ModelConnectionError,
    ModelTimeoutError,
    ToolFailed,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from llmdo.authority import Authority, Capability, Ceiling
from llmdo.diagnostic import LlmdoError
from llmdo.inventory import DELEGATE, READ, delegates, delegation, hands_over, tools_of
from llmdo.runtime import attachments as files
from llmdo.runtime.config import CallFrame, RuntimeConfig
from llmdo.runtime.events import WorkerFinished, WorkerStarted
from llmdo.runtime.gate import Call, Gate, call_path, judge
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai import RunContext
    from pydantic_ai.messages import UserContent

    from llmdo.graph import Use, Worker

MAX_TOLD = 500  # characters: what a model is told about a failure


@dataclass(frozen=True, slots=True)
class AgentRuntime:
    """What the tools of a worker see as `ctx.deps`, and an entry's function as its first argument."""

    config: RuntimeConfig
    frame: CallFrame

    def spawn(self, name: str, *, input: str = "", path: str = "") -> AgentRuntime:  # noqa: A002
        """The runtime of a call of the worker `name` from here, one delegation deeper.

        Raises:
            ToolFailed: The chain of delegations would be longer than allowed.
        """
        depth = self.frame.depth + 1
        if depth > self.config.max_depth:
            raise ToolFailed(
                f"`{name}` was not called: the chain of delegations may not be longer than "
                f"{self.config.max_depth}; do the work without it"
            )
        worker = self.config.graph.workers[name]
        frame = CallFrame(
            worker=worker,
            input=input,
            depth=depth,
            path=path or self._path_below(name, None),
            authority=authority_below(self.config, self.frame.authority, worker),
        )
        return AgentRuntime(self.config, frame)

    async def call_agent(
        self,
        name: str,
        input: str,  # noqa: A002
        ctx: RunContext[Any] | None = None,
        attachments: Sequence[str] = (),
    ) -> str:
        """The output of the worker `name`, called by code: a tool gives its `ctx`, an entry's function has none.

        Raises:
            ToolFailed: The call is not one of the caller's own, is refused or fails; in a function, LlmdoError.
        """
        request: _Request = {"input": input, "attachments": list(attachments)}
        path = self._path_below(name, ctx)
        try:
            callee = _callee(self, name)
            call = Call(
                path=path,
                toolset=name,
                tool=name,
                arguments={**request},
                raised=_raised(self.config, attachments),
                declared=delegation(self.config.graph, self.frame.worker, callee).capabilities,
            )
            await judge(self.config, self.frame, call)
            return await _enter(self, callee, request, path, ctx)
        except ToolFailed as failed:
            if ctx is not None:
                raise
            raise LlmdoError(failed.message) from failed

    def toolsets_for(self, name: str) -> list[AbstractToolset[Any]]:
        """The toolsets of the worker `name`, made for this call, each behind the gate."""
        config = self.config
        return [
            Gate(self._make(use), config, self.frame, use, tools_of(config.graph, self.frame.worker, use))
            for use in config.graph.workers[name].uses
        ]

    async def load_attachment(self, path: str) -> list[UserContent]:
        """The content of a file that a tool of this worker asks for, under the limits of this worker.

        Raises:
            ToolFailed: The file may not be read, or cannot be handed over.
        """
        worker = self.frame.worker
        if worker is None:
            raise LlmdoError("a function gives attachments to `call_agent` by their paths")
        call = Call(
            path=f"{self.frame.path}/load_attachment",
            toolset=worker.name,
            tool="load_attachment",
            arguments={"path": path},
            raised=(files.read_of(path, self.config.paths),),
            declared=(READ,),
        )
        await judge(self.config, self.frame, call)
        return await files.load_one(worker, path, self.config.paths, self.config.confined)

    def _path_below(self, name: str, ctx: RunContext[Any] | None) -> str:
        """The path of a call made by code: counted where it is made, in the order of the calls."""
        above = self.frame.path if ctx is None else call_path(self.frame, ctx)
        numbers = self.config.ledger.unrecorded
        numbers[f"{above}/{name}"] += 1
        return f"{above}/{name}#{numbers[f'{above}/{name}']}"

    def _make(self, use: Use) -> AbstractToolset[Any]:
        graph, caller = self.config.graph, self.frame.worker
        if worker := graph.workers.get(use.name):
            return as_toolset(worker, attachments=hands_over(delegation(graph, caller, worker)))
        return self.config.resolver.make(use, self.frame.authority)


def _callee(runtime: AgentRuntime, name: str) -> Worker:
    """The worker `name`, where it is one that the caller may call."""
    caller, graph = runtime.frame.worker, runtime.config.graph
    own = delegates(graph, caller) if caller else {called.name for called in runtime.config.entry.calls}
    if name not in own or name not in graph.workers:
        raise ToolFailed(f"`{runtime.frame.name}` may not call `{name}`: it is not among its delegates")
    return graph.workers[name]


async def _enter(
    runtime: AgentRuntime, callee: Worker, request: _Request, path: str, ctx: RunContext[Any] | None
) -> str:
    """The output of `callee`, whose call is decided on already; a failure of any kind is told to the caller."""
    config = runtime.config
    child = runtime.spawn(callee.name, input=request["input"], path=path)
    content = await files.load(callee, request.get("attachments", ()), config.paths, config.confined)
    try:
        return await run_worker(child, content, ctx)
    except Exception as error:  # a callee may fail in any way; its caller's tree goes on
        raise ToolFailed(f"`{callee.name}` failed: {told(error)}") from error


async def run_worker(
    runtime: AgentRuntime, content: Sequence[UserContent] = (), ctx: RunContext[Any] | None = None
) -> str:
    """The output of the worker of `runtime`; usage and limits are those of the tree.

    Raises:
        Exception: Whatever ends the worker.
    """
    config, frame = runtime.config, runtime.frame
    config.on_event(WorkerStarted(path=frame.path, worker=frame.name, depth=frame.depth, input=frame.input))
    output, failure = None, "it was interrupted"
    try:
        result = await config.agents.of(frame.name).run(
            [frame.input, *content] if content else frame.input,
            deps=runtime,
            toolsets=runtime.toolsets_for(frame.name),
            message_history=frame.history or None,
            usage=config.ledger.usage if ctx is None else ctx.usage,
            usage_limits=config.limits if ctx is None else ctx.usage_limits,
        )
        output = result.output
    except Exception as error:
        failure = told(error)
        raise
    finally:
        config.on_event(
            WorkerFinished(
                path=frame.path,
                worker=frame.name,
                output=output,
                error=None if output is not None else failure,
            )
        )
    return output


def entry_authority(config: RuntimeConfig) -> Authority:
    """What has a say over the calls that the entry makes itself."""
    entry = config.entry
    ceilings = () if entry.may is None else (Ceiling(entry.may, f"entry `{entry.name}`"),)
    return Authority(
        base=config.rules,
        default=config.graph.settings.default,
        layers=entry.approvals,
        ceilings=ceilings,
    )


def authority_below(config: RuntimeConfig, above: Authority, worker: Worker) -> Authority:
    """What has a say over the calls of `worker` when it is called from a place where `above` has.

    The rules of a worker hold for its own calls only, its ceiling for everything below it as well.
    """
    ceilings = above.ceilings
    if worker.may is not None:
        ceilings = (*ceilings, Ceiling(worker.may, f"worker `{worker.name}`"))
    return replace(above, layers=(*config.entry.approvals, *worker.approvals), ceilings=ceilings)


def _raised(config: RuntimeConfig, attachments: Sequence[str]) -> tuple[Capability, ...]:
    """What a call to a worker raises: the delegation, and for its caller, reading each file that it hands over."""
    return (DELEGATE, *(files.read_of(path, config.paths) for path in attachments))


def told(error: BaseException) -> str:
    """Why a worker failed, as its caller's model is told."""
    text = " ".join(_sentence(error).split())
    return text if len(text) <= MAX_TOLD else text[:MAX_TOLD] + "..."


def _sentence(error: BaseException) -> str:
    match error:
        case FallbackExceptionGroup():
            return f"every model of the chain failed: {'; '.join(map(_sentence, error.exceptions))}"
        case ModelTimeoutError():
            return f"`{error.model_name}` did not answer in time: {error.message}"
        case ModelConnectionError():
            return f"the connection to `{error.model_name}` failed: {error.message}"
        case AgentRunError() | LlmdoError():
            return str(error)
    return sentence_of(error)


class _Request(TypedDict):
    """The arguments of a worker's tool."""

    input: Annotated[str, Field(description="What the worker is to do, with all that it needs to know.")]
    attachments: NotRequired[
        Annotated[list[str], Field(description="Paths of files to hand over.", default=[])]
    ]


class _RequestWithoutFiles(TypedDict):
    """The arguments of the tool of a worker that takes no attachments."""

    input: Annotated[str, Field(description="What the worker is to do, with all that it needs to know.")]


_FORBID_OTHERS = with_config(ConfigDict(extra="forbid"))
_ADAPTERS: dict[bool, TypeAdapter[Any]] = {
    True: TypeAdapter(_FORBID_OTHERS(_Request)),
    False: TypeAdapter(_FORBID_OTHERS(_RequestWithoutFiles)),
}
"""By whether the worker takes attachments."""
_VALIDATORS = {takes: SchemaValidator(adapter.core_schema) for takes, adapter in _ADAPTERS.items()}
_SCHEMAS = {takes: adapter.json_schema() for takes, adapter in _ADAPTERS.items()}


class WorkerToolset(AbstractToolset[Any]):
    """A worker as the one tool that its callers have. It stands behind the gate, like every toolset."""

    def __init__(self, worker: Worker, *, attachments: bool) -> None:
        self._worker = worker
        self._validator = _VALIDATORS[attachments]
        self._definition = ToolDefinition(
            name=worker.name,
            description=worker.description or f"Calls the worker {worker.name}.",
            parameters_json_schema=_SCHEMAS[attachments],
        )

    @property
    def id(self) -> str:
        """The worker's name."""
        return self._worker.name

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
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
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002  # pydantic-ai's signature
    ) -> str:
        """The output of the worker."""
        runtime: AgentRuntime = ctx.deps
        request: _Request = {"input": tool_args["input"], "attachments": tool_args.get("attachments", [])}
        return await _enter(runtime, _callee(runtime, name), request, call_path(runtime.frame, ctx), ctx)

    def get_capabilities(
        self,
        name: str,  # noqa: ARG002  # the hook of every toolset is called alike
        tool_args: Mapping[str, Any],
        ctx: RunContext[Any],
        config: Mapping[str, object],  # noqa: ARG002
    ) -> tuple[Capability, ...]:
        """What this one call raises."""
        runtime: AgentRuntime = ctx.deps
        return _raised(runtime.config, tool_args.get("attachments", ()))


def as_toolset(worker: Worker, *, attachments: bool) -> WorkerToolset:
    """`worker` as a toolset for one that delegates to it: the only place where a worker becomes one.

    `attachments` says whether that caller has files to hand over and the worker takes them.
    """
    return WorkerToolset(worker, attachments=attachments)
