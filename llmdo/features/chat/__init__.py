"""Conversations with an entry at a terminal: each turn is a run, and a line that begins with a slash is a command."""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="chat",
    commands={"chat": "llmdo.features.chat.cli"},
    extras={"chat": "prompt_toolkit"},
    pages=("conversation.md",),
)
