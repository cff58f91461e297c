"""Adopting a pydantic-ai agent as a worker: the parts that go behind the gate, and those that are refused."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

from pydantic_ai import Agent, NativeOutput, PromptedOutput, TextOutput, ToolOutput, capabilities
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import BinaryContent
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Location
from llmdo.toolsets.delegate import DelegateToolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_USUAL = frozenset(type(usual) for usual in Agent().root_capability.capabilities)
"""The capabilities that pydantic-ai itself adds to every agent."""
_TELLING = (
    "Caching", "Citations", "IncludeToolReturnSchemas", "Instrumentation", "PrepareOutputTools", "PrepareTools",
    "ProcessHistory", "RaiseContentFilterError", "ReinjectSystemPrompt", "Thinking",
)  # fmt: skip
"""The capabilities that only observe or change the text for a model; the calls it then makes pass the gate."""
_CARRIED = _USUAL | {vars(capabilities)[name] for name in _TELLING if hasattr(capabilities, name)}
_CHOOSING = frozenset({"ModelFallback", "ResolveModelId", "SelectModel"})
"""The capabilities that let an agent ask a model unknown to the run."""


def adopted(reference: str, value: object, *, has_deps: bool) -> Agent[object, object]:
    """The agent named by `reference`, FILE.py:NAME; `has_deps` says whether a function makes its deps.

    Raises:
        LlmdoError: It is not an agent, or parts of it cannot be put behind the gate; all are reported at once.
    """
    at = Location(reference.rpartition(":")[0])
    if not isinstance(value, Agent):
        raise LlmdoError(
            f"`{reference}` is not a pydantic-ai agent: it is of type `{type(value).__name__}`", at=at
        )
    if problems := tuple(_problems(value, has_deps=has_deps)):
        raise LlmdoError(f"the agent `{reference}` cannot be adopted: {'; '.join(problems)}", at=at)
    return value


def maker(reference: str, value: object) -> Callable[[], object]:
    """The function named by `reference` that makes an agent's deps.

    Raises:
        LlmdoError: It cannot be called without arguments.
    """
    try:
        inspect.signature(value).bind()  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise LlmdoError(
            f"`{reference}` is to make deps, and cannot be called without arguments: {error}",
            at=Location(reference.rpartition(":")[0]),
        ) from error
    return cast("Callable[[], object]", value)


def own_tools(agent: Agent[object, object]) -> AbstractToolset[object]:
    """The tools that an agent brings along, including those of its toolsets.

    Its workers are left out: they are its delegates, named in `[workers.NAME] toolsets`.
    """
    return CombinedToolset(
        [toolset for toolset in agent.toolsets if not isinstance(toolset, DelegateToolset)]
    )


def workers_of(agent: Agent[object, object]) -> frozenset[str]:
    """The names of the workers that an agent has as toolsets."""
    return frozenset(toolset.worker for toolset in agent.toolsets if isinstance(toolset, DelegateToolset))


_BODIES = ("extra_body", "bedrock_additional_model_requests_fields")
"""The settings whose content is sent unchanged."""

_OF_TOOLS = re.compile(
    r"tool|mcp|plugin|function|connector|server|search|skill|retriev|data_?sources?|browser|interpreter|container",
    re.IGNORECASE,
)
"""Keys of a request's body, such as `mcp_servers` or `web_search_options`, that let the provider act."""


def tools_in(settings: Any) -> Iterator[str]:
    """The keys of a model's settings that hold tools of the provider, which bypass the gate."""
    for key, value in (settings or {}).items():
        if key.endswith(("_native_tools", "_builtin_tools")):
            yield key
        elif key in _BODIES and value:
            if not isinstance(value, Mapping):
                yield key
                continue
            yield from (f"{key}.{name}" for name in value if _OF_TOOLS.search(str(name)))


def problems_of_settings(settings: object) -> Iterator[str]:
    """The problems of the settings of an agent's model, as continuations of a sentence."""
    if callable(settings):
        yield "are made by a function"
    else:
        for key in tools_in(settings):
            yield f"hold tools in `{key}`"


def _problems(agent: Agent[object, object], *, has_deps: bool) -> Iterator[str]:
    if agent.deps_type not in (object, type(None)) and not has_deps:
        yield (
            f"it needs dependencies of type `{_named(agent.deps_type)}`, and what a run gives is its own "
            "(name a function that makes them, `deps` of its table)"
        )
    yield from _problems_of_output(agent.output_type)
    for capability in agent.root_capability.capabilities:
        yield from _problems_of_capability(capability)
    for problem in problems_of_settings(agent.model_settings):
        yield f"its model settings {problem}"
    leaves: list[AbstractToolset[object]] = []
    for toolset in agent.toolsets:
        toolset.apply(leaves.append)
    for leaf in leaves:
        if type(leaf).__module__.startswith("pydantic_ai.mcp"):
            yield "it has an MCP server as a toolset: declare that as `[toolsets.NAME] mcp` and name it in `toolsets`"


def _problems_of_capability(capability: object) -> Iterator[str]:
    name = type(capability).__name__
    if isinstance(capability, ToolSearch) and callable(capability.strategy):
        yield "its capability `ToolSearch` has a function of its own, which would run where no gate stands"
    if type(capability) in _CARRIED:
        return
    if name in _CHOOSING:
        yield f"its capability `{name}` asks models that the run does not know (name them in `[models]`)"
    else:
        yield (
            f"its capability `{name}` can act where no gate stands "
            "(name provider-side tools in `native_tools`)"
        )


def _problems_of_output(output: object) -> Iterator[str]:
    """The parts of an output that no worker can give, or that would run code outside the gate."""
    for choice in _choices(output):
        if isinstance(choice, TextOutput):
            yield _is_function(choice.output_function)
        elif not isinstance(choice, type):
            if choice is not None and get_origin(choice) is None:
                yield _is_function(choice)
        elif issubclass(choice, BinaryContent):
            yield "its output is a file, and what a worker gives is text or data"
        elif choice.__name__ == "PendingModelResponse":
            yield "its output may be a response that the provider still works on, and a run waits for none"
        elif any(map(callable, _stands_for(choice))):
            yield "a choice of its output calls a function, which would be a tool that no gate sees"


def _choices(output: object) -> Iterator[object]:
    several: tuple[object, ...] = ()
    match output:
        case ToolOutput():
            several = (output.output,)
        case NativeOutput() | PromptedOutput():
            several = (output.outputs,)
        case list() | tuple():
            several = tuple(output)
        case _ if get_origin(output) in (Union, UnionType):
            several = get_args(output)
        case _ if get_origin(output) is Annotated:
            several = get_args(output)[:1]
        case _ if hasattr(output, "__value__"):  # an alias
            several = (output.__value__,)
        case _:
            yield output
    for choice in several:
        yield from _choices(choice)


def _stands_for(output: type) -> Iterator[object]:
    """The values of a set of choices that pydantic-ai calls when its model picks one."""
    if hasattr(output, "keys_type") and isinstance(values := getattr(output, "values", None), Mapping):
        yield from values.values()


def _is_function(output: object) -> str:
    return f"its output `{_named(output)}` is a function, and an output function would be a tool that no gate sees"


def _named(kind: object) -> str:
    return getattr(kind, "__name__", str(kind))
