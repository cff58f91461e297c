"""What the tools of Cursor can do."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, WRITES, Line

_TOOLS = "https://cursor.com/docs/agent/tools"
_SECURITY = "https://cursor.com/docs/agent/security"
_AGENTS = "https://cursor.com/docs/agent/subagents"
_PERMISSIONS = "https://cursor.com/docs/cli/reference/permissions"
_MCP = "https://cursor.com/docs/context/mcp"

TABLE = (
    Line("Read", ("fs.read",), "allowed", "declared", _SECURITY),
    Line("Search", ("fs.list", "fs.read"), "allowed", "declared", _SECURITY),
    Line("Edit", EDITS, "allowed", "declared", _SECURITY),
    Line("Write", WRITES, "allowed", "declared", _SECURITY),
    Line("Delete", ("fs.delete",), "needs_approval", "declared", _SECURITY),
    Line("Shell", RUNS, "needs_approval", "open", _SECURITY),
    Line("Shell of a read-only agent", ("proc.exec.read",), "needs_approval", "open", _AGENTS),
    Line("WebFetch", FETCHES, "needs_approval", "declared", _PERMISSIONS),
    Line("WebSearch", SEARCHES, "needs_approval", "declared", _TOOLS),
    Line("Mcp", SERVES, "needs_approval", "open", _MCP),
    Line("Task", ("agent.delegate",), "allowed", "declared", _AGENTS),
)
"""Tools by the names that permissions have for them, and what is decided in a run mode that asks."""
