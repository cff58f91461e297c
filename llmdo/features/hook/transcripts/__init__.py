"""The transcripts that clients keep of their sessions, a module each, and the journals of `llmdo hook`.

Each module has `FORMAT`, `places`, the files in the client's own folder that may be about a project, `recognizes`, and
`recording`, the calls of one file. A transcript is a stranger's words: it is read, and gives no authority.
"""

from __future__ import annotations

NAMES = ("journals", "codex", "gemini", "claude")
"""In the order in which a file is held against them."""
