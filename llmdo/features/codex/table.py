"""The capabilities of Codex's tools."""

from __future__ import annotations

from llmdo.foreign.lines import FETCHES, RUNS, RUNS_OWN, SEARCHES, SERVES, WRITES, Line

VERSION = "0.171.0"
"""The version of Codex that `make clients` compares with."""
_SANDBOX = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
_NETWORK = "https://developers.openai.com/codex/agent-approvals-security#network-access"
_RULES = "https://developers.openai.com/codex/rules"
_SEARCH = "https://developers.openai.com/codex/config-basic#web-search-mode"
_SERVERS = "https://developers.openai.com/codex/mcp"
_AGENTS = "https://developers.openai.com/codex/subagents"
_CONFIG = "https://developers.openai.com/codex/config-reference"

SPAWNS = Line("spawn_agent", ("agent.delegate",), "allowed", "declared", _AGENTS)

TABLE = (
    Line("shell, reading", ("fs.list", "fs.read"), "allowed", "declared", _SANDBOX),
    Line("shell, in the sandbox", ("x.sandbox.exec",), "allowed", "declared", _SANDBOX),
    Line("shell, in the workspace", ("fs.write",), "allowed", "declared", _SANDBOX),
    Line("shell, with network_access", FETCHES, "allowed", "declared", _NETWORK),
    Line("unsandboxed shell", RUNS, "needs_approval", "open", _SANDBOX),
    Line("unsandboxed shell, by a rule", RUNS_OWN, "allowed", "open", _RULES),
    Line("apply_patch", ("fs.write",), "allowed", "declared", _SANDBOX),
    Line("apply_patch, elsewhere", WRITES, "needs_approval", "declared", _SANDBOX),
    Line("view_image", ("fs.read",), "allowed", "declared", _CONFIG),
    Line("web_search, cached", ("data.untrusted",), "allowed", "declared", _SEARCH),
    Line("web_search, live", SEARCHES, "allowed", "declared", _SEARCH),
    Line("SERVER", SERVES, "allowed", "open", _SERVERS),
    SPAWNS,
    *(
        Line(name, (), "allowed", "declared", _CONFIG)
        for name in (
            "close_agent", "create_goal", "get_goal", "request_user_input", "resume_agent", "send_input", "update_goal",
            "update_plan", "wait_agent",
        )
    ),
)  # fmt: skip
"""The defaults: the sandbox `workspace-write`, and `on-request`, by which the model asks to leave it.

A server says which of its own tools only read, and these are not asked about: so `approval_mode = "auto"` allows.
Commands in the sandbox cannot send unless it has `network_access`.
"""
