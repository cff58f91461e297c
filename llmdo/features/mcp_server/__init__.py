"""Entries as the tools of an MCP server: `serving` speaks the protocol, `served` runs the requests of its clients.

`commands` offers commands that only read in the same way.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="mcp-server",
    commands={"serve": "llmdo.features.mcp_server.cli"},
    pages=("mcp.md",),
)
