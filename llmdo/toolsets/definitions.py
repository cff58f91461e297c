"""The tools of the built-in toolsets as models see them, made once because that costs more than a call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_ai import RunContext


@dataclass(frozen=True, slots=True)
class Definitions:
    """The tools that a class of toolsets offers."""

    tools: Mapping[str, Tool[object]]

    def bound(
        self, toolset: AbstractToolset[object], ctx: RunContext[object], names: Iterable[str] | None = None
    ) -> dict[str, ToolsetTool[object]]:
        """The tools of one toolset of that class: those with these names, or all."""
        return {
            name: ToolsetTool(
                toolset=toolset,
                tool_def=self.tools[name].tool_def,
                max_retries=ctx.max_retries,
                args_validator=self.tools[name].function_schema.validator,
            )
            for name in (self.tools if names is None else names)
        }


@cache
def definitions_of(kind: type[AbstractToolset[object]], names: tuple[str, ...]) -> Definitions:
    """The definitions of the methods of `kind` with these names; models see their docstrings."""
    instance = object.__new__(kind)  # a method without `self`; it is never called
    return Definitions({name: Tool(getattr(instance, name), takes_ctx=False) for name in names})
