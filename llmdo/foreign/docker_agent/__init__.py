"""docker-agent: its YAML files."""

from __future__ import annotations

FILES = (
    "**/*.yaml", "**/*.yml", ".github/agents/**/*.yaml", ".github/agents/**/*.yml", ".agents/**/*.yaml",
    ".agents/**/*.yml",
)  # fmt: skip
