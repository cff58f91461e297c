"""Workflows of GitHub Actions whose steps run an agent, such as claude-code-action."""

from __future__ import annotations

from llmdo.extensions.spec import OTHERS_REFUSED, Extension, ForeignFormat

FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml")

EXTENSION = Extension(
    name="github-actions",
    needs=("claude", "codex", "gemini", "opencode"),
    formats={
        "github-actions": ForeignFormat(
            FILES,
            "llmdo.features.github_actions",
            "GitHub Actions",
            runs_others=True,
            hooks_of="claude",
            listed={
                "Bash": ("Bash(git log:*)", OTHERS_REFUSED),
                "WebFetch": ("WebFetch(domain:example.com)", OTHERS_REFUSED),
            },
        )
    },
)
