"""The circles in which agents call each other, each of them once and by the names that files give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent


@dataclass(frozen=True, slots=True)
class CallOfCircle:
    """A call that is part of a circle."""

    caller: str
    callee: str
    at: Location


@dataclass(frozen=True, slots=True)
class Circle:
    """Calls that lead back to the first caller."""

    calls: tuple[CallOfCircle, ...]
    opening: tuple[str, str] | None
    """Caller and callee of a call without which there is none; None if there is no single one to name."""
    condition: str
    """The condition under which there is one, as the end of a sentence; empty without one."""


def circles(project: Foreign) -> tuple[Circle, ...]:
    """The circles that a run may go round; agents that a reader has twice go round it once.

    Where one of several holds under no condition, none is named, and only a call that opens all of them is.
    """
    once: dict[frozenset[tuple[str, str]], Circle] = {}
    for each in _circles(project):
        key = frozenset((call.caller, call.callee) for call in each.calls)
        other = once.setdefault(key, each)
        opening = other.opening if other.opening == each.opening else None
        once[key] = replace(other, opening=opening, condition=other.condition and each.condition)
    return tuple(once.values())


def _circles(project: Foreign) -> Iterator[Circle]:
    agents = project.agents
    uses = _uses(project, agents)
    edges = {name: list(callees) for name, callees in uses.items()}
    free = {name for name, agent in agents.items() if agent.everyone}
    for component in topology.strongly_connected_components(edges):
        cycle = topology.shortest_cycle(edges, component)
        if len(cycle) > project.graph.max_depth_from(cycle):
            continue
        names = {name: _in_its_file(project, agents[name]) for name in component}
        calls = tuple(
            CallOfCircle(names[caller][0], names[callee][0], uses[caller][callee])
            for caller, callee in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        )
        opening = topology.opening_edge(edges, component, cycle)
        can_be_opened = len(cycle) > 1 and free.isdisjoint(component)
        nested = (agents[name].nested_where for name in cycle)
        there = (names[name][1] for name in cycle)
        yield Circle(
            calls,
            (names[opening[0]][0], names[opening[1]][0]) if opening and can_be_opened else None,
            next(filter(None, (*nested, *there)), ""),
        )


def _uses(project: Foreign, agents: Mapping[str, Agent]) -> Mapping[str, Mapping[str, Location]]:
    """The places of calls that no person confirms, by caller and callee."""
    workers = project.graph.workers
    confirmed = {
        (name, call.name)
        for name, agent in agents.items()
        for call in agent.calls
        if call.decision != "allowed"
    }
    return {
        name: {
            use.name: use.at.location
            for use in worker.uses
            if use.name in workers and workers[use.name].path and (name, use.name) not in confirmed
        }
        for name, worker in workers.items()
        if worker.path
    }


def _in_its_file(project: Foreign, agent: Agent) -> tuple[str, str]:
    """The name that its file gives an agent, and the client in which alone it has another, as the end of a sentence."""
    for ending, where in project.spec_of(agent).variants.items():
        if agent.name.endswith(ending):
            return agent.name.removesuffix(ending), where
    return agent.name, ""
