"""Agents of one name: the one that keeps it, and what is to become of the others."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent
    from llmdo.syntax.document import Place

_WITHIN = re.compile(r"[/:]")
"""What stands between the name of an agent and that of what it is in."""


class Namesake(NamedTuple):
    """An agent with the name of another one, which keeps it."""

    agent: Agent
    keeper: Agent

    @property
    def hint(self) -> str:
        """What to do about the two."""
        return hint_about(self.agent.at, self.keeper.at)


def namesakes(project: Foreign) -> Iterator[Namesake]:
    """The agents with the name of another one: that of which the file is called by it keeps it, else the first."""
    alike: dict[tuple[object, str], list[Agent]] = {}
    for agent in project.team.agents:
        # What lies before a hidden folder, such as `game/.claude`, is a project of its own, with names of its own.
        # A collection beside it may have an agent of the same name as one that the tool loads.
        within = f"/{agent.path}".rpartition("/.")[:2]
        alike.setdefault((within, agent.name), []).append(agent)
    for agents in alike.values():
        if len(agents) > 1:
            keeper = next((each for each in agents if _is_called_so(project, each)), agents[0])
            yield from (Namesake(each, keeper) for each in agents if each is not keeper)


def _is_called_so(project: Foreign, agent: Agent) -> bool:
    """Whether the file of an agent, or its folder where all files are called alike, has the agent's name."""
    path = PurePosixPath(agent.path)
    names = (
        {path.parent.name} if project.spec_of(agent).in_folders else {path.stem, path.name.partition(".")[0]}
    )
    return _WITHIN.split(agent.name)[-1].casefold() in {each.casefold() for each in names}


def hint_about(place: Place, kept: Place) -> str:
    """What to do about two agents of one name, at their places: of copies one is enough."""
    first, second = place.document.source, kept.document.source
    if first.path != second.path and first.text == second.text:
        return "take one of the two out"
    return "give it a name of its own"
