"""GitHub Agentic Workflows: Markdown under `.github/workflows`."""
