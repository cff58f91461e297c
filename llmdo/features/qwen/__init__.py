"""Qwen Code: the session under `.qwen/settings.json`, and agents in Markdown."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = ".qwen/agents/*.md"
SETTINGS = ".qwen/settings.json"
FILES = (AGENTS, SETTINGS)

EXTENSION = Extension(
    name="qwen",
    formats={
        "qwen": ForeignFormat(
            FILES,
            "llmdo.features.qwen",
            "Qwen Code",
            below=FILES,
            few_tools="tools:` and below it `  - read_file`, `  - grep_search`, `  - glob",
        )
    },
)
