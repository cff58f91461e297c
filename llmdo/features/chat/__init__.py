"""Conversations with an entry at a terminal: each turn is a run; lines with a slash in front are commands."""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="chat",
    commands={"chat": "llmdo.features.chat.cli"},
    extras={"chat": "prompt_toolkit"},
    pages=("conversation.md",),
)
