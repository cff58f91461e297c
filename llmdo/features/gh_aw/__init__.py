"""GitHub Agentic Workflows: Markdown under `.github/workflows`."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

FILES = (".github/workflows/*.md", "workflows/*.md")

EXTENSION = Extension(
    name="gh-aw",
    formats={"gh-aw": ForeignFormat(FILES, "llmdo.features.gh_aw", "GitHub Agentic Workflows")},
)
