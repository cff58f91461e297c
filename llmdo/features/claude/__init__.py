"""Claude Code: agents, permissions and servers."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = ("**/.claude/agents/**/*.md", "agents/**/*.md", "plugins/*/agents/**/*.md", "*/agents/**/*.md")
"""Agents, of the project, of projects within it, and of plugins."""
COMMANDS = ("**/.claude/commands/**/*.md", "**/.claude/skills/**/SKILL.md")
NESTED_SETTINGS = "**/.claude/settings.json"
SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
PLUGINS = ("**/.claude-plugin/plugin.json", "**/.claude-plugin/marketplace.json")
FILES = (*AGENTS, *COMMANDS, NESTED_SETTINGS, *SETTINGS, *PLUGINS)

EXTENSION = Extension(
    name="claude",
    formats={"claude": ForeignFormat(FILES, "llmdo.features.claude", "Claude Code")},
)
