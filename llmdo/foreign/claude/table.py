"""What the tools of Claude Code can do."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, WRITES, Line

_CLAUDE = "https://code.claude.com/docs/en/tools-reference"
_CLAUDE_AGENTS = "https://code.claude.com/docs/en/sub-agents"

TABLE = (
    Line("Read", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("NotebookRead", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("Grep", ("fs.list", "fs.read"), "allowed", "declared", _CLAUDE),
    Line("Glob", ("fs.list",), "allowed", "declared", _CLAUDE),
    Line("LS", ("fs.list",), "allowed", "declared", _CLAUDE),
    Line("LSP", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("Write", WRITES, "needs_approval", "declared", _CLAUDE),
    Line("Edit", EDITS, "needs_approval", "declared", _CLAUDE),
    Line("MultiEdit", EDITS, "needs_approval", "declared", _CLAUDE),
    Line("NotebookEdit", EDITS, "needs_approval", "declared", _CLAUDE),
    Line("Bash", RUNS, "needs_approval", "open", _CLAUDE),
    Line("PowerShell", RUNS, "needs_approval", "open", _CLAUDE),
    Line("Monitor", RUNS, "needs_approval", "open", _CLAUDE),
    Line("WebFetch", FETCHES, "needs_approval", "declared", _CLAUDE),
    Line("WebSearch", SEARCHES, "needs_approval", "declared", _CLAUDE),
    Line("ListMcpResourcesTool", ("mcp.call",), "allowed", "open", _CLAUDE),
    Line("ReadMcpResourceTool", ("data.untrusted", "mcp.call"), "allowed", "open", _CLAUDE),
    Line("mcp__SERVER__TOOL", ("data.untrusted", "mcp.call"), "needs_approval", "open", _CLAUDE),
    Line("Agent", ("agent.delegate",), "allowed", "declared", _CLAUDE_AGENTS),
    Line("Task", ("agent.delegate",), "allowed", "declared", _CLAUDE_AGENTS),
    *(
        Line(name, (), "allowed", "declared", _CLAUDE)
        for name in (
            "Artifact", "AskUserQuestion", "BashOutput", "CronCreate", "CronDelete", "CronList", "EnterPlanMode",
            "EnterWorktree", "ExitPlanMode", "ExitWorktree", "KillBash", "KillShell", "SendMessage", "Skill",
            "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
            "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch",
        )
    ),
)  # fmt: skip

INHERITED = (
    "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write",
)  # fmt: skip
"""The built-in tools with a capability that an agent has whose file names no tools."""
