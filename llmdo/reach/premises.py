"""The basis of every decision about reach: rules and ceilings of a graph, possible calls, and rulings on them."""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field, replace
from llmdo.policy.authority import Rule, decide
from llmdo.policy.composition import NO_LAYER, Base, ClientRules, Layer, authority_of
from llmdo.reach.shapes import Shape, Shapes, shown, written
from llmdo.reach.workers import WorkerIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Graph
    from llmdo.policy.authority import Authority, Capability, Ceiling, Reason, Verdict
    from llmdo.policy.composition import OwnRule
    from llmdo.policy.vocabulary import Decision


@dataclass
class Premises:
    """A graph with a person's rules; decisions that hold for a call on every path are made once."""

    graph: Graph
    policy: tuple[Rule, ...] = ()
    """Rules of the person's `policy.toml`."""
    also: tuple[Capability, ...] | None = None
    """The capabilities that two analyses name: with them all tools get a row for each class of scopes, to compare."""
    index: WorkerIndex | None = field(default=None, compare=False, repr=False)
    """The index of another analysis of the same graph."""
    _verdicts: dict[tuple[OwnRule, ...], dict[Shape, Verdict]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _inside: dict[int, tuple[Ceiling, dict[frozenset[Capability], bool]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _cuts: dict[frozenset[Capability], frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def workers(self) -> WorkerIndex:
        """The workers of the graph, numbered."""
        return self.index or WorkerIndex(self.graph)

    @cached_property
    def base(self) -> Base:
        """The rules and ceilings that count for every call."""
        return Base.of(self.graph, self.policy)

    @cached_property
    def _base_by_name(self) -> Mapping[str, Sequence[tuple[int, Rule]]]:
        """The base rules by the name in them, each with its position."""
        by_name: dict[str, list[tuple[int, Rule]]] = {}
        for position, rule in enumerate(self.base.rules):
            by_name.setdefault(rule.capability.name, []).append((position, rule))
        return by_name

    @cached_property
    def ceilings(self) -> Mapping[str, Ceiling]:
        """The ceiling of each worker that has one."""
        return {name: layer.ceiling for name, layer in self._layers.items() if layer.ceiling is not None}

    @cached_property
    def _layers(self) -> Mapping[str, Layer]:
        return {worker.name: Layer.of_worker(worker) for worker in self.workers.governed}

    def layer(self, worker: str) -> Layer:
        """The layer that a worker adds to the base."""
        return self._layers.get(worker, NO_LAYER)

    @cached_property
    def _ceilings_alike(self) -> Sequence[tuple[Ceiling, Sequence[str]]]:
        """The different ceilings, each with its workers."""
        alike: dict[int, tuple[Ceiling, list[str]]] = {}
        for name, ceiling in self.ceilings.items():
            # Those that say the same are mostly one object; others only cost time.
            alike.setdefault(id(ceiling.capabilities), (ceiling, []))[1].append(name)
        return list(alike.values())

    @cached_property
    def named(self) -> frozenset[Capability]:
        """Every capability that a rule, a ceiling or `also` names."""
        return written(self.workers).union(
            (rule.capability for rule in self.base.tightening), self._of_flows, self.also or ()
        )

    @property
    def _of_flows(self) -> Iterable[Capability]:
        """The capabilities that flow rules and labelled sources name."""
        for flow in self.graph.all_flows:
            yield from (*flow.sources, flow.to)
        for source in self.graph.sources:
            yield source.capability

    @cached_property
    def written(self) -> tuple[Capability, ...]:
        """Those of `named` with a scope, sorted."""
        return tuple(
            sorted((capability for capability in self.named if capability.scope is not None), key=str)
        )

    @cached_property
    def shapes(self) -> Shapes:
        """The calls that the workers can make."""
        names = {capability.name for capability in self.named} | {
            rule.capability.name for rule in self.base.rules
        }
        return Shapes(self.workers, self.written, frozenset(names), self.also is not None)

    def authority(self, entry: Layer, path: Sequence[Layer] = ()) -> Authority:
        """The authority over the calls of the last worker on a path below an entry."""
        return authority_of(self.base, entry, path)

    def verdict(self, shape: Shape, layers: tuple[OwnRule, ...]) -> Verdict:
        """The decision over a call by the layers, as far as no ceiling cuts it off; its reasons name the row."""
        # Only rules for the name or for what is above it can have a say.
        raised = [capability.name for capability in shape.raised]
        layers = tuple(
            [
                rule
                for rule in layers
                if isinstance(rule, ClientRules)
                or any(map((rule.capability if isinstance(rule, Rule) else rule.to).covers_name, raised))
            ]
        )
        known = self._verdicts.setdefault(layers, {})
        if (verdict := known.get(shape)) is None:
            base = [
                positioned
                for name in {label for raised in shape.raised for label in raised.names}
                for positioned in self._base_by_name.get(name, ())
            ]
            base.sort(key=itemgetter(0))
            narrowed = replace(self.base, rules=tuple([rule for _, rule in base]))
            authority = authority_of(narrowed, Layer.of_own(layers))
            verdict = known[shape] = shown(decide(shape.raised, shape.declared, authority), shape)
        return verdict

    def own_reasons(self, worker: str, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
        """Reasons for a call of `worker`, with the places of its own rules: equal rules are shared between workers.

        In a project of another tool the rules for all agents are only the mildest of each: an agent's own rule replaces
        them.
        """
        layer = self.layer(worker)
        own = {rule: rule for rule in layer.rules}
        mine = tuple(
            [replace(reason, rule=own[reason.rule]) if reason.rule in own else reason for reason in reasons]
        )
        if not (self.graph.read_from or layer.client):
            return mine
        settled = {reason.capability for reason in mine if reason.rule in own}
        rules = layer.client.rules if layer.client else self.graph.rules
        return tuple(
            [
                each
                for each in mine
                if each.capability not in settled or each.rule not in rules or each.rule in own
            ]
        )

    def admits(self, ceiling: Ceiling, raised: frozenset[Capability]) -> bool:
        """Whether a call that raises these capabilities lies inside `ceiling`."""
        # By identity, for hashing them would take longer; the first ceiling keeps them alive.
        known = self._inside.setdefault(id(ceiling.capabilities), (ceiling, {}))[1]
        if (inside := known.get(raised)) is None:
            inside = known[raised] = all(map(ceiling.admits, raised))
        return inside

    def cut(self, raised: frozenset[Capability]) -> frozenset[str]:
        """The workers whose ceilings do not admit a call that raises these capabilities."""
        if (known := self._cuts.get(raised)) is None:
            known = self._cuts[raised] = frozenset(
                name
                for ceiling, names in self._ceilings_alike
                if not self.admits(ceiling, raised)
                for name in names
            )
        return known


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

    def _decided(self, own: tuple[OwnRule, ...], raised: Capability) -> Verdict:
        authority = self.premises.authority(Layer.of_own(self.entry.own), [Layer.of_own(own)])
        return decide([raised], [raised], authority)
