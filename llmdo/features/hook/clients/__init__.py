"""The clients, a module each, which have everything about that client and know of no other."""

from __future__ import annotations

NAMES = ("claude", "codex", "copilot", "gemini", "opencode")
