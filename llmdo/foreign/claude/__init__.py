"""Claude Code: agents, permissions and servers."""

from __future__ import annotations

AGENTS = (".claude/agents/**/*.md", "agents/**/*.md", "plugins/*/agents/**/*.md", "*/agents/**/*.md")
"""Agents, of the project and of plugins."""
SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
FILES = (*AGENTS, *SETTINGS)
