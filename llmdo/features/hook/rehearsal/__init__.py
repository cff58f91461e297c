"""A client at work under a scripted model, in a copy of a project and a home of its own: what came of its calls.

`model` serves the script on 127.0.0.1, in the API that a client asks: `chat`, `generate_content` or `responses`.
`script` is what the model does: the session and an agent each read a file that they may, and one that they may not.
`codex`, `copilot`, `gemini` and `opencode` start the client.
"""

from __future__ import annotations
