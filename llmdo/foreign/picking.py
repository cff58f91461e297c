"""Agents that pick one of those that they call for each message: what one of these reads reaches no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.building import named
from llmdo.graph.keys import Reference
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent
    from llmdo.graph.resolved import Entry
    from llmdo.reach.flows import FlowRow, UnaskedFlow


def flows_apart(
    project: Foreign, flow_of: Callable[[Entry], UnaskedFlow | None]
) -> Callable[[Entry], tuple[UnaskedFlow, ...]]:
    """A function from an entry to its worst flow; of an agent that picks, that of each that may be picked, alone.

    The answer of such an agent goes to whoever asked, so only what it calls in turn shares the words with it.
    """
    agents = named(project.team.agents)
    return lambda entry: tuple(_flows(project, agents, flow_of, entry))


def _flows(
    project: Foreign,
    agents: Mapping[str, Agent],
    flow_of: Callable[[Entry], UnaskedFlow | None],
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
        elif flow := flow_of(replace(entry, worker=Reference(name, entry.at))):
            yield flow._replace(row=_from(way, flow.row)) if way[1:] else flow


def _from(way: tuple[Hop, ...], row: FlowRow) -> FlowRow:
    """The row of the agent at the end of a way, from its beginning."""
    source, path, private = (
        (*way, *each[1:]) if each else () for each in (row.source, row.path, row.private)
    )
    return replace(row, source=source, path=path, private=private)
