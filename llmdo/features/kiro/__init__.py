"""Kiro: its session by `.kiro/settings/mcp.json`, `lsp.json` and hooks, and agents in JSON and Markdown."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = (".kiro/agents/**/*.json", ".kiro/agents/**/*.md")
SERVERS = ".kiro/settings/mcp.json"
LANGUAGE_SERVERS = ".kiro/settings/lsp.json"
HOOKS = (".kiro/hooks/*.json", ".kiro/hooks/*.hook")
FILES = (*AGENTS, SERVERS, LANGUAGE_SERVERS, *HOOKS)

EXTENSION = Extension(
    name="kiro",
    formats={
        "kiro": ForeignFormat(FILES, "llmdo.features.kiro", "Kiro", below=FILES, few_tools="tools: [read]")
    },
)
