"""A toolset whose tools go by other names: its prefix, `_` and their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import AbstractToolset, PrefixedToolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai import RunContext


def under(prefix: str, toolset: AbstractToolset[object]) -> AbstractToolset[object]:
    """`toolset` with the names of its tools prefixed; its `get_capabilities`, where it has one, is asked as before."""
    kind = _Hooked if callable(getattr(toolset, "get_capabilities", None)) else PrefixedToolset
    return kind(toolset, prefix)


@dataclass
class _Hooked(PrefixedToolset[object]):
    """pydantic-ai passes on what it knows of a toolset, and the hook is ours."""

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, object],
        ctx: RunContext[object],
        config: Mapping[str, object],
    ) -> object:
        """What the wrapped toolset says, asked about the tool by its own name."""
        own = name.removeprefix(f"{self.prefix}_")
        hook: Any = self.wrapped.get_capabilities  # type: ignore[attr-defined]
        return hook(own, tool_args, replace(ctx, tool_name=own), config)
