"""The built-in agents of Claude Code: agents that may call any agent may call them, though no file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.claude.table import INHERITED
from llmdo.foreign.team import Agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.features.claude.tools import SessionTools
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

ANY = "general-purpose"
"""It has every tool, so it represents all of them if none is named."""

_READING = tuple(tool for tool in INHERITED if tool not in ("Edit", "NotebookEdit", "Write"))

TOOLS: Mapping[str, tuple[str, ...]] = {
    ANY: INHERITED,
    "claude": INHERITED,
    "claude-code-guide": _READING,
    "fork": INHERITED,
    "Explore": _READING,
    "Plan": _READING,
    "statusline-setup": ("Edit", "Read"),
}
"""The built-in agents and their tools, by https://code.claude.com/docs/en/sub-agents."""


def any_with(plugin: str) -> str:
    """The name of `ANY` in a session with a plugin, whose servers it then has."""
    return f"{ANY} with {plugin}"


def built_in_agents(
    agents: Iterable[Agent], tools: SessionTools, brought: Mapping[str, SessionTools]
) -> Iterator[Agent]:
    """Those that some of `agents` may call, except those that an agent of the project replaces by its name.

    `brought` are the tools of sessions with a plugin, by its name.
    """
    agents = tuple(agents)
    own = {agent.name for agent in agents}
    wanted: dict[str, Place] = {}
    for agent in agents:
        if agent.everyone:
            wanted.setdefault(ANY, agent.everyone)
        for call in agent.calls:
            wanted.setdefault(call.name, call.at)
    by_name = {**dict.fromkeys(TOOLS, tools), **{any_with(plugin): each for plugin, each in brought.items()}}
    for name, at in sorted(wanted.items()):
        kind = name if name in TOOLS else ANY
        if name in by_name and name not in own and not by_name[name].settings.denies_call(kind):
            has_all = TOOLS[kind] == INHERITED
            yield Agent(
                name=name,
                at=at,
                path="",
                prompt="",
                description="Built into Claude Code.",
                grants=tuple(_grants(kind, by_name[name], at)),
                everyone=at if has_all and not tools.settings.denies_call() else None,
                is_entry=False,
                is_callable=name in TOOLS,
            )


def _grants(name: str, tools: SessionTools, at: Place) -> Iterator[Grant]:
    for tool in TOOLS[name]:
        yield from tools.named(tool, at)
    for server in tools.servers if TOOLS[name] == INHERITED else ():
        yield from tools.of_server(f"mcp__{server}", at)
