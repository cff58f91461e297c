"""Skills: folders with a `SKILL.md`, which clients of several makers load alike."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

HEEDING = (".agents", ".github")
"""Folders of skills whose `allowed-tools` GitHub Copilot heeds; `.claude/skills` is of the format of Claude Code."""
UNHEEDED = (
    ".codex", ".continue", ".cursor", ".factory", ".gemini", ".goose", ".kiro", ".opencode", ".qwen", ".roo",
    ".windsurf",
)  # fmt: skip
"""Folders of clients that load skills and are not known to heed `allowed-tools`."""
COLLECTION = "skills/**/SKILL.md"
"""Skills to install from, of which no client is known: another place decides who heeds what."""
FILES = (*(f"{home}/skills/**/SKILL.md" for home in (*HEEDING, *UNHEEDED)), COLLECTION)

EXTENSION = Extension(
    name="skills",
    formats={
        "skills": ForeignFormat(
            FILES,
            "llmdo.features.skills",
            "skills",
            called="skill",
            in_folders=True,
            below=(".agents/skills/*/SKILL.md",),
            is_shared=True,
        )
    },
)
