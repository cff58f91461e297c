"""opencode: agents in Markdown and JSON, and the code that it loads."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENTS = (".opencode/agent/**/*.md", ".opencode/agents/**/*.md")
SETTINGS = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
PLUGINS, TOOLS = (
    tuple(
        f".opencode/{kind}{plural}/{name}.{ending}"
        for plural in ("", "s")
        for name in ("*", ".*")
        for ending in ("js", "ts")
    )
    for kind in ("plugin", "tool")
)
"""Modules that opencode loads from the folders themselves, also hidden ones."""
TERMINAL = (".opencode/tui.json", ".opencode/tui.jsonc")
"""The settings of its terminal, which have plugins of their own."""
FILES = (*AGENTS, *SETTINGS, *PLUGINS, *TOOLS, *TERMINAL)

_READS_BUT_ENV = '{"*": "allow", "*.env": "ask", "*.env.*": "ask"}'
"""opencode asks before it reads these, unless a later rule about all files says otherwise (`agent/agent.ts`)."""
FORMAT = ForeignFormat(
    FILES,
    "llmdo.features.opencode",
    "opencode",
    below=FILES,
    never_in_json='theme.json"',  # the schema of its themes, of which one is called as its settings are
    few_tools='permission: {"*": deny, read: {"*": allow, "*.env": ask, "*.env.*": ask}, grep: allow}',
    few_in_json=f'"permission": {{"*": "deny", "read": {_READS_BUT_ENV}, "grep": "allow"}}',
    few_in_block=(
        'permission:` and below it `  "*": deny`, `  read:`, '
        '`    "*": allow`, `    "*.env": ask`, `    "*.env.*": ask`, `  grep: allow'
    ),
    switches_tools=True,
)

EXTENSION = Extension(name="opencode", formats={"opencode": FORMAT})
