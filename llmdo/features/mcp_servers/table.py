"""The capabilities of an MCP client's server."""

from __future__ import annotations

from llmdo.foreign.lines import SERVES, Line

_MCP = "https://modelcontextprotocol.io/docs/concepts/tools"

TABLE = (
    Line("SERVER", SERVES, "needs_approval", "open", _MCP),
    Line("SERVER with a url", (*SERVES, "net.connect"), "needs_approval", "open", _MCP),
)
"""The decisions are up to the client, which such a file does not name."""
