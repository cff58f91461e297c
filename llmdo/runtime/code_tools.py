"""Calls of tools by code: gated as a model's, with the rights of the code's worker or entry."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.tool_manager import ToolManager
from pydantic_core import PydanticSerializationError

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.team_words import worded_for
from llmdo.graph.code_calls import calls_of, codes_of
from llmdo.runtime.gate.labelling import context_of_code
from llmdo.runtime.gate.numbering import CodeContext
from llmdo.runtime.gate.toolset import Gate
from llmdo.runtime.place import code_at, not_calling, place_of
from llmdo.runtime.recording.replay_mode import DivergenceError
from llmdo.runtime.signatures import mistakes

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from pydantic_ai.messages import ModelResponse

    from llmdo.graph.code_calls import CodeCall
    from llmdo.graph.resolved import Entry
    from llmdo.graph.toolset import Toolset
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.labels import Context
    from llmdo.runtime.place import CallPlace, Scope


@cache
def _return() -> TypeAdapter[ToolReturnPart]:
    return TypeAdapter(ToolReturnPart)  # takes 10 ms, which few runs need


class NoModel(Model):
    """The run's model for a tool that no model calls."""

    @property
    def model_name(self) -> str:
        """A word for it."""
        return "none"

    @property
    def system(self) -> str:
        """A word for its provider."""
        return "llmdo"

    async def request(self, *_: object, **__: object) -> ModelResponse:
        """Never an answer."""
        raise LlmdoError("a tool that no model calls has no model to ask")


def call_of(
    config: RuntimeConfig,
    frame: CallFrame,
    deps: object,
    name: str,
    arguments: Mapping[str, object],
    key: str | None,
) -> Coroutine[object, object, Any]:
    """The call of TOOLSET.TOOL by the code that runs now, with its place fixed here.

    `deps` are those of the tool.
    """
    return _called(
        _Caller(config, frame, deps, code_at(frame), context_of_code(frame)),
        place_of(frame, None, name, key),
        name,
        arguments,
    )


class _Caller(NamedTuple):
    config: RuntimeConfig
    frame: CallFrame
    deps: object
    code: Scope | None
    """None if nobody knows whose code it is."""
    context: Context
    """The labels that the code has read."""


async def _called(caller: _Caller, place: CallPlace, name: str, arguments: Mapping[str, object]) -> object:
    try:
        with not_calling():
            call = _declared(caller, name)
            path = path_at(caller.config, place, name, arguments)
            return await _carried_out(caller, call, arguments, path)
    except (ToolFailed, ModelRetry) as failed:
        if caller.code is not None and caller.code.toolset is not None:
            raise ToolFailed(failed.message) from failed
        raise LlmdoError(failed.message) from failed


def _declared(caller: _Caller, name: str) -> CodeCall:
    """The tool `name`, if the calling code declares it.

    Raises:
        ToolFailed: It does not, or nobody knows whose code it is.
    """
    graph, code = caller.config.graph, caller.code
    if code is None:
        raise ToolFailed(
            f"`{name}` was not called: `call_tool` is for the code of a tool or of an entry, while that runs"
        )
    owners = _owners(caller, code)
    for owner in owners:
        if call := calls_of(graph, owner).get(name):
            return call
    if any(call.name == name for owner in owners for call in owner.calls):
        raise ToolFailed(f"`{name}` is blocked: no such tool is declared")
    table = f"toolsets.{code.toolset}" if code.toolset else f"entries.{caller.config.entry.name}"
    line = f'add `calls = ["{name}"]` to [{table}] of llmdo.toml'
    raise ToolFailed(
        f"`{caller.frame.name}` may not call `{name}` from code: {worded_for(graph.manifest, line)}"
    )


def _owners(caller: _Caller, code: Scope) -> tuple[Entry | Toolset, ...]:
    """The owners that declare the calls of `code`: its entry, or its toolset; both for a tool that an entry starts."""
    config = caller.config
    toolset = config.graph.toolsets.get(code.toolset or "")
    own = codes_of(config.graph, config.entry) if caller.frame.worker is None else ()
    if code.toolset is None or toolset in own:
        return own
    return (toolset,) if toolset else ()


async def _carried_out(caller: _Caller, call: CodeCall, arguments: Mapping[str, object], path: str) -> object:
    config, frame = caller.config, caller.frame
    use, name = call.use, call.tool.name
    inner = config.resolver.make(use, frame.authority)
    context = CodeContext(
        deps=caller.deps,
        model=NoModel(),
        usage=config.ledger.usage,
        usage_limits=config.limits,
        run_step=1,
        path=path,
    )
    gate = Gate(
        inner, config, frame, use, {name: call.tool}, caller.deps, caller=caller.context, is_for_code=True
    )
    toolset = await gate.for_run(context)
    # Where nothing is executed, nothing is opened that tools work with.
    async with nullcontext() if config.log.is_closed else toolset:
        manager = await ToolManager(toolset).for_run_step(context)
        if name not in (manager.tools or {}):
            raise ToolFailed(f"`{use.name}` has no tool `{name}`")
        try:
            part = ToolCallPart(name, dict(arguments), tool_call_id=path)
            result = await manager.handle_call(part, wrap_validation_errors=False)
        except ValidationError as misfit:
            raise ToolFailed(f"the arguments do not fit `{call.name}`: {mistakes(misfit)}") from misfit
    await config.log.require_known(path, result)
    return _as_data(result, call)


def _as_data(result: object, call: CodeCall) -> object:
    """The result of a tool as a model would see it, and a journal gives it back.

    Raises:
        ToolFailed: It cannot be written as JSON.
    """
    value = result.return_value if isinstance(result, ToolReturn) else result
    if value is None or isinstance(value, str | bool | int | float):
        return value
    part = ToolReturnPart(tool_name="", content=value, tool_call_id="")
    try:
        content = json.loads(_return().dump_json(part, include={"content"}))
    except PydanticSerializationError as error:
        raise ToolFailed(f"the result of `{call.name}` cannot be written as JSON") from error
    return _return().validate_python({"tool_name": "", "tool_call_id": "", **content}).content


def path_at(config: RuntimeConfig, place: CallPlace, name: str, arguments: object) -> str:
    """The path of a call by code at `place`; `arguments` are its input.

    Raises:
        DivergenceError: Nobody can know which of several recorded calls it is.
    """
    unnumbered = f"{place.above}/{name}"
    if place.number is not None:
        return f"{unnumbered}#{place.number}"
    digest = config.log.unordered(unnumbered, arguments)
    try:
        return config.ledger.unordered.path(unnumbered, digest, config.log.has_called)
    except DivergenceError as error:
        config.log.brake.stop(error)
        raise
