"""The decisions about the calls of a tree, whatever the way to them: equal for every tree with such rules."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field, replace
from llmdo.policy.authority import decide
from llmdo.policy.composition import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.policy.authority import Capability, FlowRule, Reason, Rule, Verdict
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.premises import Premises
    from llmdo.reach.shapes import Shape


class Ruling(NamedTuple):
    """The decision about one call."""

    number: int
    """The group of shapes that the call is one of."""
    line: int
    """The identity of the row that it belongs to."""
    shape: Shape
    cut: frozenset[str] | None
    """The workers whose ceilings cut it off for all below them; None if that of the whole tree does."""
    verdict: Verdict
    """The verdict if no ceiling cuts it off."""
    rank: object
    """Of calls with equal ranks the nearest is best. A call whose paths must avoid workers has a rank of its own."""


@dataclass
class Rulings:
    """The decisions in every tree with these rules and this ceiling."""

    premises: Premises
    entry: Layer
    """The layer of the whole tree; of all trees with the same ceiling, that of the first."""
    _known: dict[int, tuple[Ruling, ...]] = field(default_factory=dict, compare=False, repr=False)
    _gates: dict[tuple[int, Capability], Verdict] = field(default_factory=dict, compare=False, repr=False)
    """By the identity of the caller's own rules, and the capability of the call."""

    def of(self, number: int) -> tuple[Ruling, ...]:
        """The rulings on the calls of one group of shapes."""
        if (known := self._known.get(number)) is None:
            known = self._known[number] = tuple(self._rule(number))
        return known

    def _rule(self, number: int) -> Iterator[Ruling]:
        group = self.premises.shapes.groups[number]
        layers = (*self.entry.own, *group.own)
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
    def gates_are_open(self) -> bool:
        """Whether no delegation of any worker asks or is blocked."""
        index, shapes = self.premises.workers, self.premises.shapes
        # Workers whose rules decide alike share them.
        callers = {id(rules): name for name, rules in index.own_rules.items()}.values()
        usual = next((name for name in index.names if name not in index.own_rules), None)
        callees = [*shapes.delegates, ""]  # no worker is called so: it stands for all others
        return all(
            self.gate(caller, callee) == "allowed"
            for caller in ([*callers] if usual is None else [usual, *callers])
            for callee in callees
        )

    def gate(self, caller: str, callee: str) -> Decision:
        """The decision over a call of the worker `callee` by the worker `caller`."""
        return self._gate(caller, callee).decision

    def gate_reasons(self, caller: str, callee: str) -> tuple[Reason, ...]:
        """The reasons for the decision, from the caller's own rules: others may decide alike."""
        row, raised = self.premises.shapes.delegating(callee)
        verdict = self._decided(self.premises.layer(caller).own, raised)
        reasons = tuple([replace(reason, capability=row) for reason in verdict.reasons])
        return self.premises.own_reasons(caller, reasons)

    def _gate(self, caller: str, callee: str) -> Verdict:
        rules = self.premises.workers.own_rules.get(caller, ())
        _, raised = self.premises.shapes.delegating(callee)
        key = (id(rules), raised)
        if (known := self._gates.get(key)) is None:
            known = self._gates[key] = self._decided(rules, raised)
        return known

    def _decided(self, own: tuple[Rule | FlowRule, ...], raised: Capability) -> Verdict:
        authority = self.premises.authority(Layer.of_own(self.entry.own), [Layer.of_own(own)])
        return decide([raised], [raised], authority)
