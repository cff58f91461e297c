"""The workers of a graph as the search sees them: numbered, and those alike together."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass
from llmdo.policy.authority import Rule
from llmdo.policy.composition import ClientRules, Layer
from llmdo.policy.flow import NO_FLOWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Worker
    from llmdo.policy.composition import OwnRule


class _Sorted(NamedTuple):
    """The workers sorted by their differences other than names."""

    governed: tuple[Worker, ...]
    rules: Mapping[str, tuple[OwnRule, ...]]
    alike: tuple[Sequence[int], ...]
    without_files: frozenset[str]


@dataclass(frozen=True)
class WorkerIndex:
    """The workers of a graph as numbered nodes, and which of them are alike; each computed on first use."""

    graph: Graph

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the workers, by their nodes."""
        return tuple(self.graph.workers)

    @cached_property
    def nodes(self) -> Mapping[str, int]:
        """The number of each worker, in the order of the graph."""
        return {name: node for node, name in enumerate(self.graph.workers)}

    @cached_property
    def edges(self) -> Sequence[tuple[int, ...]]:
        """The edges of the graph from and to nodes, which are quicker to follow than names."""
        node_of = self.nodes.__getitem__
        return [tuple(map(node_of, delegates)) for delegates in self.graph.edges.values()]

    @property
    def governed(self) -> tuple[Worker, ...]:
        """The workers that have rules or a ceiling of their own."""
        return self._sorted.governed

    @property
    def own_rules(self) -> Mapping[str, tuple[OwnRule, ...]]:
        """Worker to its own rules, if any: for workers whose rules decide alike, those of the first.

        Flow rules that hold before anything was read are among them.
        """
        return self._sorted.rules

    @property
    def alike(self) -> tuple[Sequence[int], ...]:
        """All nodes, grouped: workers with equal `lines` and `own_rules`, either with delegates or without."""
        return self._sorted.alike

    @property
    def without_files(self) -> frozenset[str]:
        """The workers to which callers may pass no files."""
        return self._sorted.without_files

    @cached_property
    def _sorted(self) -> _Sorted:
        """One pass over all workers: there are many."""
        graph = self.graph
        governed: list[Worker] = []
        rules: dict[str, tuple[OwnRule, ...]] = {}
        first_rules: dict[object, tuple[OwnRule, ...]] = {}
        alike: dict[object, list[int]] = {}
        without_files: list[str] = []
        of_all = zip(graph.workers.items(), graph.lines.values(), graph.edges.values(), strict=True)
        for node, ((name, worker), lines, delegates) in enumerate(of_all):
            own: tuple[OwnRule, ...] = ()
            if worker.approvals or worker.flows is not NO_FLOWS or worker.format:
                is_plain = worker.flows is NO_FLOWS and worker.format is None
                stated = worker.approvals if is_plain else Layer.of_worker(worker).own
                own = first_rules.setdefault(_decided(stated), stated)
            if own:
                rules[name] = own
            if own or worker.may is not None or worker.flows is not NO_FLOWS or worker.format:
                governed.append(worker)
            if worker.attachments.are_refused:
                without_files.append(name)
            # By identity: equal lines are one object, and so are rules that decide alike.
            alike.setdefault((id(lines), id(own), not delegates), []).append(node)
        return _Sorted(tuple(governed), rules, tuple(alike.values()), frozenset(without_files))


def _decided(rules: Iterable[OwnRule]) -> object:
    """The decisions of rules, whoever made them."""
    return tuple([_decision(rule) for rule in rules])


def _decision(rule: OwnRule) -> object:
    if isinstance(rule, ClientRules):
        return _decided(rule.rules)
    if isinstance(rule, Rule):
        return rule.capability.name, rule.capability.scope, rule.decision, rule.but
    return rule.flow, "", rule.decision
