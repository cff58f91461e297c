"""The agents that Claude Code brings along: whoever may call any agent may call them, though no file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign import servers
from llmdo.foreign.claude.table import INHERITED, TABLE
from llmdo.foreign.lines import Line
from llmdo.foreign.team import Agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.claude.settings import ClaudeSettings
    from llmdo.foreign.team import Grant
    from llmdo.graph.toolset import Server
    from llmdo.syntax.document import Place

ANY = "general-purpose"
"""Has every tool, so it stands for all of them where nobody says which one."""

_READING = tuple(tool for tool in INHERITED if tool not in ("Edit", "NotebookEdit", "Write"))

TOOLS: Mapping[str, tuple[str, ...]] = {
    ANY: INHERITED,
    "claude": INHERITED,
    "fork": INHERITED,
    "Explore": _READING,
    "Plan": _READING,
    "statusline-setup": ("Edit", "Read"),
}
"""The built-in agents and their tools, by https://code.claude.com/docs/en/sub-agents."""

_LINES = {line.tool: line for line in TABLE}


def built_in_agents(
    agents: Iterable[Agent], settings: ClaudeSettings, known: Mapping[str, tuple[Server, Place]]
) -> Iterator[Agent]:
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
        if name in TOOLS and name not in own:
            yield Agent(
                name=name,
                at=at,
                path="",
                prompt="",
                description="Built into Claude Code.",
                grants=tuple(_grants(name, settings, known, at)),
                is_entry=False,
            )


def _grants(
    name: str, settings: ClaudeSettings, known: Mapping[str, tuple[Server, Place]], at: Place
) -> Iterator[Grant]:
    for tool in TOOLS[name]:
        yield from settings.grants(_LINES[tool], at, settings.mode)
    for server, (reached, _) in known.items() if TOOLS[name] == INHERITED else ():
        made = servers.grant(f"mcp__{server}", reached, at, "needs_approval", "")
        line = Line(made.tool, tuple(map(str, made.capabilities)), "needs_approval", "open", "")
        for grant in settings.grants(line, at, settings.mode):
            yield replace(grant, server=reached)
