"""The capabilities of agents in workflows: the tools of each, its triggers, and its token."""

from __future__ import annotations

from llmdo.features.claude.table import TABLE as CLAUDE
from llmdo.features.codex.table import TABLE as CODEX
from llmdo.features.gemini.table import TABLE as GEMINI
from llmdo.features.opencode.table import TABLE as OPENCODE
from llmdo.foreign.lines import EDITS, FETCHES, READS_GITHUB, RUNS, SERVES, WRITES, Line

SENDS = "net.connect:github.com"
"""What a call that changes something on GitHub sends: to that host alone, where anybody may read it."""
_READING = ("env.read", "fs.list", "fs.read", *WRITES, "net.connect", *READS_GITHUB)
"""The capabilities of commands that Copilot CLI takes for reading."""

_EVENTS = "https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows"
_TOKEN = "https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#permissions"  # noqa: S105
_INJECTION = "https://docs.github.com/en/actions/concepts/security/script-injections"
_CLAUDE_ACTION = "https://github.com/anthropics/claude-code-action/blob/main/docs/security.md"
_CLAUDE_TOOLS = "https://github.com/anthropics/claude-code-action/blob/main/docs/configuration.md"
_GEMINI = "https://github.com/google-gemini/gemini-cli/blob/main/docs/reference/configuration.md"
_GEMINI_ACTION = "https://github.com/google-github-actions/run-gemini-cli/blob/main/action.yml"
_COPILOT = "https://docs.github.com/en/copilot/how-tos/copilot-cli/use-copilot-cli/allowing-tools"
_CURSOR = "https://cursor.com/docs/cli/headless"

_CLAUDE_LINES = {line.tool: line for line in CLAUDE}
CLAUDE_TOOLS = ("Agent", "Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write")
"""The tools of Claude Code in a workflow, each only if allowed."""

CODEX_TOOLS = (
    "shell, in the sandbox", "shell, in the workspace", "shell, reading", "shell, with network_access", "spawn_agent",
    "unsandboxed shell", "web_search, cached", "web_search, live",
)  # fmt: skip
"""The tools of Codex if nobody can be asked to leave its sandbox."""
_NOT_ALONE = frozenset({"browser_agent", "invoke_agent"})
"""Tools of Gemini CLI that exist only with settings of their own."""

TABLE = (
    Line("on.EVENT", ("data.untrusted",), "allowed", "declared", _EVENTS),
    Line("on.workflow_call", ("data.untrusted",), "allowed", "declared", _EVENTS),
    Line("run: ${{ TEXT OF A STRANGER }}", ("data.untrusted", *RUNS), "allowed", "open", _INJECTION),
    Line("checkout of a pull request", ("data.untrusted",), "allowed", "declared", _CLAUDE_ACTION),
    Line("needs.JOB", ("data.untrusted",), "allowed", "declared", _INJECTION),
    Line("steps.STEP", ("data.untrusted",), "allowed", "declared", _INJECTION),
    Line("permissions.SCOPE: write", (SENDS, "x.github.SCOPE-write"), "allowed", "declared", _TOKEN),
    Line("permissions.SCOPE: read", READS_GITHUB, "allowed", "declared", _TOKEN),
    Line("permissions, where no file says them", (SENDS, "x.github.any"), "allowed", "open", _TOKEN),
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
    Line("claude: git push", (SENDS, "x.github.contents-write"), "blocked", "declared", _CLAUDE_ACTION),
    Line("claude: gh", (SENDS, "x.github.SCOPE-write"), "blocked", "declared", _CLAUDE_ACTION),
    Line("claude: mcp__github__TOOL", (*SERVES, "x.github.read"), "blocked", "declared", _CLAUDE_TOOLS),
    Line("claude: mcp__SERVER__TOOL", SERVES, "blocked", "open", _CLAUDE_TOOLS),
    *(
        Line(f"codex: {line.tool}", line.capabilities, line.decision, line.assurance, line.source)
        for line in CODEX
        if line.tool in CODEX_TOOLS
    ),
    *(
        Line(f"gemini: {line.tool}", line.capabilities, "allowed", line.assurance, _GEMINI_ACTION)
        for line in GEMINI
        if line.capabilities and line.tool.islower() and line.tool not in _NOT_ALONE
    ),
    Line("gemini: run_shell_command(COMMAND)", RUNS, "allowed", "open", _GEMINI),
    Line("gemini: mcpServers.SERVER", SERVES, "allowed", "open", _GEMINI),
    Line("copilot: read", ("fs.list", "fs.read"), "allowed", "declared", _COPILOT),
    Line("copilot: write", EDITS, "blocked", "declared", _COPILOT),
    Line("copilot: shell", RUNS, "blocked", "open", _COPILOT),
    Line("copilot: shell (commands that read)", _READING, "allowed", "declared", _COPILOT),
    Line("copilot: url", FETCHES, "blocked", "declared", _COPILOT),
    Line("copilot: github", READS_GITHUB, "allowed", "declared", _COPILOT),
    Line("copilot: SERVER", SERVES, "blocked", "open", _COPILOT),
    Line("copilot: task", ("agent.delegate",), "allowed", "declared", _COPILOT),
    *(
        Line(f"opencode: {line.tool}", line.capabilities, line.decision, line.assurance, line.source)
        for line in OPENCODE
        if line.capabilities and line.tool.islower()
    ),
    Line("cursor: read", ("fs.list", "fs.read"), "allowed", "declared", _CURSOR),
    Line("cursor: write", EDITS, "allowed", "declared", _CURSOR),
    Line("cursor: shell", RUNS, "allowed", "open", _CURSOR),
    Line("ACTION of others", ("x.ACTION.any",), "allowed", "open", _EVENTS),
)
"""A step runs unattended: questions are refused, or decided by a second model in mode auto."""

LINES = {line.tool: line for line in TABLE}
