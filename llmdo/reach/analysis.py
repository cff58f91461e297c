"""A graph prepared for questions about reach."""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass, field
from llmdo.graph import inventory
from llmdo.graph.resolved import Reference
from llmdo.policy.authority import Authority, Ceiling, base_rules, decide
from llmdo.reach.bounds import Bounds
from llmdo.reach.rulings import Rulings
from llmdo.reach.shapes import Shape, Shapes, assurance_of, written
from llmdo.reach.walk import Walk, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry, Graph, Worker
    from llmdo.policy.authority import Capability, Rule, Verdict
    from llmdo.reach.rows import Row


@dataclass(frozen=True)
class Analysis:
    """A graph prepared for questions about reach; what several entries need is worked out once."""

    graph: Graph
    policy: tuple[Rule, ...] = ()
    """Rules of the person's `policy.toml`."""
    also: tuple[Capability, ...] | None = None
    """What two analyses name together: with it all tools get a row for each class of scopes, so rows compare."""
    _answers: dict[tuple[str, str, bool, str | None], tuple[Row, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _verdicts: dict[tuple[Rule, ...], dict[Shape, Verdict]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _inside: dict[int, tuple[Ceiling, dict[frozenset[Capability], bool]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _ruled: dict[tuple[tuple[Rule, ...], tuple[Capability, ...] | None], Rulings] = field(
        default_factory=dict, compare=False, repr=False
    )
    _cuts: dict[frozenset[Capability], frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def base(self) -> tuple[Rule, ...]:
        """The base rules of the workspace."""
        return base_rules(self.graph.rules)

    @cached_property
    def _base_by_name(self) -> Mapping[str, Sequence[tuple[int, Rule]]]:
        """The base rules by the name in them, each with its position."""
        found: dict[str, list[tuple[int, Rule]]] = {}
        for position, rule in enumerate(self.base):
            found.setdefault(rule.capability.name, []).append((position, rule))
        return found

    @cached_property
    def ceilings(self) -> Mapping[str, Ceiling]:
        """The ceiling of each worker that has one."""
        return {
            worker.name: _worker_ceiling(worker) for worker in self.graph.governed if worker.may is not None
        }

    @cached_property
    def _ceilings_alike(self) -> Sequence[tuple[Ceiling, Sequence[str]]]:
        """The ceilings that differ, each with the workers that have such a one."""
        alike: dict[int, tuple[Ceiling, list[str]]] = {}
        for worker in self.graph.governed:
            if worker.may is not None:
                # Those that say the same are mostly one object; others only cost time.
                if (known := alike.get(id(worker.may))) is None:
                    known = alike[id(worker.may)] = (_worker_ceiling(worker), [])
                known[1].append(worker.name)
        return list(alike.values())

    @cached_property
    def _named(self) -> frozenset[Capability]:
        """Every capability that a rule, a ceiling or `also` names."""
        return written(self.graph).union((rule.capability for rule in self.policy), self.also or ())

    @cached_property
    def written(self) -> tuple[Capability, ...]:
        """Those of them with a scope, sorted."""
        return tuple(sorted((one for one in self._named if one.scope is not None), key=str))

    @cached_property
    def shapes(self) -> Shapes:
        """The calls that the workers can make."""
        names = {one.name for one in self._named} | {rule.capability.name for rule in self.base}
        return Shapes(self.graph, self.written, frozenset(names), self.also is not None)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the workers, by their places."""
        return tuple(self.graph.workers)

    @cached_property
    def bounds(self) -> Bounds:
        """What could be reached at most."""
        return Bounds(self.graph.edges, self.shapes)

    @cached_property
    def height(self) -> int | None:
        """How many delegations the longest chain of all takes; None where chains run in circles."""
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

    def of(self, entry: Entry, *, ceiling: bool = True, toolset: str | None = None) -> tuple[Row, ...]:
        """The reach of `entry`, the gravest first; without its own ceiling if `ceiling` is false.

        That is: what is allowed before what asks, what is blocked last, and within these by `authority.gravity`.
        Where `toolset` is given, what is raised by that toolset.
        """
        question = ("entry", entry.name, ceiling, toolset)
        if question not in self._answers:
            calls = self.calls_of(entry) if entry.worker is None else ()
            self._answers[question] = rows_of(self.walk(entry, ceiling=ceiling), calls, toolset)
        return self._answers[question]

    def walk(self, entry: Entry, *, ceiling: bool = True) -> Walk:
        """The tree of calls that `entry` starts; without its own ceiling if `ceiling` is false."""
        own = entry_ceiling(entry) if ceiling else None
        return Walk(self._rulings(entry.approvals, own), starts_of(self.graph, entry), own)

    def walk_below(self, name: str) -> Walk:
        """The tree of calls below the worker `name`: without its own ceiling, and without any entry."""
        return Walk(self._rulings((), None), (name,), ignored=name)

    def of_worker(self, name: str, *, toolset: str | None = None) -> tuple[Row, ...]:
        """The reach of the worker `name` with everything below it: without its own ceiling, and without any entry.

        Where `toolset` is given, what is raised by that toolset.
        """
        question = ("worker", name, False, toolset)
        if question not in self._answers:
            self._answers[question] = rows_of(self.walk_below(name), toolset=toolset)
        return self._answers[question]

    def _rulings(self, layers: tuple[Rule, ...], own: Ceiling | None) -> Rulings:
        """The rulings for entries with these rules and this ceiling."""
        key = (layers, own.capabilities if own else None)
        if (known := self._ruled.get(key)) is None:
            known = self._ruled[key] = Rulings(self, layers, own)
        return known

    def authority(
        self, layers: tuple[Rule, ...], ceilings: tuple[Ceiling, ...], base: tuple[Rule, ...] | None = None
    ) -> Authority:
        """What has a say over a call, given the layers, the ceilings on its path and the base rules that matter."""
        default = self.graph.settings.default
        base = self.base if base is None else base
        return Authority(base=base, default=default, layers=(*layers, *self.policy), ceilings=ceilings)

    def verdict(self, shape: Shape, layers: tuple[Rule, ...]) -> Verdict:
        """The decision over a call, given the layers, as far as no ceiling cuts it off; its reasons name the row."""
        # Only rules for the name or for what is above it can have a say.
        raised = [one.name for one in shape.raised]
        layers = tuple([rule for rule in layers if any(map(rule.capability.covers_name, raised))])
        known = self._verdicts.setdefault(layers, {})
        if (verdict := known.get(shape)) is None:
            base = [
                positioned
                for name in {label for raised in shape.raised for label in raised.names}
                for positioned in self._base_by_name.get(name, ())
            ]
            base.sort(key=itemgetter(0))
            authority = self.authority(layers, (), tuple([rule for _, rule in base]))
            verdict = known[shape] = shown(decide(shape.raised, shape.declared, authority), shape)
        return verdict

    def admits(self, ceiling: Ceiling, raised: frozenset[Capability]) -> bool:
        """Whether a call that raises this lies inside `ceiling`."""
        # By identity, for hashing them would take longer; the first ceiling keeps them alive.
        known = self._inside.setdefault(id(ceiling.capabilities), (ceiling, {}))[1]
        if (inside := known.get(raised)) is None:
            inside = known[raised] = all(map(ceiling.admits, raised))
        return inside

    def cut(self, raised: frozenset[Capability]) -> frozenset[str]:
        """The workers whose ceilings do not admit a call that raises this."""
        if (known := self._cuts.get(raised)) is None:
            known = self._cuts[raised] = frozenset(
                name
                for ceiling, names in self._ceilings_alike
                if not self.admits(ceiling, raised)
                for name in names
            )
        return known

    def calls_of(self, entry: Entry) -> Iterator[tuple[Shape, Reference]]:
        """What `entry` raises by its own tool, and what its code can raise by calling workers with files."""
        if (own := inventory.own_tool(self.graph, entry)) and entry.tool and entry.use:
            assurance = assurance_of(self.graph, entry.use.name)
            called = Reference(entry.use.name, entry.tool.at)
            for row, raised, declared in self.shapes.of_tool(own, delegation=False):
                yield Shape(row, raised, declared, entry.use.name, own.name, assurance), called
        for called in entry.calls:
            if callee := self.graph.workers.get(called.name):
                tool = inventory.delegation(self.graph, None, callee)
                for row, raised, declared in self.shapes.of_tool(tool, delegation=True):
                    yield Shape(row, raised, declared, "", callee.name, "enforced"), called


def starts_of(graph: Graph, entry: Entry) -> tuple[str, ...]:
    """The workers of the graph that `entry` calls itself, sorted."""
    return tuple(sorted({start.name for start in entry.starts if start.name in graph.workers}))


def _worker_ceiling(worker: Worker) -> Ceiling:
    return Ceiling(worker.may or (), f"worker `{worker.name}`", worker.may_at)


def entry_ceiling(entry: Entry) -> Ceiling | None:
    """The ceiling that `entry` declares; None where it declares none."""
    return None if entry.may is None else Ceiling(entry.may, f"entry `{entry.name}`", entry.may_at)
