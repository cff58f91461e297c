"""What a server of an MCP client can do."""

from __future__ import annotations

from llmdo.foreign.lines import SERVES, Line

_MCP = "https://modelcontextprotocol.io/docs/concepts/tools"

TABLE = (
    Line("SERVER", SERVES, "needs_approval", "open", _MCP),
    Line("SERVER with a url", (*SERVES, "net.connect"), "needs_approval", "open", _MCP),
)
"""What is decided is up to the client, which such a file does not name."""
