"""Cursor: the session under `.cursor`, its agents in Markdown, plugins, permissions of command line and editor."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = (".cursor/agents/**/*.md", ".cursor/agents/**/*.mdc", ".cursor/agents/**/*.markdown")
COMMAND_LINE = ".cursor/cli.json"
EDITOR = ".cursor/permissions.json"
SERVERS = ".cursor/mcp.json"
SANDBOX = ".cursor/sandbox.json"
HOOKS = ".cursor/hooks.json"
WORKTREES = ".cursor/worktrees.json"
PLUGINS = (".cursor-plugin/plugin.json", "**/.cursor-plugin/plugin.json")
_OF_A_START = (*AGENTS, COMMAND_LINE, EDITOR, SERVERS, SANDBOX, HOOKS, WORKTREES)
FILES = (*_OF_A_START, *PLUGINS)

EXTENSION = Extension(
    name="cursor",
    formats={
        "cursor": ForeignFormat(
            FILES,
            "llmdo.features.cursor",
            "Cursor",
            below=_OF_A_START,
            without_list="Cursor has no list of tools for an agent",
            finds_headers=True,
        )
    },
)
