"""opencode: agents in Markdown and JSON."""
