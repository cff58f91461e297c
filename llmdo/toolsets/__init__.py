"""The tools: confined files, the built-in `filesystem` and `shell`, Python toolsets, MCP servers.

A use of a toolset becomes a toolset of pydantic-ai that stays inside its configured limits. The gate of the runtime
decides whether a call may happen.
"""
