"""Roo Code: the modes of a project in `.roomodes`, and its servers in `.roo/mcp.json`."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

MODES = ".roomodes"
SERVERS = ".roo/mcp.json"
TOOLS = (".roo/tools/*.js", ".roo/tools/*.ts")
FILES = (MODES, SERVERS, *TOOLS)

EXTENSION = Extension(
    name="roo",
    formats={
        "roo": ForeignFormat(FILES, "llmdo.features.roo", "Roo Code", below=FILES, disables_servers=True)
    },
)
