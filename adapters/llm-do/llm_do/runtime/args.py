"""Typed inputs, which say themselves what their agent is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field


@dataclass(frozen=True)
class Attachment:
    """A file that is handed over."""

    path: str | Path


PromptContent = Any
"""Text or an attachment."""
PromptMessages = Sequence[Any]


class AgentArgs(BaseModel):
    """What an agent takes; `prompt_messages` says what its model is told."""

    def prompt_messages(self) -> list[PromptContent]:
        """The parts of the prompt, in order."""
        raise NotImplementedError


WorkerArgs = AgentArgs


class PromptInput(AgentArgs):
    """Text, and the paths of files."""

    input: str
    attachments: list[str] = Field(default_factory=list)

    def prompt_messages(self) -> list[PromptContent]:
        """The text, then the files."""
        return [self.input, *map(Attachment, self.attachments)]


def get_display_text(messages: PromptMessages) -> str:
    """The text of a prompt without its files."""
    return " ".join(part for part in messages if isinstance(part, str)).strip() or "(no input)"


def has_attachments(messages: PromptMessages) -> bool:
    """Whether files are handed over."""
    return any(isinstance(part, Attachment) for part in messages)
