"""Facts about toolsets: Python ones from importing or reading them, MCP servers from asking them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llmdo.base.values import dataclass
from llmdo.graph.described import Definition, Identity  # noqa: TC001  # pydantic reads the annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool as its own code, or its server, describes it."""

    digest: str | None
    """Of the canonical JSON of name, description and parameter schema; None if nothing was imported."""
    capabilities: tuple[str, ...] | None
    """The capabilities in its metadata; None if that is silent."""
    hook: bool
    """Whether its toolset has `get_capabilities`."""
    definition: Definition | None = None
    """Its description by an MCP server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetFacts:
    """One toolset as its own code, or its server, describes it."""

    is_class: bool
    dynamic: bool
    """Whether its tools are known only in a run."""
    tools: Mapping[str, ToolFacts]
    identity: Identity | None = None
    """The description of an MCP server by itself."""

    def tools_with(self, promised: Iterable[str]) -> list[tuple[str, ToolFacts]]:
        """The tools by name, sorted, with those that the manifest promises if they are known only in a run."""
        unseen = ToolFacts(digest=None, capabilities=None, hook=False)
        others = {name: unseen for name in promised if self.dynamic and name != "*"}
        return sorted({**others, **self.tools}.items())


Facts = Mapping[str, ToolsetFacts]
"""`FILE.py:ATTRIBUTE`, `package.module:ATTRIBUTE` or `mcp:NAME` to the facts about it."""
