"""The capabilities of opencode's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, Line

VERSION = "1.18.33"
"""The version of opencode that `make clients` compares with."""
_OPENCODE = "https://opencode.ai/docs/permissions"

TABLE = (
    Line("read", ("fs.read",), "allowed", "declared", _OPENCODE),
    Line("edit", EDITS, "allowed", "declared", _OPENCODE),
    Line("glob", ("fs.list",), "allowed", "declared", _OPENCODE),
    Line("grep", ("fs.list", "fs.read"), "allowed", "declared", _OPENCODE),
    Line("list", ("fs.list",), "allowed", "declared", _OPENCODE),
    Line("bash", RUNS, "allowed", "open", _OPENCODE),
    Line("lsp", (), "allowed", "declared", _OPENCODE),
    Line("webfetch", FETCHES, "allowed", "declared", _OPENCODE),
    Line("websearch", SEARCHES, "allowed", "declared", "https://opencode.ai/docs/tools#websearch"),
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
        for name in (
            "codesearch",
            "doom_loop",
            "external_directory",
            "question",
            "skill",
            "todoread",
            "todowrite",
        )
    ),
)
"""Tools by the keys of `permission`; tools without a rule are allowed. `codesearch` is gone since May 2026."""

SEARCH = "websearch"
SEARCHING_MODELS = ("opencode/", "opencode-go/")
"""The beginnings of models that come with `SEARCH`; others have it where a variable of the environment says so,
which no file does."""
