"""The capabilities of GitHub Agentic Workflows' tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, READS_GITHUB, RUNS, RUNS_OWN, SEARCHES, SERVES, Line

_GH_AW = "https://github.github.com/gh-aw/reference/tools/"
_GH_AW_ENGINES = "https://github.github.com/gh-aw/reference/engines/"
_GH_AW_OUTPUTS = "https://github.github.com/gh-aw/reference/safe-outputs/"
_GH_AW_NETWORK = "https://github.github.com/gh-aw/reference/network/"
_GH_AW_INTEGRITY = "https://github.github.com/gh-aw/reference/integrity/"
_GH_AW_TRIGGERS = "https://github.github.com/gh-aw/reference/triggers/"
_GH_AW_STEPS = "https://github.github.com/gh-aw/reference/steps-jobs/"
_GH_AW_SANDBOX = "https://github.github.com/gh-aw/reference/sandbox/"

TABLE = (
    Line("engine, read", ("fs.list", "fs.read"), "allowed", "declared", _GH_AW_ENGINES),
    Line("engine, task", ("agent.delegate",), "allowed", "declared", _GH_AW_ENGINES),
    Line("bash", ("fs.list", "fs.read", "proc.exec.read"), "allowed", "open", _GH_AW),
    Line("bash: COMMAND", ("fs.list", "fs.read", *RUNS_OWN), "allowed", "open", _GH_AW),
    Line("bash: *", RUNS, "allowed", "open", _GH_AW),
    Line("edit", EDITS, "allowed", "declared", _GH_AW),
    Line("github", ("x.github.read",), "allowed", "declared", _GH_AW_INTEGRITY),
    Line("github, min-integrity: none", READS_GITHUB, "allowed", "declared", _GH_AW_INTEGRITY),
    Line("github, read-only: false", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("github, mode: gh-proxy", ("net.connect:github.com",), "allowed", "open", _GH_AW),
    Line("linear", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("jira", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("web-fetch", FETCHES, "allowed", "declared", _GH_AW),
    Line("web-search", SEARCHES, "allowed", "declared", _GH_AW),
    Line("playwright", (*FETCHES, "mcp.call"), "allowed", "open", _GH_AW),
    Line("qmd", ("fs.read",), "allowed", "declared", _GH_AW),
    Line("serena", ("fs.read", "mcp.call"), "allowed", "open", _GH_AW),
    Line("agentic-workflows", ("data.untrusted", "mcp.call"), "allowed", "open", _GH_AW),
    Line("mcp-servers.SERVER", SERVES, "allowed", "open", _GH_AW),
    Line("safe-outputs.OUTPUT", ("net.connect:github.com",), "allowed", "declared", _GH_AW_OUTPUTS),
    Line("safe-outputs.jobs.JOB", ("net.connect",), "allowed", "declared", _GH_AW_OUTPUTS),
    Line(
        "safe-outputs.assign-to-agent",
        ("agent.delegate", "net.connect:github.com"),
        "allowed",
        "open",
        _GH_AW_OUTPUTS,
    ),
    Line("on.EVENT, roles: all", ("data.untrusted",), "allowed", "declared", _GH_AW_TRIGGERS),
    Line("steps that ask GitHub", ("data.untrusted",), "allowed", "declared", _GH_AW_STEPS),
    Line("bash, network: {allowed: [HOST]}", ("net.connect:HOST",), "allowed", "declared", _GH_AW_NETWORK),
    Line("bash, sandbox: {agent: false}", ("net.connect",), "allowed", "open", _GH_AW_SANDBOX),
    *(
        Line(name, (), "allowed", "declared", _GH_AW)
        for name in ("cache-memory", "cli-proxy", "drive-memory", "repo-memory", "startup-timeout", "timeout")
    ),
)
"""A workflow runs unattended: all of its tools run without a question.

As engines, Copilot, Claude Code and Codex list and read files and start agents of their own whatever `tools` says, and
Gemini CLI and Antigravity list and read files.
By default there is `github`, which reads text of members in a public repository, and in its sandbox `edit` and
`bash: *`. There commands send through a firewall: to the hosts that `network` allows. `defaults` are nobody's hosts:
certificates, package mirrors.
"""
