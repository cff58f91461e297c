"""opencode: agents in Markdown and JSON."""

from __future__ import annotations

AGENTS = (".opencode/agent/**/*.md", ".opencode/agents/**/*.md")
SETTINGS = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
FILES = (*AGENTS, *SETTINGS)
