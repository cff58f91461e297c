"""What tools do: confined files, the built-in `filesystem` and `shell`, Python toolsets, MCP servers.

What comes in is a use of a toolset with its configuration; what goes out is a toolset of pydantic-ai that stays inside
what it was given. That a call may happen is not decided here, but by the gate of the runtime.
"""
