"""Gemini CLI: sessions by `settings.json` and extensions, agents in Markdown."""

from __future__ import annotations

SETTINGS = ".gemini/settings.json"
AGENTS = ".gemini/agents/*.md"
EXTENSION = "gemini-extension.json"
EXTENSIONS = (EXTENSION, f"*/{EXTENSION}", f"*/*/{EXTENSION}", f".gemini/extensions/*/{EXTENSION}")
POLICIES = ".gemini/policies/*.toml"
FILES = (AGENTS, SETTINGS, *EXTENSIONS, POLICIES)
