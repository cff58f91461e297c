"""What tools and typed inputs import of `llm_do.runtime`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llm_do.runtime.args import AgentArgs, Attachment, PromptContent, PromptInput, PromptMessages, WorkerArgs

__all__ = [
    "AgentArgs", "Attachment", "CallContext", "EntrySpec", "PromptContent", "PromptInput", "PromptMessages",
    "ToolsetSpec", "WorkerArgs",
]  # fmt: skip

CallContext = Any
"""The type of `ctx.deps`."""


@dataclass
class ToolsetSpec:
    """A toolset that is made again for each agent."""

    factory: Callable[..., Any]


@dataclass
class EntrySpec:
    """A function that starts a run."""

    name: str
    main: Callable[..., Any]
    schema_in: Any = None
