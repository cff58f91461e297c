"""Gemini CLI: sessions by `settings.json` and extensions, agents in Markdown."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

SETTINGS = ".gemini/settings.json"
AGENTS = ".gemini/agents/*.md"
MANIFEST = "gemini-extension.json"
EXTENSIONS = (MANIFEST, f"*/{MANIFEST}", f"*/*/{MANIFEST}", f".gemini/extensions/*/{MANIFEST}")
HOOKS = "hooks/hooks.json"
"""The hooks of an extension, in its folder."""
POLICIES = ".gemini/policies/*.toml"
FILES = (AGENTS, SETTINGS, *EXTENSIONS, POLICIES)

EXTENSION = Extension(
    name="gemini",
    formats={
        "gemini": ForeignFormat(
            FILES,
            "llmdo.features.gemini",
            "Gemini CLI",
            below=(AGENTS, SETTINGS, POLICIES),
            by_manifest=True,
            few_tools="tools: [read_file, grep_search, glob]",
            excludes="tools.exclude",
        )
    },
)
