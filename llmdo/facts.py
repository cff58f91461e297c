"""What is known of Python toolsets from importing them, or, in part, from reading their modules."""

from __future__ import annotations

from collections.abc import Mapping

from llmdo.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool as its own code describes it."""

    digest: str | None
    """Of the canonical JSON of name, description and parameter schema; None where nothing was imported."""
    capabilities: tuple[str, ...] | None
    """What its metadata declares; None where that is silent."""
    hook: bool
    """Whether its toolset has `get_capabilities`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetFacts:
    """One toolset as its own code describes it."""

    is_class: bool
    dynamic: bool
    """Whether its tools are known only in a run."""
    tools: Mapping[str, ToolFacts]


Facts = Mapping[str, ToolsetFacts]
"""`FILE.py:ATTRIBUTE` or `package.module:ATTRIBUTE` to what is known of it."""
