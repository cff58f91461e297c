"""The operations for any caller: runs from Python, locking, fixes, entries as MCP tools, a look at the machine.

They take requests and return outcomes; nothing in here prints. `plan` makes every run: new, continued, resumed or
repeated.
"""
