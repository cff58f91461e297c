"""Real clients beside what llmdo says of their projects: `make clients`, or `python -m bench.clients CLIENT ...`.

A scripted model on 127.0.0.1 speaks the API that a client asks (`llmdo.features.hook.rehearsal`): each agent calls each
tool once, harmlessly, in a folder of its own. What the client shows, asks about and denies is a cell of agent by tool
(`cells`), against the team from which reach is worked out. `script` is what the model does in a project. `codex`,
`copilot`, `gemini` and `opencode` write projects by chance and run the client, with an environment and a home of its
own, without a network, for five minutes at most (`process`, `rpc`, `acp`, `terminal`); `servant` is an MCP server that
does nothing. Their versions stand in the tables of the formats; these and the newest are fetched into `.clients/`,
which git ignores.

Codex and Gemini CLI are under the Apache License 2.0, opencode is under the MIT License. Copilot CLI is not free
software: its license lets anyone install and run it, and it needs no account where the model is one's own.
"""
