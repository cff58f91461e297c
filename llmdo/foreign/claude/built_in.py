"""The agents that Claude Code brings along: whoever may call any agent may call them, though no file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.foreign.claude.table import INHERITED
from llmdo.foreign.team import Agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.claude.tools import SessionTools
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

ANY = "general-purpose"
"""Has every tool, so it stands for all of them where nobody says which one."""

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


def built_in_agents(agents: Iterable[Agent], tools: SessionTools) -> Iterator[Agent]:
    """Those that some of `agents` may call; one that a project has an agent of that name for is not built in."""
    agents = tuple(agents)
    own = {agent.name for agent in agents}
    wanted: dict[str, Place] = {}
    for agent in agents:
        if agent.everyone:
            wanted.setdefault(ANY, agent.everyone)
        for call in agent.calls:
            wanted.setdefault(call.name, call.at)
    for name, at in sorted(wanted.items()):
        if name in TOOLS and name not in own and not tools.settings.denies_call(name):
            yield Agent(
                name=name,
                at=at,
                path="",
                prompt="",
                description="Built into Claude Code.",
                grants=tuple(_grants(name, tools, at)),
                everyone=at if TOOLS[name] == INHERITED and not tools.settings.denies_call() else None,
                is_entry=False,
            )


def _grants(name: str, tools: SessionTools, at: Place) -> Iterator[Grant]:
    for tool in TOOLS[name]:
        yield from tools.named(tool, at)
    for server in tools.servers if TOOLS[name] == INHERITED else ():
        yield from tools.of_server(f"mcp__{server}", at)
