"""Adopting a pydantic-ai agent as a worker: what of it goes behind the gate, and what has no place there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Location
from llmdo.toolsets.delegate import DelegateToolset

if TYPE_CHECKING:
    from collections.abc import Iterator

_USUAL = frozenset(type(usual) for usual in Agent().root_capability.capabilities)
"""What pydantic-ai itself adds to every agent."""


def adopted(reference: str, value: object) -> Agent[object, object]:
    """The agent that `reference`, FILE.py:NAME, names.

    Raises:
        LlmdoError: It is none, or something of it cannot be put behind the gate; all of that is told at once.
    """
    at = Location(reference.rpartition(":")[0])
    if not isinstance(value, Agent):
        raise LlmdoError(
            f"`{reference}` is no pydantic-ai agent: it is of type `{type(value).__name__}`", at=at
        )
    if problems := tuple(_problems(value)):
        raise LlmdoError(f"the agent `{reference}` cannot be adopted: {'; '.join(problems)}", at=at)
    return value


def own_tools(agent: Agent[object, object]) -> AbstractToolset[object]:
    """The tools that an agent brings along, those of its toolsets among them.

    Workers are not: it has them as every worker has its delegates, by their names in `[workers.NAME] toolsets`.
    """
    return CombinedToolset(
        [toolset for toolset in agent.toolsets if not isinstance(toolset, DelegateToolset)]
    )


def workers_of(agent: Agent[object, object]) -> frozenset[str]:
    """The names of the workers that an agent has as toolsets."""
    return frozenset(toolset.worker for toolset in agent.toolsets if isinstance(toolset, DelegateToolset))


_BODIES = ("extra_body", "bedrock_additional_model_requests_fields")
"""The settings that are sent as they are."""

_OF_TOOLS = re.compile(
    r"tool|mcp|plugin|function|connector|server|search|skill|retriev|data_?sources?|browser|interpreter|container",
    re.IGNORECASE,
)
"""In the key of a request's body, such as `mcp_servers` or `web_search_options`: what lets the provider act."""


def tools_in(settings: Any) -> Iterator[str]:
    """The keys of a model's settings that hold tools of the provider, before which no gate would stand."""
    for key, value in (settings or {}).items():
        if key.endswith(("_native_tools", "_builtin_tools")):
            yield key
        elif key in _BODIES and value:
            if not isinstance(value, Mapping):
                yield key
                continue
            yield from (f"{key}.{name}" for name in value if _OF_TOOLS.search(str(name)))


def _problems(agent: Agent[object, object]) -> Iterator[str]:
    if agent.deps_type not in (object, type(None)):
        yield f"it needs dependencies of type `{_named(agent.deps_type)}`, and what a run gives is its own"
    if not isinstance(agent.output_type, type):
        yield "its output is not one plain type, and an output function would be a tool that no gate sees"
    for capability in agent.root_capability.capabilities:
        if isinstance(capability, ToolSearch) and callable(capability.strategy):
            yield "its capability `ToolSearch` has a function of its own, which would run where no gate stands"
        if type(capability) not in _USUAL:
            yield (
                f"its capability `{type(capability).__name__}` can act where no gate stands "
                "(name provider-side tools in `native_tools`)"
            )
    if callable(agent.model_settings):
        yield "its model settings are made by a function"
    else:
        for key in tools_in(agent.model_settings):
            yield f"its model settings hold tools in `{key}`"
    leaves: list[AbstractToolset[object]] = []
    for toolset in agent.toolsets:
        toolset.apply(leaves.append)
    for leaf in leaves:
        if type(leaf).__module__.startswith("pydantic_ai.mcp"):
            yield "it has an MCP server as a toolset: declare that as `[toolsets.NAME] mcp` and name it in `toolsets`"


def _named(kind: object) -> str:
    return getattr(kind, "__name__", str(kind))
