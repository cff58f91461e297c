"""AgentDojo's suites through llmdo's own runtime: `make agentdojo`, or `python -m bench.agentdojo SUITE ...`.

`tools` says what each tool of a suite reads and does, `plan` what the planner of a split team knows and what it lets a
reader find out, `models` are the models that obey whatever they read, `teams` writes the workspaces, `__main__` runs
the cases and counts. `hooked` does the same to a real client under `llmdo hook`, which has a suite by `served`, an MCP
server that hands on.
"""
