"""What the tools of GitHub Agentic Workflows can do."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, SEARCHES, SERVES, Line

_GH_AW = "https://github.github.com/gh-aw/reference/tools/"
_GH_AW_OUTPUTS = "https://github.github.com/gh-aw/reference/safe-outputs/"

TABLE = (
    Line("bash", ("fs.read", "proc.exec.read"), "allowed", "open", _GH_AW),
    Line("bash: COMMAND", ("fs.read", *RUNS_OWN), "allowed", "open", _GH_AW),
    Line("bash: *", RUNS, "allowed", "open", _GH_AW),
    Line("edit", EDITS, "allowed", "declared", _GH_AW),
    Line("github", ("data.untrusted", "x.github.read"), "allowed", "declared", _GH_AW),
    Line("github, read-only: false", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("linear", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("jira", (*SERVES, "net.connect"), "allowed", "open", _GH_AW),
    Line("web-fetch", FETCHES, "allowed", "declared", _GH_AW),
    Line("web-search", SEARCHES, "allowed", "declared", _GH_AW),
    Line("playwright", (*FETCHES, "mcp.call"), "allowed", "open", _GH_AW),
    Line("qmd", ("fs.read",), "allowed", "declared", _GH_AW),
    Line("serena", ("fs.read", "mcp.call"), "allowed", "open", _GH_AW),
    Line("agentic-workflows", ("data.untrusted", "mcp.call"), "allowed", "open", _GH_AW),
    Line("mcp-servers.SERVER", SERVES, "allowed", "open", _GH_AW),
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
