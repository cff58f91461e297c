"""The capabilities of Cursor's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, WRITES, Line

_TOOLS = "https://cursor.com/docs/agent/tools"
_SECURITY = "https://cursor.com/docs/agent/security"
_MODES = "https://cursor.com/docs/agent/security/run-modes"
_AGENTS = "https://cursor.com/docs/agent/subagents"
_PERMISSIONS = "https://cursor.com/docs/cli/reference/permissions"
_MCP = "https://cursor.com/docs/context/mcp"

TABLE = (
    Line("Read", ("fs.read",), "allowed", "declared", _SECURITY),
    Line("Search", ("fs.list", "fs.read"), "allowed", "declared", _SECURITY),
    Line("Edit", EDITS, "allowed", "declared", _SECURITY),
    Line("Write", WRITES, "allowed", "declared", _SECURITY),
    Line("Delete", ("fs.delete",), "allowed", "declared", _MODES),
    Line("Shell", RUNS, "allowed", "open", _MODES),
    Line("Shell of a read-only agent", ("proc.exec.read",), "allowed", "open", _AGENTS),
    Line("WebFetch", FETCHES, "allowed", "declared", _PERMISSIONS),
    Line("WebSearch", SEARCHES, "allowed", "declared", _TOOLS),
    Line("Mcp", SERVES, "allowed", "open", _MCP),
    Line("Task", ("agent.delegate",), "allowed", "declared", _AGENTS),
)
"""Tools as permissions name them, with the decisions of Auto-review, the editor's first run mode."""
