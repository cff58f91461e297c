"""Whether real clients obey `llmdo hook`: projects by chance, under a scripted model, in agents too.

python -m bench.hooked [codex|copilot|gemini|opencode ...] [--projects 40] [--seed 1]

The clients are those of `make clients`, each at a terminal, over its protocol for editors or its server, so that a
question is seen and answered. The model calls every tool once, in the session and in each agent, and each agent.
`projects` adds a manifest with rules and ceilings to a project of `bench.clients`, the hooks and a lock, and lets the
client work. `judging` holds each call against its record in the journal, `claims` the record against reach.
"""

from __future__ import annotations
