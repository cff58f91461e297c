"""opencode: agents in Markdown and JSON."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = (".opencode/agent/**/*.md", ".opencode/agents/**/*.md")
SETTINGS = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
FILES = (*AGENTS, *SETTINGS)

EXTENSION = Extension(
    name="opencode",
    formats={
        "opencode": ForeignFormat(
            FILES,
            "llmdo.features.opencode",
            "opencode",
            below=(".opencode/agent/*.md", ".opencode/agents/*.md"),
        )
    },
)
