"""Several formats of one project together: one graph, in which each agent is called after its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.team import Agent, Code, Team

if TYPE_CHECKING:
    from collections.abc import Sequence


def together(teams: Sequence[Team]) -> Team:
    """The teams as one. Where only one has agents, it is as it was; problems of the others are kept."""
    # Files with nothing but servers are agents only where no other format reads them.
    taken = {path for team in teams if team.format != "mcp" and team.agents for path in team.files}
    teams = [
        replace(team, agents=tuple(each for each in team.agents if each.path not in taken))
        if team.format == "mcp"
        else team
        for team in teams
    ]
    with_agents = [team for team in teams if team.agents] or teams
    problems = tuple(dict.fromkeys(problem for team in teams for problem in team.problems))
    if len(with_agents) == 1:
        return replace(with_agents[0], problems=problems)
    return Team(
        format=" and ".join(team.format for team in with_agents) or "auto",
        agents=tuple(_called_after(team.format, agent) for team in with_agents for agent in team.agents),
        files=tuple(sorted({path for team in with_agents for path in team.files})),
        problems=problems,
        remarks=tuple(remark for team in with_agents for remark in team.remarks),
        code=tuple(_for_agents_of(team.format, code) for team in with_agents for code in team.code),
        # The milder of what they say: what can happen, can.
        starts="allowed" if any(team.starts == "allowed" for team in with_agents) else "needs_approval",
        max_depth=max((team.max_depth for team in with_agents), default=1),
    )


def _for_agents_of(form: str, code: Code) -> Code:
    return replace(code, agents={name: f"{form}/{agent}" for name, agent in code.agents.items()})


def _called_after(form: str, agent: Agent) -> Agent:
    calls = tuple(replace(call, name=f"{form}/{call.name}") for call in agent.calls)
    return replace(agent, name=f"{form}/{agent.name}", calls=calls, format=form)
