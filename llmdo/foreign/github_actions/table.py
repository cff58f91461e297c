"""What agents in workflows can do: the tools of each, and what starts them and whose token they have."""

from __future__ import annotations

from llmdo.foreign.claude.table import TABLE as CLAUDE
from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, SEARCHES, SERVES, Line
from llmdo.foreign.opencode.table import TABLE as OPENCODE

_EVENTS = "https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows"
_TOKEN = "https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#permissions"  # noqa: S105
_INJECTION = "https://docs.github.com/en/actions/concepts/security/script-injections"
_CLAUDE_ACTION = "https://github.com/anthropics/claude-code-action/blob/main/docs/security.md"
_CLAUDE_TOOLS = "https://github.com/anthropics/claude-code-action/blob/main/docs/configuration.md"
_CODEX = "https://developers.openai.com/codex/agent-approvals-security"
_CODEX_ACTION = "https://github.com/openai/codex-action/blob/main/action.yml"
_GEMINI = "https://github.com/google-gemini/gemini-cli/blob/main/docs/reference/configuration.md"
_GEMINI_ACTION = "https://github.com/google-github-actions/run-gemini-cli/blob/main/action.yml"
_COPILOT = "https://docs.github.com/en/copilot/how-tos/copilot-cli/use-copilot-cli/allowing-tools"
_CURSOR = "https://cursor.com/docs/cli/headless"

READS_GITHUB = ("data.untrusted", "x.github.read")

_CLAUDE_LINES = {line.tool: line for line in CLAUDE}
CLAUDE_TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write")
"""The tools of Claude Code that a session in a workflow has, as far as something allows them."""

TABLE = (
    Line("on.EVENT", ("data.untrusted",), "allowed", "declared", _EVENTS),
    Line("on.workflow_call", ("data.untrusted",), "allowed", "declared", _EVENTS),
    Line("run: ${{ TEXT OF A STRANGER }}", ("data.untrusted", *RUNS), "allowed", "open", _INJECTION),
    Line("checkout of a pull request", ("data.untrusted",), "allowed", "declared", _CLAUDE_ACTION),
    Line("permissions.SCOPE: write", ("net.connect", "x.github.SCOPE-write"), "allowed", "declared", _TOKEN),
    Line("permissions.SCOPE: read", READS_GITHUB, "allowed", "declared", _TOKEN),
    Line("permissions, where no file says them", ("net.connect", "x.github.any"), "allowed", "open", _TOKEN),
    Line("env.SECRET", ("secret.read",), "allowed", "declared", _TOKEN),
    *(
        Line(
            f"claude: {name}",
            _CLAUDE_LINES[name].capabilities,
            "blocked" if _CLAUDE_LINES[name].decision == "needs_approval" else "allowed",
            _CLAUDE_LINES[name].assurance,
            _CLAUDE_LINES[name].source,
        )
        for name in CLAUDE_TOOLS
    ),
    Line(
        "claude: git push", ("net.connect", "x.github.contents-write"), "blocked", "declared", _CLAUDE_ACTION
    ),
    Line("claude: gh", ("net.connect", "x.github.SCOPE-write"), "blocked", "declared", _CLAUDE_ACTION),
    Line("claude: mcp__github__TOOL", (*SERVES, "x.github.read"), "blocked", "declared", _CLAUDE_TOOLS),
    Line("claude: mcp__SERVER__TOOL", SERVES, "blocked", "open", _CLAUDE_TOOLS),
    Line("codex: sandbox read-only", ("fs.read", "x.codex.sandboxed"), "allowed", "declared", _CODEX_ACTION),
    Line(
        "codex: sandbox workspace-write",
        ("fs.read", "fs.write", "x.codex.sandboxed"),
        "allowed",
        "declared",
        _CODEX_ACTION,
    ),
    Line("codex: sandbox danger-full-access", RUNS, "allowed", "open", _CODEX_ACTION),
    Line("codex: network_access", ("net.connect",), "blocked", "declared", _CODEX),
    Line("codex: web_search", SEARCHES, "allowed", "declared", _CODEX),
    Line("gemini: read_file", ("fs.read",), "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: read_many_files", ("fs.read",), "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: grep_search", ("fs.list", "fs.read"), "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: glob", ("fs.list",), "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: list_directory", ("fs.list",), "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: write_file", EDITS, "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: replace", EDITS, "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: run_shell_command", RUNS, "allowed", "open", _GEMINI_ACTION),
    Line("gemini: run_shell_command(COMMAND)", RUNS_OWN, "allowed", "open", _GEMINI),
    Line("gemini: web_fetch", FETCHES, "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: google_web_search", SEARCHES, "allowed", "declared", _GEMINI_ACTION),
    Line("gemini: mcpServers.SERVER", SERVES, "allowed", "open", _GEMINI),
    Line("copilot: read", ("fs.list", "fs.read"), "allowed", "declared", _COPILOT),
    Line("copilot: write", EDITS, "blocked", "declared", _COPILOT),
    Line("copilot: shell", RUNS, "blocked", "open", _COPILOT),
    Line("copilot: url", FETCHES, "blocked", "declared", _COPILOT),
    Line("copilot: github", READS_GITHUB, "allowed", "declared", _COPILOT),
    Line("copilot: SERVER", SERVES, "blocked", "open", _COPILOT),
    *(
        Line(f"opencode: {line.tool}", line.capabilities, line.decision, line.assurance, line.source)
        for line in OPENCODE
        if line.capabilities and line.tool.islower() and line.tool != "task"
    ),
    Line("cursor: read", ("fs.list", "fs.read"), "allowed", "declared", _CURSOR),
    Line("cursor: write", EDITS, "allowed", "declared", _CURSOR),
    Line("cursor: shell", RUNS, "allowed", "open", _CURSOR),
    Line("ACTION of others", ("x.ACTION.any",), "allowed", "open", _EVENTS),
)
"""A step runs unattended: what would be asked about is refused, or decided by a second model in mode auto."""

LINES = {line.tool: line for line in TABLE}
