"""Several formats of one project together: one graph, in which each agent is called after its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.team import Agent, Code, Team

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.diagnostic import Diagnostic

OWN = ".claude/"
"""The folder in which only Claude Code looks."""
PLUGIN = ".claude-plugin/plugin.json"
"""The file by which a folder is a plugin of Claude Code."""
CERTAIN = frozenset({"fast-agent", "gemini"})
"""Formats that take files of `agents` for theirs only next to a manifest of their own."""


def claimed(teams: Sequence[Team]) -> list[Team]:
    """Each team without agents that are certainly another format's; an empty `mcp` team is dropped."""
    left = [_without(team, _others_agents(team, teams)) for team in teams]
    return [team for team in left if team.format != "mcp" or team.agents or team.problems]


def together(teams: Sequence[Team]) -> Team:
    """The teams as one. A single team with agents stays as it is; problems of the others are kept."""
    with_agents = (
        [team for team in teams if team.agents]
        or [team for team in teams if team.files or team.problems]
        or teams
    )
    problems = tuple(dict.fromkeys(problem for team in teams for problem in _misplaced(team, teams)))
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


def _others_agents(team: Team, teams: Sequence[Team]) -> set[str]:
    """The files that are certainly agents of another format."""
    others = [other for other in teams if other.format != team.format and other.agents]
    if team.format == "mcp":  # files with nothing but servers
        return {path for other in others for path in other.files}
    if team.format == "claude" and not any(path.endswith(PLUGIN) for path in team.files):
        # `agents` may be anybody's folder: beside their own manifests it is that of these.
        theirs = (agent.path for other in others if other.format in CERTAIN for agent in other.agents)
        return {path for path in theirs if not path.startswith(OWN)}
    return set()


def _without(team: Team, paths: set[str]) -> Team:
    if not paths:
        return team
    agents = tuple(agent for agent in team.agents if agent.path not in paths)
    if team.format == "mcp":
        return replace(team, agents=agents)
    if not any(path.startswith(OWN) for path in team.files) and not any(agent.path for agent in agents):
        agents = ()  # what is left is built in, for those that are not there
    problems = tuple(problem for problem in team.problems if problem.at.path not in paths)
    return replace(team, agents=agents, problems=problems)


def _misplaced(team: Team, teams: Sequence[Team]) -> tuple[Diagnostic, ...]:
    """The problems of a team, except that a file is no agent, if it is one of another format."""
    agents = {agent.path for other in teams if other is not team for agent in other.agents}
    return tuple(
        problem for problem in team.problems if problem.code != "LDO152" or problem.at.path not in agents
    )


def _for_agents_of(form: str, code: Code) -> Code:
    return replace(code, agents={name: f"{form}/{agent}" for name, agent in code.agents.items()})


def _called_after(form: str, agent: Agent) -> Agent:
    calls = tuple(replace(call, name=f"{form}/{call.name}") for call in agent.calls)
    return replace(agent, name=f"{form}/{agent.name}", calls=calls, format=form)
