"""A toolset with renamed tools: its prefix, `_` and their own names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import AbstractToolset, PrefixedToolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai import RunContext


def under(prefix: str, toolset: AbstractToolset[object]) -> AbstractToolset[object]:
    """`toolset` with the names of its tools prefixed; its `get_capabilities`, if any, still sees their own names."""
    kind = _Hooked if callable(getattr(toolset, "get_capabilities", None)) else PrefixedToolset
    return kind(toolset, prefix)


@dataclass
class _Hooked(PrefixedToolset[object]):
    """Passes on our hook, which pydantic-ai's wrapper does not know."""

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, object],
        ctx: RunContext[object],
        config: Mapping[str, object],
    ) -> object:
        """The answer of the wrapped toolset, asked about the tool by its own name."""
        own = name.removeprefix(f"{self.prefix}_")
        hook: Any = self.wrapped.get_capabilities  # type: ignore[attr-defined]
        return hook(own, tool_args, replace(ctx, tool_name=own), config)
