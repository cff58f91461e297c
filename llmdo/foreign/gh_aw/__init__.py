"""GitHub Agentic Workflows: Markdown under `.github/workflows`."""

from __future__ import annotations

FILES = (".github/workflows/*.md", "workflows/*.md")
