"""What is decided about the calls of a tree, whatever the way to them: the same for every tree with such rules."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field
from llmdo.graph import inventory
from llmdo.policy.authority import decide
from llmdo.policy.composition import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.policy.authority import Capability, Decision, Reason, Rule, Verdict
    from llmdo.reach.premises import Premises
    from llmdo.reach.shapes import Shape


class Ruling(NamedTuple):
    """What is decided about one call."""

    number: int
    """The group of shapes that the call is one of."""
    line: int
    """The identity of the row that it belongs to."""
    shape: Shape
    cut: frozenset[str] | None
    """The workers whose ceilings cut it off for all below them; None where that of the whole tree does."""
    verdict: Verdict
    """Where no ceiling cuts it off."""
    rank: object
    """Of calls with equal ones that is best which is nearest. One of its own where paths have to go around workers."""


@dataclass
class Rulings:
    """What is decided in every tree with these rules and this ceiling."""

    premises: Premises
    entry: Layer
    """What holds for the whole tree; of all trees with the same ceiling, that of the first."""
    _known: dict[int, tuple[Ruling, ...]] = field(default_factory=dict, compare=False, repr=False)

    def of(self, number: int) -> tuple[Ruling, ...]:
        """The rulings on the calls of one group of shapes."""
        if (known := self._known.get(number)) is None:
            known = self._known[number] = tuple(self._rule(number))
        return known

    def _rule(self, number: int) -> Iterator[Ruling]:
        group = self.premises.shapes.groups[number]
        layers = (*self.entry.rules, *group.approvals)
        for shape in group.shapes:
            cut = self._cut(shape.raised)
            verdict = self.premises.verdict(shape, layers)
            rank = object() if cut else (cut is None or verdict.decision, shape.assurance)
            yield Ruling(number, id(shape.row), shape, cut, verdict, rank)

    def _cut(self, raised: frozenset[Capability]) -> frozenset[str] | None:
        own = self.entry.ceiling
        if own is not None and not self.premises.admits(own, raised):
            return None
        return self.premises.cut(raised)

    @cached_property
    def usual_gate(self) -> Decision:
        """The decision over a delegation by a worker without rules of its own."""
        return self._gate(())

    @cached_property
    def gates(self) -> Mapping[str, Decision]:
        """The decision over a delegation by each worker that has rules of its own, where it is not the usual one."""
        approvals = self.premises.workers.own_rules
        # Workers whose rules decide alike share them.
        decisions = {
            id(rules): self._gate(rules)
            for rules in {id(approval): approval for approval in approvals.values()}.values()
        }
        usual = self.usual_gate
        unusual = {known for known, decision in decisions.items() if decision != usual}
        return {name: decisions[id(rules)] for name, rules in approvals.items() if id(rules) in unusual}

    @cached_property
    def gates_are_open(self) -> bool:
        """Whether no delegation of any worker asks or is blocked."""
        return self.usual_gate == "allowed" and not self.gates

    def gate_reasons(self, name: str) -> tuple[Reason, ...]:
        """Why a delegation by the worker `name` is decided so."""
        return self._verdict(self.premises.workers.own_rules.get(name, ())).reasons

    def _gate(self, approvals: tuple[Rule, ...]) -> Decision:
        return self._verdict(approvals).decision

    def _verdict(self, approvals: tuple[Rule, ...]) -> Verdict:
        authority = self.premises.authority(Layer(self.entry.rules), [Layer(approvals)])
        return decide([inventory.DELEGATE], [inventory.DELEGATE], authority)
