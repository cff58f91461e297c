"""The built-in agents of GitHub Copilot, for those who call them or hand over to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.features.copilot.tools import IN_EDITOR, Tools, Where
from llmdo.foreign.team import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.syntax.document import Place

GENERAL = "general-purpose"
"""It has every tool; agents that may call any agent may call it in Copilot's command line."""

_ANYWHERE = Where(cloud=True, editor=False)
_READING = ("read", "search")


@dataclass(frozen=True, slots=True)
class BuiltInAgent:
    """An agent that no file declares."""

    name: str
    where: Where
    tools: tuple[str, ...] | None
    """Its tools; None for all."""


BUILT_IN: Mapping[str, BuiltInAgent] = {
    agent.name.casefold(): agent
    for agent in (
        BuiltInAgent("agent", IN_EDITOR, None),
        BuiltInAgent("ask", IN_EDITOR, (*_READING, "web")),
        BuiltInAgent("edit", IN_EDITOR, (*_READING, "edit")),
        BuiltInAgent("plan", IN_EDITOR, (*_READING, "web")),
        BuiltInAgent("explore", _ANYWHERE, _READING),
        BuiltInAgent("code-review", _ANYWHERE, (*_READING, "execute")),
        BuiltInAgent("research", _ANYWHERE, (*_READING, "github/*")),
        BuiltInAgent("task", _ANYWHERE, (*_READING, "execute")),
        BuiltInAgent(GENERAL, _ANYWHERE, None),
    )
}
"""By https://code.visualstudio.com/docs/copilot/agents/local-agents and
https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference#custom-agents-reference."""


def built_in_agents(agents: Sequence[Agent]) -> Iterator[Agent]:
    """Those that some of `agents` may call, except those that an agent of the project replaces by its name."""
    own = {agent.name for agent in agents}
    wanted: dict[str, Place] = {}
    for agent in agents:
        for call in agent.calls:
            wanted.setdefault(call.name, call.at)
    for name, at in sorted(wanted.items()):
        if name in BUILT_IN and name not in own:
            tools, built_in = Tools(BUILT_IN[name].where, {}), BUILT_IN[name]
            names = built_in.tools
            yield Agent(
                name=name,
                at=at,
                path="",
                prompt="",
                description="Built into GitHub Copilot.",
                grants=tuple(
                    tools.every(at)
                    if names is None
                    else [grant for tool in names for grant in tools.of(tool, at)]
                ),
                is_entry=False,
                is_callable=False,  # but by name
            )
