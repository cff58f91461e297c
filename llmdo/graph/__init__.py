"""The resolved graph as a value: entries, workers, toolsets, rules, and what is known of each tool.

`resolved` is what the lock holds and what `reach` and a run work on. Beside it stand the facts that no workspace has
to state: built-in toolsets, MCP servers, models, what importing a module told. Nothing in here reads a file.
"""
