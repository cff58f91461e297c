"""What llmdo does for whoever asks: runs from Python, locking, fixes, entries as MCP tools, a look at the machine.

What comes in are requests as values, from the command line or from a program; what goes out are outcomes. Nothing in
here prints. `plan` makes every run: one that begins, goes on from an earlier one, is resumed or is repeated.
"""
