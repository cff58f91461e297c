"""What is known of toolsets: of Python ones from importing or reading them, of MCP servers from asking them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llmdo.base.values import dataclass
from llmdo.graph.described import Definition, Identity  # noqa: TC001  # pydantic reads the annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool as its own code, or its server, describes it."""

    digest: str | None
    """Of the canonical JSON of name, description and parameter schema; None where nothing was imported."""
    capabilities: tuple[str, ...] | None
    """What its metadata declares; None where that is silent."""
    hook: bool
    """Whether its toolset has `get_capabilities`."""
    definition: Definition | None = None
    """What an MCP server says of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetFacts:
    """One toolset as its own code, or its server, describes it."""

    is_class: bool
    dynamic: bool
    """Whether its tools are known only in a run."""
    tools: Mapping[str, ToolFacts]
    identity: Identity | None = None
    """What an MCP server says of itself."""

    def tools_with(self, promised: Iterable[str]) -> list[tuple[str, ToolFacts]]:
        """The tools by name, sorted, and those that the manifest promises where they are known only in a run."""
        unseen = ToolFacts(digest=None, capabilities=None, hook=False)
        others = {name: unseen for name in promised if self.dynamic and name != "*"}
        return sorted({**others, **self.tools}.items())


Facts = Mapping[str, ToolsetFacts]
"""`FILE.py:ATTRIBUTE`, `package.module:ATTRIBUTE` or `mcp:NAME` to what is known of it."""
