"""The capabilities of Claude Code's tools."""

from __future__ import annotations

from llmdo.foreign.lines import FETCHES, RUNS, SEARCHES, WRITES, Line

_CLAUDE = "https://code.claude.com/docs/en/tools-reference"
_CLAUDE_AGENTS = "https://code.claude.com/docs/en/sub-agents"
_CLAUDE_RULES = "https://code.claude.com/docs/en/permissions#read-only-commands"
_CLAUDE_MODES = (
    "https://code.claude.com/docs/en/permission-modes#auto-approve-file-edits-with-acceptedits-mode"
)

VERSION = "2.1.332"
"""The Claude Code whose tools these are."""
READ_ONLY = Line("Bash (only reads)", ("fs.list", "fs.read"), "allowed", "open", _CLAUDE_RULES)
"""The commands that Claude Code knows to only read: they never ask."""
FILING = Line("Bash (files)", ("fs.delete", "fs.write", "proc.exec"), "needs_approval", "open", _CLAUDE_MODES)
"""`mkdir`, `touch`, `rm`, `rmdir`, `mv`, `cp` and `sed`, which mode `acceptEdits` allows."""
_DESIGNS = ("data.untrusted", "fs.read", "net.connect:claude.ai")
_OF_CLAUDE_AI = ("net.connect:claude.ai",)
"""What shows nothing to anybody but Anthropic, and whom its user lets look."""

# One that edits reads nothing by itself: of a file that its agent has not read by `Read` it only says so (2.1.328).
TABLE = (
    Line("Read", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("NotebookRead", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("Grep", ("fs.list", "fs.read"), "allowed", "declared", _CLAUDE),
    Line("Glob", ("fs.list",), "allowed", "declared", _CLAUDE),
    Line("LS", ("fs.list",), "allowed", "declared", _CLAUDE),
    Line("LSP", ("fs.read",), "allowed", "declared", _CLAUDE),
    Line("Write", WRITES, "needs_approval", "declared", _CLAUDE),
    Line("Edit", WRITES, "needs_approval", "declared", _CLAUDE),
    Line("MultiEdit", WRITES, "needs_approval", "declared", _CLAUDE),
    Line("NotebookEdit", WRITES, "needs_approval", "declared", _CLAUDE),
    Line("Bash", RUNS, "needs_approval", "open", _CLAUDE),
    READ_ONLY,
    FILING,
    Line("PowerShell", RUNS, "needs_approval", "open", _CLAUDE),
    Line("Monitor", RUNS, "needs_approval", "open", _CLAUDE),
    Line("WebFetch", FETCHES, "needs_approval", "declared", _CLAUDE),
    Line("WebSearch", SEARCHES, "needs_approval", "declared", _CLAUDE),
    Line("ListMcpResourcesTool", ("mcp.call",), "allowed", "open", _CLAUDE),
    Line("ListMcpResources", ("mcp.call",), "allowed", "open", _CLAUDE),
    Line("ReadMcpResourceTool", ("data.untrusted", "mcp.call"), "allowed", "open", _CLAUDE),
    Line("ReadMcpResource", ("data.untrusted", "mcp.call"), "allowed", "open", _CLAUDE),
    Line("ReadMcpResourceDirTool", ("mcp.call",), "allowed", "open", _CLAUDE),
    Line("ReadMcpResourceDir", ("mcp.call",), "allowed", "open", _CLAUDE),
    Line("mcp__SERVER__TOOL", ("data.untrusted", "mcp.call"), "needs_approval", "open", _CLAUDE),
    Line("Agent", ("agent.delegate",), "allowed", "declared", _CLAUDE_AGENTS),
    Line("Task", ("agent.delegate",), "allowed", "declared", _CLAUDE_AGENTS),
    Line("Workflow", ("agent.delegate",), "allowed", "declared", _CLAUDE),
    Line("Artifact", _OF_CLAUDE_AI, "needs_approval", "declared", _CLAUDE),
    Line("RemoteTrigger", _OF_CLAUDE_AI, "allowed", "declared", _CLAUDE),
    Line("ShareOnboardingGuide", _OF_CLAUDE_AI, "needs_approval", "declared", _CLAUDE),
    Line("ClaudeDesign", _DESIGNS, "needs_approval", "declared", _CLAUDE),
    Line("DesignSync", _DESIGNS, "needs_approval", "declared", _CLAUDE),
    Line("ReadNotifications", ("data.untrusted",), "allowed", "declared", _CLAUDE),
    Line("Projects", ("fs.read", "net.connect:claude.ai"), "allowed", "declared", _CLAUDE),
    *(
        Line(name, (), "allowed", "declared", _CLAUDE)
        for name in (
            "AskUserQuestion", "BashOutput", "Brief", "CronCreate", "CronDelete", "CronList", "EndConversation",
            "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "KillBash", "KillShell", "ListAgents",
            "ListPeers", "OfferChromeSetup", "ProposeGoal", "PushNotification", "ReportFindings", "ScheduleWakeup",
            "SendFeedback", "SendMessage", "SendUserFile", "SendUserMessage", "SetGoal", "ShowOnboardingRolePicker",
            "Skill", "SlashCommand", "StructuredOutput", "SubagentHandback", "TaskCreate", "TaskGet", "TaskList",
            "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite",
            "ToolSearch", "WaitForMcpServers", "propose_skills",
        )
    ),
)  # fmt: skip

LINES = {line.tool: line for line in TABLE}

INHERITED = (
    "Bash", "Edit", "Glob", "Grep", "Monitor", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write",
)  # fmt: skip
"""The built-in tools with a capability, which an agent has if its file names no tools."""
