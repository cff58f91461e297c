"""Cursor: the session under `.cursor`, its agents in Markdown, permissions of its command line and its editor."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = (".cursor/agents/**/*.md", ".cursor/agents/**/*.mdc", ".cursor/agents/**/*.markdown")
COMMAND_LINE = ".cursor/cli.json"
EDITOR = ".cursor/permissions.json"
SERVERS = ".cursor/mcp.json"
SANDBOX = ".cursor/sandbox.json"
HOOKS = ".cursor/hooks.json"
WORKTREES = ".cursor/worktrees.json"
FILES = (*AGENTS, COMMAND_LINE, EDITOR, SERVERS, SANDBOX, HOOKS, WORKTREES)

EXTENSION = Extension(
    name="cursor",
    formats={
        "cursor": ForeignFormat(
            FILES,
            "llmdo.features.cursor",
            "Cursor",
            below=FILES,
            without_list="Cursor has no list of tools for an agent",
            finds_headers=True,
        )
    },
)
