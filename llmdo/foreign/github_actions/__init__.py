"""Workflows of GitHub Actions whose steps run an agent, such as claude-code-action."""

FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml")
