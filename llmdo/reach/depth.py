"""The depth of an entry's delegations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass
from llmdo.graph import toolkit
from llmdo.reach.analysis import starts_of

if TYPE_CHECKING:
    from llmdo.graph.resolved import Entry
    from llmdo.reach.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Depth:
    """The depth of an entry's delegations."""

    longest: tuple[str, ...]
    """The workers along a longest chain, ties by name; with recursion, up to its start."""
    recursion: str | None
    """A worker through which the chains never have to end; None if all of them do."""

    def is_exceeded(self, most: int) -> bool:
        """Whether some chain has to be longer than `most` delegations."""
        return self.recursion is None and len(self.longest) - 1 > most

    def __str__(self) -> str:
        if self.recursion:
            return f"bounded at run time through the recursion of {self.recursion}"
        return f"proved: at most {max(len(self.longest) - 1, 0)}"


def depth_of(analysis: Analysis, entry: Entry) -> Depth:
    """The depth of `entry`, whatever `max-depth` says."""
    starts = starts_of(analysis.graph, entry)
    reached = {name: analysis.graph.edges[name] for name in toolkit.reachable(analysis.graph, entry)}
    cyclic = sorted(
        {name for component in topology.strongly_connected_components(reached) for name in component}
    )
    longest: dict[str, tuple[str, ...]] = {}
    for name in topology.ends_first(reached, skip=frozenset(cyclic)):
        below = [longest[other] for other in reached[name] if other in longest]
        longest[name] = (name, *min(below, key=lambda path: (-len(path), path), default=()))
    chains = [longest[name] for name in starts if name in longest]
    recursive = [name for name in cyclic if analysis.graph.workers[name].recursive]
    through = next(iter((*recursive, *cyclic)), None)
    return Depth(min(chains, key=lambda path: (-len(path), path), default=()), through)
