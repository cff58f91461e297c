"""Agents of which what one of those that they call reads does not reach every other one.

Some pick one of them for each message: what it reads reaches no other. Some call one after the other: what one reads
reaches those after it alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.graph.keys import Reference
from llmdo.reach.flows import Part
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.reach.flows import FlowRow, UnaskedFlow


def flows_apart(
    project: Foreign, flow_of: Callable[[Entry, Part | None], UnaskedFlow | None]
) -> Callable[[Entry], tuple[UnaskedFlow, ...]]:
    """A function from an entry to its worst flow; of an agent that picks, that of each that may be picked, alone.

    The answer of such an agent goes to whoever asked, so only what it calls in turn shares the words with it. Of an
    agent that calls others in order, the worst flow to each of these.
    """
    agents = project.agents
    return lambda entry: tuple(_flows(project, agents, flow_of, entry))


def _flows(
    project: Foreign,
    agents: Mapping[str, Agent],
    flow_of: Callable[[Entry, Part | None], UnaskedFlow | None],
    entry: Entry,
) -> Iterator[UnaskedFlow]:
    ways: list[tuple[Hop, ...]] = [(Hop(entry.name, None),)]
    seen = {entry.name}
    for way in ways:
        name = way[-1].name
        if agents[name].picks_one:
            uses = [use for use in project.choice.graph.workers[name].uses if use.name in agents]
            ways += [(*way, Hop(use.name, use)) for use in uses if use.name not in seen]
            seen.update(use.name for use in uses)
            continue
        for part in _parts(project.choice.graph, agents[name], name):
            if flow := flow_of(replace(entry, worker=Reference(name, entry.at)), part):
                yield flow._replace(row=_from(way, flow.row)) if way[1:] else flow


def _parts(graph: Graph, agent: Agent, name: str) -> Iterator[Part | None]:
    """The parts of what is below an agent to ask about: all of it, or what each of those in order gets to know."""
    below = [_below(graph, call.name) for call in agent.calls if call.name in graph.workers]
    if not agent.in_order or any(name in each for each in below):
        yield None
        return
    reading: frozenset[str] = frozenset()
    for each in below:
        reading |= each
        yield Part(reading, each)


def _below(graph: Graph, name: str) -> frozenset[str]:
    """An agent with all that it calls, directly or not."""
    names = [name]
    for each in names:
        names += [callee for callee in graph.edges[each] if callee not in names]
    return frozenset(names)


def _from(way: tuple[Hop, ...], row: FlowRow) -> FlowRow:
    """The row of the agent at the end of a way, from its beginning."""
    source, path, private = (
        (*way, *each[1:]) if each else () for each in (row.source, row.path, row.private)
    )
    return replace(row, source=source, path=path, private=private)
