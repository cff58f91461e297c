"""The toolsets of a workspace, found by importing them: the child process of `llmdo lock`.

Run as `python -m llmdo.toolsets.inspection REQUEST REPORT`. The workspace's code can harm only this process;
`isolation.py` starts it and reads the report.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import Agent, RunContext, models
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, DynamicToolset
from pydantic_ai.usage import RunUsage

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.source import Location, Source
from llmdo.formats import fields
from llmdo.graph.toolset import ToolFacts, ToolsetFacts
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNDECLARED, VOCABULARY, members_of
from llmdo.syntax.module import outline
from llmdo.syntax.tool_metadata import DECLARING, means_capabilities
from llmdo.toolsets.adoption import adopted, maker, own_tools
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.probes import named_in, probe_of
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import (
    CONFIGURE,
    Modules,
    is_toolset_class,
    made_with,
    require_fit,
    sentence_of,
    toolsets_in,
)
from llmdo.toolsets.report import EVENT, REQUEST, Begun, Event, Failed, InspectedToolset, InspectionEnded
from llmdo.toolsets.workers import workers_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Set
    from io import FileIO
    from types import ModuleType

    from pydantic_ai.tools import ToolDefinition

    from llmdo.toolsets.report import Request


_OWN = re.compile(r"x(?:\.[A-Za-z0-9_-]+){2,}")
_DECLARATION = TypeAdapter(tuple[fields.ScopedCapability, ...])


def tool_digest(tool: ToolDefinition) -> str:
    """The digest of a tool as a model sees it: its name, its description and the schema of its parameters.

    The schema is not normalised: the oldest and the newest pydantic-ai that we allow write the same one.
    """
    return digest.of_data(
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    )


def declared(metadata: Mapping[str, object] | None, families: Iterable[str] = ()) -> tuple[str, ...] | None:
    """The capabilities that a tool's metadata declares, sorted; None if it declares none.

    `families` are the capabilities that extensions bring.

    Raises:
        LlmdoError: An entry is no capability, or they are not in a list.
    """
    if metadata is None:
        return None
    if misspelt := next(filter(means_capabilities, metadata), None):
        raise LlmdoError(f"unknown key `{misspelt}` in its metadata", hint=f"did you mean `{DECLARING}`?")
    if DECLARING not in metadata:
        return None
    written = metadata[DECLARING]
    if not isinstance(written, list | tuple | set | frozenset):
        raise LlmdoError(
            f"`capabilities` is of type `{type(written).__name__}`, not a list",
            hint='write it as in metadata={"capabilities": ["x.calc.cpu"]}',
        )
    for name in written:
        _require_known(name, {*VOCABULARY, *families})
    return tuple(sorted(set(written)))


def _require_known(text: object, vocabulary: Set[str]) -> None:
    try:
        _DECLARATION.validate_python((text,), strict=True)
    except ValidationError as error:
        raise LlmdoError(f"`{text}` is not a capability, perhaps with `:path` or `:folder/**`") from error
    name = Capability.parse(str(text)).name
    if name == UNDECLARED:
        raise LlmdoError(f"`{UNDECLARED}` is what the runtime raises and cannot be declared")
    if members := members_of(name, vocabulary):
        raise LlmdoError(
            f"`{name}` is a family, and no rule about a part of it would cover the tool",
            hint=f"name what the tool does: {', '.join(members)}",
        )
    if name not in vocabulary and not _OWN.fullmatch(name):
        raise LlmdoError(
            f"`{name}` is not a capability",
            hint=did_you_mean(name, vocabulary) or "one of your own is written `x.TOOLSET.NAME`",
        )


ToolDefinitions = dict[str, "ToolDefinition"]


async def inspect(request: Request) -> AsyncIterator[Event]:
    """The events of inspecting every requested toolset, module by module in order.

    A module that cannot be imported is reported once, and the others are still inspected.
    """
    root = Path(request.root)
    wanted: dict[str, set[str]] = {origin: set() for origin in request.modules}
    for reference in request.references.values():
        origin, _, name = reference.rpartition(":")
        wanted.setdefault(origin, set()).add(name)
    with Root.open(root) as files, Modules(root, files, request.code) as loaded:
        for origin, names in sorted(wanted.items()):
            yield Begun(work=f"importing `{origin}`")
            try:
                module = loaded.module(origin)
            except LlmdoError as error:
                yield _failed(error)
                continue
            if origin in request.modules:
                names |= set(toolsets_in(module))
                for unread in _unread_workers(loaded, origin, module):
                    yield _failed(unread)
            for name in sorted(names):
                yield Begun(work=f"listing the tools of `{origin}:{name}`")
                async for event in _outcome(loaded, f"{origin}:{name}", request):
                    yield event
    yield InspectionEnded()


def _unread_workers(loaded: Modules, origin: str, module: ModuleType) -> Iterator[LlmdoError]:
    """Errors for workers that the module has but its text does not show."""
    shown = outline(Source(origin, loaded.text(origin))).workers
    for name in workers_in(module).keys() - shown.keys():
        yield LlmdoError(
            f"`{origin}:{name}` is a worker that the text of `{origin}` does not show",
            hint=f"write `{name} = llmdo.Worker(...)` at the top level of it, with plain values",
            at=Location(origin),
        )


async def _outcome(loaded: Modules, reference: str, request: Request) -> AsyncIterator[Event]:
    deps = request.deps.get(reference)
    try:
        module = loaded.module(reference.rpartition(":")[0])
        value = loaded.load(reference)
        if isinstance(value, Agent):
            value = own_tools(adopted(reference, value, has_deps=deps is not None))
        if deps is not None:
            maker(deps, loaded.load(deps))
        yield InspectedToolset(
            reference=reference, facts=await _facts(reference, value, module, request.families)
        )
    except Problems as several:
        for error in several.problems:
            yield _failed(error)
    except LlmdoError as error:
        yield _failed(error)


async def _facts(
    reference: str, value: object, module: ModuleType, families: tuple[str, ...]
) -> ToolsetFacts:
    is_class = is_toolset_class(value)
    toolset = _made(reference, value) if is_toolset_class(value) else value
    if toolset is None and is_class:
        return ToolsetFacts(is_class=True, dynamic=True, tools={})
    if not isinstance(toolset, AbstractToolset):
        raise LlmdoError(
            f"`{reference}` is not a toolset: it is of type `{type(value).__name__}`", at=_location(reference)
        )
    definitions = await _definitions(reference, toolset)
    hook = callable(getattr(toolset, "get_capabilities", None))
    tools: dict[str, ToolFacts] = {}
    problems: list[LlmdoError] = []
    for name, definition in sorted((definitions or {}).items()):
        try:
            if probe := named_in(definition.metadata):
                probe_of(probe, toolset, module)
            tools[name] = ToolFacts(
                digest=tool_digest(definition),
                capabilities=declared(definition.metadata, families),
                hook=hook,
            )
        except LlmdoError as error:
            message = f"tool `{name}` of `{reference}`: {error.message}"
            problems.append(LlmdoError(message, hint=error.hint, at=_location(reference)))
    if problems:
        raise Problems(problems)
    return ToolsetFacts(is_class=is_class, dynamic=definitions is None, tools=tools)


def _made(reference: str, made_of: type[AbstractToolset[object]]) -> AbstractToolset[object] | None:
    """A toolset of a class without configuration; None if it needs one."""
    try:
        require_fit(made_of, {})
    except (TypeError, ValueError):
        return None
    try:
        return made_with(made_of, {})
    except Exception as error:
        if CONFIGURE in dir(made_of):  # which cannot say beforehand that it cannot do without
            return None
        raise LlmdoError(
            f"making a `{reference}` without configuration raised {sentence_of(error)}",
            hint="give its constructor a required parameter if it needs configuration",
            at=_location(reference),
        ) from error


async def _definitions(reference: str, toolset: AbstractToolset[object]) -> ToolDefinitions | None:
    """The tools of a toolset outside of any run; None if they depend on one."""
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    leaves: list[AbstractToolset[object]] = []
    try:
        toolset.apply(leaves.append)
        if any(isinstance(leaf, DynamicToolset) for leaf in leaves):
            return None
        tools = await toolset.get_tools(context)
    except SystemExit as error:
        raise LlmdoError(
            f"listing the tools of `{reference}` called sys.exit({error.code!r})", at=_location(reference)
        ) from error
    except Exception:  # a toolset that looks at the run may fail in any way where there is none
        return None
    return {name: tool.tool_def for name, tool in tools.items()}


def _location(reference: str) -> Location | None:
    path = reference.rpartition(":")[0]
    return Location(path) if path.endswith(".py") else None


def _failed(error: LlmdoError) -> Failed:
    at = error.at
    return Failed(
        message=error.message,
        hint=error.hint,
        path=at.path if at else None,
        line=at.span.line if at and at.span else None,
    )


async def _write(request: Request, report: FileIO) -> None:
    async for event in inspect(request):
        report.write(EVENT.dump_json(event) + b"\n")


def _unasked(model: models.Model | str, *_: object) -> models.Model:
    """A model for an agent that a module makes: there is no key here to make a real one, and none is asked."""
    return model if isinstance(model, models.Model) else TestModel()


def _main(request: str, report: str) -> None:
    models.infer_model = _unasked  # type: ignore[assignment]
    with Path(report).open("ab", buffering=0) as file:
        asyncio.run(_write(REQUEST.validate_json(Path(request).read_bytes()), file))
    os._exit(0)  # threads that the workspace's code has started must not keep this process


if __name__ == "__main__":
    _main(*sys.argv[1:])
