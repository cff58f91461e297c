"""Hosts that a foreign project's agents may send to, which no scope of ours names: an import says every host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.building import graph_of
from llmdo.foreign.team import Remark
from llmdo.policy.authority import Capability
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent, Grant

_NET = Capability("net")


def without_hosts(project: Foreign) -> Foreign:
    """The project as if its agents might send to any host, with a remark if that is more than its files say."""
    team = project.team
    remarks = tuple(dict.fromkeys(remark for agent in team.agents for remark in _remarks(agent)))
    if not remarks:
        return project
    agents = tuple(replace(agent, grants=tuple(map(_without_hosts, agent.grants))) for agent in team.agents)
    team = replace(team, agents=agents, remarks=(*team.remarks, *remarks))
    graph = graph_of(team)
    return replace(project, team=team, graph=graph, analysis=Analysis(graph))


def _remarks(agent: Agent) -> Iterator[Remark]:
    for grant in agent.grants:
        if hosts := [each.scope for each in grant.capabilities if _has_host(each)]:
            names = ", ".join(f"`{host}`" for host in hosts)
            yield Remark(grant.at.location, f"`{grant.tool}` may send to {names} alone, and here to any host")


def _without_hosts(grant: Grant) -> Grant:
    capabilities = [Capability(each.name) if _has_host(each) else each for each in grant.capabilities]
    return replace(grant, capabilities=tuple(dict.fromkeys(capabilities)))


def _has_host(capability: Capability) -> bool:
    return capability.scope is not None and _NET.covers_name(capability.name)
