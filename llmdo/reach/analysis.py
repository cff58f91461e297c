"""A graph prepared for questions about reach, with an upper bound of it, and the depth of its delegations."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass, field, replace
from llmdo.graph import code_calls, toolkit
from llmdo.graph.keys import Reference
from llmdo.policy.composition import NO_LAYER, Layer
from llmdo.reach.premises import Premises, Rulings
from llmdo.reach.shapes import Shape, assurance_of
from llmdo.reach.walk import Walk, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.authority import Capability, Ceiling
    from llmdo.policy.composition import OwnRule
    from llmdo.reach.rows import Row
    from llmdo.reach.shapes import Shapes


@dataclass(frozen=True)
class Bounds:
    """The bounds of all workers of a graph, as sets of bits: one for each row."""

    edges: Mapping[str, Sequence[str]]
    shapes: Shapes

    @cached_property
    def _bits(self) -> tuple[tuple[Capability, ...], tuple[int, ...]]:
        """Every row, and the set of rows of each group."""
        rows: dict[int, Capability] = {}
        positions: dict[int, int] = {}
        masks = []
        for group in self.shapes.groups:
            mask = 0
            for shape in group.shapes:
                position = positions.setdefault(id(shape.row), len(positions))
                rows[position] = shape.row
                mask |= 1 << position
            masks.append(mask)
        return tuple(rows.values()), tuple(masks)

    @cached_property
    def _below(self) -> Mapping[str, int]:
        """Each worker's bound: its own rows and those of all below it."""
        masks = self._bits[1]
        masks_of: dict[tuple[int, ...], int] = {}
        all_own: dict[str, int] = {}
        for name, groups in zip(self.edges, self.shapes.by_node, strict=True):
            if (mask := masks_of.get(groups)) is None:
                mask = 0
                for group in groups:
                    mask |= masks[group]
                masks_of[groups] = mask
            all_own[name] = mask
        return topology.gathered(self.edges, all_own)

    def of(self, starts: Iterable[str]) -> int:
        """The bound of all these workers together."""
        bound = 0
        for name in starts:
            bound |= self._below[name]
        return bound

    def rows_where(self, holds: Callable[[Capability], bool]) -> int:
        """The set of the rows for which `holds` is true."""
        rows = self._bits[0]
        return sum(1 << position for position, row in enumerate(rows) if holds(row))

    def shapes_where(self, holds: Callable[[Shape], bool]) -> int:
        """The set of the rows that have a shape for which `holds` is true."""
        rows = {id(row): 1 << position for position, row in enumerate(self._bits[0])}
        bits = 0
        for group in self.shapes.groups:
            for shape in group.shapes:
                if holds(shape):
                    bits |= rows[id(shape.row)]
        return bits


@dataclass
class Analysis(Premises):
    """A graph prepared for questions about reach; results that several entries need are computed once."""

    _answers: dict[tuple[str, str, bool, str | None, str | None], tuple[Row, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _ruled: dict[tuple[tuple[OwnRule, ...], tuple[Capability, ...] | None], Rulings] = field(
        default_factory=dict, compare=False, repr=False
    )

    _cut: Analysis | None = field(default=None, compare=False, repr=False)
    last_spread: object = field(default=None, compare=False, repr=False)
    """The labels below the entry that was last asked about, as `flows` keeps them."""

    def cut_by(self, also: tuple[Capability, ...]) -> Analysis:
        """The analysis whose classes of scopes are cut by the scopes in `also` as well; the last one is kept."""
        if self._cut is None or self._cut.also != also:
            self._cut = Analysis(self.graph, self.policy, also, index=self.workers)
        return self._cut

    @cached_property
    def bounds(self) -> Bounds:
        """The upper bounds of reach."""
        return Bounds(self.graph.edges, self.shapes)

    @cached_property
    def height(self) -> int | None:
        """The number of delegations in the longest chain of all; None if chains run in circles."""
        heights: dict[str, int] = {}
        edges = self.graph.edges
        for name in topology.ends_first(edges, frozenset()):
            if not all(other in heights for other in edges[name]):
                return None
            heights[name] = max([heights[other] + 1 for other in edges[name]], default=0)
        return max(heights.values(), default=0)

    def may_reach(self, entry: Entry, rows: int) -> bool:
        """Whether `entry` may reach one of these rows, by the bounds; no is certain."""
        # What a function or a tool does itself is in no bound.
        return entry.worker is None or bool(self.bounds.of(starts_of(self.graph, entry)) & rows)

    def of(
        self, entry: Entry, *, ceiling: bool = True, toolset: str | None = None, tool: str | None = None
    ) -> tuple[Row, ...]:
        """The reach of `entry`, the worst first; without its own ceiling if `ceiling` is false.

        Allowed rows come before asking ones, blocked ones last, each sorted by `authority.gravity`. With `toolset` or
        `tool`, the reach of its calls alone.
        """
        question = ("entry", entry.name, ceiling, toolset, tool)
        if question not in self._answers:
            calls = self.calls_of(entry) if entry.worker is None else ()
            self._answers[question] = rows_of(self.walk(entry, ceiling=ceiling), calls, toolset, tool)
        return self._answers[question]

    def walk(self, entry: Entry, *, ceiling: bool = True) -> Walk:
        """The tree of calls that `entry` starts; without its own ceiling if `ceiling` is false."""
        layer = Layer.of_entry(entry)
        layer = layer if ceiling else replace(layer, ceiling=None)
        return Walk(self._rulings(layer), starts_of(self.graph, entry), layer)

    def through(self, above: Walk, name: str) -> tuple[Row, ...]:
        """The reach of the worker `name` and everything below it in a larger tree, by the ways of that to it."""
        return rows_of(Walk(above.rulings, (name,), above.entry, above=above))

    def walk_below(self, name: str) -> Walk:
        """The tree of calls below the worker `name`: without its own ceiling, and without any entry."""
        return Walk(self._rulings(NO_LAYER), (name,), ignored=name)

    def of_worker(self, name: str, *, toolset: str | None = None, tool: str | None = None) -> tuple[Row, ...]:
        """The reach of the worker `name` and everything below it, without its own ceiling and without any entry.

        With `toolset` or `tool`, the reach of its calls alone.
        """
        question = ("worker", name, False, toolset, tool)
        if question not in self._answers:
            self._answers[question] = rows_of(self.walk_below(name), toolset=toolset, tool=tool)
        return self._answers[question]

    def _rulings(self, entry: Layer) -> Rulings:
        """The rulings for entries with these rules and this ceiling."""
        key = (entry.own, entry.ceiling.capabilities if entry.ceiling else None)
        if (known := self._ruled.get(key)) is None:
            known = self._ruled[key] = Rulings(self, entry)
        return known

    def calls_of(self, entry: Entry) -> Iterator[tuple[Shape, Reference]]:
        """The calls of `entry` by its own tool, and those by its code: of tools, and of workers, also with files."""
        if (own := toolkit.own_tool(self.graph, entry)) and entry.tool and entry.use:
            assurance = assurance_of(self.graph, entry.use.name)
            called = Reference(entry.use.name, entry.tool.at)
            for row, raised, declared in self.shapes.of_tool(own, delegation=False):
                yield (
                    Shape(self.shapes.line(row), raised, declared, entry.use.name, own.name, assurance),
                    called,
                )
        for call in code_calls.calls_below(self.graph, code_calls.codes_of(self.graph, entry)):
            toolset = call.use.name
            assurance = assurance_of(self.graph, toolset)
            named = Reference(toolset, call.named.at)
            for row, raised, declared in self.shapes.of_tool(call.tool, delegation=False):
                yield (
                    Shape(self.shapes.line(row), raised, declared, toolset, call.tool.name, assurance),
                    named,
                )
        for called in entry.delegates:
            if callee := self.graph.workers.get(called.name):
                tool = toolkit.delegation(self.graph, None, callee)
                for row, raised, declared in self.shapes.of_tool(tool, delegation=True):
                    yield Shape(self.shapes.line(row), raised, declared, "", callee.name, "enforced"), called


def starts_of(graph: Graph, entry: Entry) -> tuple[str, ...]:
    """The workers of the graph that `entry` calls itself, sorted."""
    return tuple(sorted({start.name for start in entry.starts if start.name in graph.workers}))


def entry_ceiling(entry: Entry) -> Ceiling | None:
    """The ceiling that `entry` declares; None where it declares none."""
    return Layer.of_entry(entry).ceiling


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
