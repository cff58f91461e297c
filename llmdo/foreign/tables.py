"""What the tools of each format can do: data, a source for every line. `llmdo explain --from FORMAT` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from llmdo.policy.authority import Decision
    from llmdo.reach.shapes import Assurance


@dataclass(frozen=True, slots=True)
class Line:
    """What one tool can do, and what its format decides about it where nobody says anything."""

    tool: str
    capabilities: tuple[str, ...]
    decision: Decision
    assurance: Assurance
    """Open where it starts programs or servers that nothing limits."""
    source: str
    """Where that is documented."""


WRITES = ("fs.write", "fs.write.protected")
EDITS = ("fs.read", *WRITES)
RUNS = ("proc.exec.unlisted",)
FETCHES = ("data.untrusted", "net.connect")
SEARCHES = ("data.untrusted", "net.search")

_CLAUDE = "https://code.claude.com/docs/en/tools-reference"
_CLAUDE_AGENTS = "https://code.claude.com/docs/en/sub-agents"

CLAUDE = (
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

CLAUDE_INHERITED = (
    "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write",
)  # fmt: skip
"""The built-in tools with a capability that an agent has whose file names no tools."""

_DOCKER = "https://docs.docker.com/ai/docker-agent/tools"
_DOCKER_CODE = "https://github.com/docker/docker-agent/tree/main/pkg/tools/builtin"
_RUNS_OWN = ("proc.exec",)

DOCKER_AGENT = (
    Line("filesystem.read_file", ("fs.read",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.read_multiple_files", ("fs.read",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.search_files_content", ("fs.list", "fs.read"), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.list_directory", ("fs.list",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.directory_tree", ("fs.list",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.write_file", WRITES, "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.edit_file", EDITS, "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.create_directory", ("fs.write",), "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.remove_directory", ("fs.delete",), "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("file.read_file", ("fs.read",), "allowed", "declared", f"{_DOCKER}/file/"),
    Line("file.write_file", WRITES, "needs_approval", "declared", f"{_DOCKER}/file/"),
    Line("file.edit_file", EDITS, "needs_approval", "declared", f"{_DOCKER}/file/"),
    Line("git.git", ("fs.read",), "allowed", "declared", f"{_DOCKER}/git/"),
    Line("shell.shell", RUNS, "needs_approval", "open", f"{_DOCKER}/shell/"),
    Line("shell.run_background_job", RUNS, "needs_approval", "open", f"{_DOCKER}/shell/"),
    Line("background_jobs.run_background_job", RUNS, "needs_approval", "open", f"{_DOCKER}/background-jobs/"),
    Line("script.SCRIPT", _RUNS_OWN, "needs_approval", "open", f"{_DOCKER}/script/"),
    Line("fetch.fetch", FETCHES, "needs_approval", "declared", f"{_DOCKER}/fetch/"),
    Line("api.API", FETCHES, "allowed", "declared", f"{_DOCKER}/api/"),
    Line("openapi.OPERATION", FETCHES, "allowed", "declared", f"{_DOCKER}/openapi/"),
    Line("open_url.open_url", ("net.connect",), "needs_approval", "declared", f"{_DOCKER}/open-url/"),
    Line("webhook.webhook", ("net.connect",), "needs_approval", "declared", f"{_DOCKER}/webhook/"),
    Line("a2a.AGENT", FETCHES, "needs_approval", "open", f"{_DOCKER}/a2a/"),
    Line("mcp.TOOL", ("data.untrusted", "mcp.call"), "allowed", "open", f"{_DOCKER}/mcp/"),
    Line(
        "mcp_catalog.mcp_catalog", (*FETCHES, "mcp.call", "mcp.start"), "needs_approval", "open",
        f"{_DOCKER}/mcp-catalog/",
    ),
    Line("lsp.lsp_hover", ("fs.read",), "allowed", "open", f"{_DOCKER}/lsp/"),
    Line("lsp.lsp_rename", EDITS, "needs_approval", "open", f"{_DOCKER}/lsp/"),
    Line("lsp.lsp_format", EDITS, "needs_approval", "open", f"{_DOCKER}/lsp/"),
    Line("rag.rag", ("fs.read",), "allowed", "declared", f"{_DOCKER}/rag/"),
    *(
        Line(f"{kind}.{kind}", (), "allowed", "declared", _DOCKER_CODE)
        for kind in (
            "background_agents", "environment", "handoff", "memory", "model_picker", "plan", "scheduler",
            "session_context", "tasks", "think", "todo", "transfer_task", "user_prompt",
        )
    ),
)  # fmt: skip
"""Each tool after the `type` of its toolset; in capitals what a file names. Tools that say that they only read are not
asked about, and a server says so of its own."""

_LLM_DO = "https://github.com/zby/llm-do/blob/main/docs/reference.md"

LLM_DO = (
    Line("filesystem_project", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_project.write", EDITS, "needs_approval", "declared", _LLM_DO),
    Line("filesystem_cwd", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_cwd.write", EDITS, "needs_approval", "declared", _LLM_DO),
    Line("filesystem_cwd_ro", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_project_ro", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("shell_readonly", ("fs.read", "proc.exec.read"), "allowed", "open", _LLM_DO),
    Line("shell_file_ops", ("fs.read", "proc.exec.read"), "allowed", "open", _LLM_DO),
    Line("shell_file_ops.write", (*WRITES, *_RUNS_OWN), "needs_approval", "open", _LLM_DO),
    Line("shell", RUNS, "needs_approval", "open", _LLM_DO),
    Line("dynamic_agents", ("x.dynamic_agents.any",), "needs_approval", "declared", _LLM_DO),
    Line("server_side.web_search", SEARCHES, "allowed", "declared", _LLM_DO),
    Line("server_side.web_fetch", FETCHES, "allowed", "declared", _LLM_DO),
    Line("server_side.code_execution", ("net.connect",), "allowed", "declared", _LLM_DO),
    Line("server_side.image_generation", (), "allowed", "declared", _LLM_DO),
)
"""Toolsets; after a point the part that asks. What is made by a project's own Python raises `x.NAME.any`."""

_OPENCODE = "https://opencode.ai/docs/permissions"

OPENCODE = (
    Line("read", ("fs.read",), "allowed", "declared", _OPENCODE),
    Line("edit", EDITS, "allowed", "declared", _OPENCODE),
    Line("glob", ("fs.list",), "allowed", "declared", _OPENCODE),
    Line("grep", ("fs.list", "fs.read"), "allowed", "declared", _OPENCODE),
    Line("list", ("fs.list",), "allowed", "declared", _OPENCODE),
    Line("bash", RUNS, "allowed", "open", _OPENCODE),
    Line("lsp", ("fs.read",), "allowed", "declared", _OPENCODE),
    Line("webfetch", FETCHES, "allowed", "declared", _OPENCODE),
    Line("websearch", SEARCHES, "allowed", "declared", _OPENCODE),
    Line("codesearch", SEARCHES, "allowed", "declared", _OPENCODE),
    Line(
        "SERVER_TOOL",
        ("data.untrusted", "mcp.call"),
        "allowed",
        "open",
        "https://opencode.ai/docs/mcp-servers",
    ),
    Line("task", ("agent.delegate",), "allowed", "declared", _OPENCODE),
    *(
        Line(name, (), "allowed", "declared", _OPENCODE)
        for name in ("doom_loop", "external_directory", "question", "skill", "todoread", "todowrite")
    ),
)
"""Tools by the keys of `permission`; whatever no rule names is allowed."""

_GH_AW = "https://github.github.com/gh-aw/reference/tools/"
_GH_AW_OUTPUTS = "https://github.github.com/gh-aw/reference/safe-outputs/"
_OF_A_SERVER = ("data.untrusted", "mcp.call")

GH_AW = (
    Line("bash", ("fs.read", "proc.exec.read"), "allowed", "open", _GH_AW),
    Line("bash: COMMAND", ("fs.read", *_RUNS_OWN), "allowed", "open", _GH_AW),
    Line("bash: *", RUNS, "allowed", "open", _GH_AW),
    Line("edit", EDITS, "allowed", "declared", _GH_AW),
    Line("github", ("data.untrusted", "x.github.read"), "allowed", "declared", _GH_AW),
    Line("github, read-only: false", (*_OF_A_SERVER, "net.connect"), "allowed", "open", _GH_AW),
    Line("linear", (*_OF_A_SERVER, "net.connect"), "allowed", "open", _GH_AW),
    Line("jira", (*_OF_A_SERVER, "net.connect"), "allowed", "open", _GH_AW),
    Line("web-fetch", FETCHES, "allowed", "declared", _GH_AW),
    Line("web-search", SEARCHES, "allowed", "declared", _GH_AW),
    Line("playwright", (*FETCHES, "mcp.call"), "allowed", "open", _GH_AW),
    Line("qmd", ("fs.read",), "allowed", "declared", _GH_AW),
    Line("serena", ("fs.read", "mcp.call"), "allowed", "open", _GH_AW),
    Line("agentic-workflows", ("data.untrusted", "mcp.call"), "allowed", "open", _GH_AW),
    Line("mcp-servers.SERVER", _OF_A_SERVER, "allowed", "open", _GH_AW),
    Line("safe-outputs.OUTPUT", ("net.connect",), "allowed", "declared", _GH_AW_OUTPUTS),
    Line(
        "safe-outputs.assign-to-agent", ("agent.delegate", "net.connect"), "allowed", "open", _GH_AW_OUTPUTS
    ),
    *(
        Line(name, (), "allowed", "declared", _GH_AW)
        for name in ("cache-memory", "cli-proxy", "drive-memory", "repo-memory", "startup-timeout", "timeout")
    ),
)
"""A workflow runs unattended: whatever it has runs without a question.

Without a word in its file it has `github`, which reads, and in its sandbox `edit` and `bash: *`.
"""

_MCP = "https://modelcontextprotocol.io/docs/concepts/tools"

MCP = (
    Line("SERVER", _OF_A_SERVER, "needs_approval", "open", _MCP),
    Line("SERVER with a url", (*_OF_A_SERVER, "net.connect"), "needs_approval", "open", _MCP),
)
"""What is decided is up to the client, which such a file does not name."""

TABLES: dict[str, tuple[Line, ...]] = {
    "claude": CLAUDE,
    "docker-agent": DOCKER_AGENT,
    "gh-aw": GH_AW,
    "llm-do": LLM_DO,
    "mcp": MCP,
    "opencode": OPENCODE,
}
"""Each format's table."""
