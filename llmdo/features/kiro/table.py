"""The capabilities of Kiro's tools, by the names that hooks know them by."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, Line
from llmdo.foreign.team import capability_of

VERSION = "IDE 1.0, CLI 3.0"
"""The versions whose documentation this follows; agents of CLI 2 are read as well."""
_TOOLS = "https://kiro.dev/docs/cli/reference/built-in-tools/"
_CODE = "https://kiro.dev/docs/cli/code-intelligence/"
"""Of which `pattern_rewrite` and the renaming of a symbol change files."""
_AUTOPILOT = "https://kiro.dev/docs/chat/autopilot"
_AGENTS = "https://kiro.dev/docs/custom-agents/configuration-reference/"
_MCP = "https://kiro.dev/docs/mcp/configuration"

TABLE = (
    Line("fs_read", ("fs.list", "fs.read"), "allowed", "declared", _TOOLS),
    Line("glob", ("fs.list",), "allowed", "declared", _TOOLS),
    Line("grep", ("fs.list", "fs.read"), "allowed", "declared", _TOOLS),
    Line("fs_write", EDITS, "allowed", "declared", _AUTOPILOT),
    Line("code", EDITS, "allowed", "declared", _CODE),
    Line("execute_bash", RUNS, "needs_approval", "open", _TOOLS),
    Line("use_aws", (capability_of("aws"), "net.connect:amazonaws.com"), "needs_approval", "open", _TOOLS),
    Line("web_fetch", FETCHES, "needs_approval", "declared", _TOOLS),
    Line("web_search", SEARCHES, "needs_approval", "declared", _TOOLS),
    Line("subagent", ("agent.delegate",), "needs_approval", "declared", _AGENTS),
    Line("SERVER", SERVES, "needs_approval", "open", _MCP),
    *(
        Line(name, (), "allowed", "declared", _TOOLS)
        for name in ("introspect", "knowledge", "report_issue", "session", "thinking", "todo_list")
    ),
)
"""With the decisions of its editor in Autopilot, its first mode, which asks about no edit."""

NAMES = {
    "fs_read": ("read",),
    "fs_write": ("write",),
    "execute_bash": ("execute_cmd", "shell"),
    "use_aws": ("aws",),
    "web_fetch": ("web",),
    "web_search": ("web",),
    "subagent": ("agent_crew", "crew", "delegate", "use_subagent"),
    "report_issue": ("report",),
    "todo_list": ("todo",),
}
"""By tool, its other names, and the tags that stand for it."""
