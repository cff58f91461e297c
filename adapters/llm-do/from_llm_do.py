"""Toolsets and functions that were written for llm-do, as llmdo takes them. It is yours: change what you like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from inspect import isawaitable, signature
from pathlib import Path
from typing import Any

from llm_do.runtime import PromptInput
from pydantic_ai import RunContext, toolsets
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset

WORKSPACE = Path(__file__).parent


class FunctionToolset(toolsets.FunctionToolset[Any]):
    """As tools of llm-do know it: `tool` takes functions with a context and without one."""

    def tool(self, func: Any = None, /, **options: Any) -> Any:
        """Registers a tool; a decorator, with options or without."""
        if func is None:
            return lambda function: self.tool(function, **options)
        self.add_function(func, **options)
        return func


class Calls:
    """What the tools see as `ctx.deps`: it calls the agents of their project, each by its gate."""

    def __init__(self, runtime: Any, agents: Mapping[str, str], ctx: RunContext[Any] | None = None) -> None:
        self._runtime = runtime
        self._agents = agents
        self._ctx = ctx

    async def call_agent(self, agent: str, input_data: Any) -> str:
        """The answer of an agent, called by the name that it has in its project."""
        given, files = _given(input_data)
        return await self._runtime.call_agent(self._agents.get(agent, agent), given, self._ctx, files)


def offered(definition: Any, agents: Mapping[str, str]) -> type[AbstractToolset[Any]]:
    """The class of a toolset that llm-do knows as `definition`; one is made for every call of an agent.

    Where that is a class, it takes the configuration of a header as it does with llm-do.
    """

    class Offered(WrapperToolset[Any]):
        def __init__(self, config: Mapping[str, Any]) -> None:
            super().__init__(_made(definition, config))

        @classmethod
        def configure(cls, config: Mapping[str, Any]) -> AbstractToolset[Any]:
            return cls(config)

        async def call_tool(
            self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any
        ) -> Any:
            calls = Calls(ctx.deps, agents, ctx)
            return await super().call_tool(name, tool_args, replace(ctx, deps=calls), tool)

    return Offered


async def started(
    function: Callable[[Any, Any], Awaitable[Any]], runtime: Any, text: str, agents: Mapping[str, str]
) -> str:
    """What a function of llm-do that starts a run answers."""
    return str(await function(PromptInput(input=text), Calls(runtime, agents)))


def _made(definition: Any, config: Mapping[str, Any]) -> AbstractToolset[Any]:
    if isinstance(definition, type) and issubclass(definition, AbstractToolset):
        return definition(**({"config": config} if "config" in signature(definition).parameters else config))
    if config:
        raise TypeError(f"{definition} takes no configuration")
    if isinstance(definition, AbstractToolset):
        return definition
    if isinstance(definition, list):
        return FunctionToolset(definition)
    factory = getattr(definition, "factory", definition)
    made = factory(None) if signature(factory).parameters else factory()
    if isawaitable(made) or not isinstance(made, AbstractToolset):
        raise TypeError(f"{factory} does not give a toolset where it is called")
    return made


def _given(input_data: Any) -> tuple[Any, list[str]]:
    """What an agent is told, and the files that it is handed."""
    data = input_data.model_dump() if isinstance(input_data, PromptInput) else input_data
    if (
        isinstance(data, Mapping)
        and isinstance(data.get("input"), str)
        and not data.keys() - {"input", "attachments"}
    ):
        return data["input"], [_path(path) for path in data.get("attachments") or ()]
    return data, []


def _path(path: str) -> str:
    """A path as the workspace has it."""
    absolute = Path(path)
    return absolute.relative_to(WORKSPACE).as_posix() if absolute.is_relative_to(WORKSPACE) else path
