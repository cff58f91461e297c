"""The resolved graph as a value: entries, workers, toolsets, rules, and the known facts of each tool.

`resolved` is the content of the lock and the input of `reach` and of a run. The other modules hold facts that no
workspace states: built-in toolsets, MCP servers, models, imported modules. Nothing here reads a file.
"""
