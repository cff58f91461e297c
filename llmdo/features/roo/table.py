"""The capabilities of Roo Code's tools, by the groups that modes name, and its built-in modes."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, RUNS, SERVES, Line

VERSION = "3.52.1"
"""The version of Roo Code whose source this follows."""
_TOOLS = "https://docs.roocode.com/advanced-usage/available-tools/tool-use-overview"
_MCP = "https://docs.roocode.com/features/mcp/using-mcp-in-roo"

GROUPS = {
    "read": ("read_file", "search_files", "list_files"),
    "edit": ("write_to_file",),
    "command": ("execute_command",),
    "mcp": (),
    "modes": (),
}
"""By group, the tools that stand for all of it; servers are those of the project, and every mode has `modes`."""
REMOVED = "browser"
"""A group of older versions, which this one leaves out of a mode."""
CALLING = "new_task"

TABLE = (
    Line("read_file", ("fs.read",), "needs_approval", "declared", _TOOLS),
    Line("search_files", ("fs.list", "fs.read"), "needs_approval", "declared", _TOOLS),
    Line("list_files", ("fs.list",), "needs_approval", "declared", _TOOLS),
    Line("write_to_file", EDITS, "needs_approval", "declared", _TOOLS),
    Line("execute_command", RUNS, "needs_approval", "open", _TOOLS),
    Line("use_mcp_tool", SERVES, "needs_approval", "open", _MCP),
    Line(CALLING, ("agent.delegate",), "needs_approval", "declared", _TOOLS),
)
"""What asks: everything, where a person has switched no approval on."""

BUILT_IN = {
    "architect": ("read", "edit", "mcp"),
    "ask": ("read", "mcp"),
    "code": ("read", "edit", "command", "mcp"),
    "debug": ("read", "edit", "command", "mcp"),
    "orchestrator": (),
}
"""The groups of the modes that are there in every project; of `architect`, `edit` is for Markdown."""
