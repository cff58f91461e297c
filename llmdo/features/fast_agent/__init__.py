"""fast-agent: agent cards in Markdown and YAML, agents in Python, and the servers of `fast-agent.yaml`."""

from __future__ import annotations

from llmdo.extensions.spec import NO_COMMANDS, Extension, ForeignFormat

SUFFIXES = (".md", ".markdown", ".yaml", ".yml")
HOME = ".fast-agent"
"""The folder of a workspace in which fast-agent looks."""
AGENTS = ("agent-cards", "agent_cards")
TOOLS = ("tool-cards", "tool_cards")
"""The folders of cards that another agent is given as tools."""
CONFIGURATIONS = ("fast-agent.yaml", "fastagent.config.yaml")
"""Today's name of its configuration, and the one before."""
CARDS = tuple(
    f"{folder}/{name}/*{suffix}"
    for folder in (HOME, "**")
    for name in (*AGENTS, *TOOLS)
    for suffix in SUFFIXES
)
FILES = (*CARDS, *(f"{folder}/{name}" for folder in (HOME, "**") for name in CONFIGURATIONS))
PYTHON = ".py"
"""The ending of files with agents in code, beside a configuration or below it."""
BESIDE = tuple(f"agents/*{suffix}" for suffix in SUFFIXES)
"""Further places of cards, in a folder with a configuration: a run has to name them."""

EXTENSION = Extension(
    name="fast-agent",
    formats={
        "fast-agent": ForeignFormat(
            FILES,
            "llmdo.features.fast_agent",
            "fast-agent",
            below=(f"{HOME}/{AGENTS[0]}/*.md", f"{HOME}/{CONFIGURATIONS[0]}"),
            by_manifest=True,
            listed={"shell": ("shell: false", NO_COMMANDS)},
            callers=frozenset({"chain", "iterative_planner", "orchestrator", "router"}),
        )
    },
)
