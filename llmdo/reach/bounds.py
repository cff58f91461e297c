"""The upper bound of reach: every row that any chain of delegations leads to, whatever the decisions.

Cheap, and never too small: nobody has to look for paths if a bound lies inside the limit in question.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llmdo.policy.authority import Capability
    from llmdo.reach.shapes import Shape, Shapes


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
