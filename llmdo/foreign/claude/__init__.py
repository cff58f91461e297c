"""Claude Code: agents, permissions and servers."""
