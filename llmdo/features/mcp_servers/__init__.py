"""The files in which clients list their MCP servers."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

FILES = (
    ".mcp.json", "*.mcp.json", "mcp.json", ".cursor/mcp.json", ".github/mcp.json", ".vscode/mcp.json",
    ".gemini/settings.json", "claude_desktop_config.json",
)  # fmt: skip

EXTENSION = Extension(
    name="mcp",
    formats={
        "mcp": ForeignFormat(
            FILES,
            "llmdo.features.mcp_servers",
            "MCP clients",
            below=(".mcp.json", ".vscode/mcp.json"),
            is_shared=True,
        )
    },
)
