"""The reach of entries, and of workers below them, before and after, compared row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.diff.difference import RowChange
from llmdo.graph import code_calls, toolkit
from llmdo.graph.unseen import unseen_in
from llmdo.policy.authority import (
    STRICTNESS,
    Capability,
    gravity,
    scope_contains,
    scope_order,
)
from llmdo.reach.rows import with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.diff.difference import Kind
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.settings import Acceptance
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach import Analysis, Row, Walk


@dataclass
class _Side:
    """One of the two graphs, and the trees of calls of its entries."""

    analysis: Analysis

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.analysis.graph

    @cached_property
    def walks(self) -> Mapping[str, Walk]:
        """The tree of each entry."""
        return {name: self.analysis.walk(entry) for name, entry in self.graph.entries.items()}

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, ...]]:
        """The entries that reach a worker, sorted."""
        reaching: dict[str, list[str]] = {}
        for entry in self.graph.entries.values():
            for name in toolkit.reachable(self.graph, entry):
                reaching.setdefault(name, []).append(entry.name)
        return {name: tuple(sorted(entries)) for name, entries in reaching.items()}

    def of_entry(self, name: str) -> Mapping[Capability, Row]:
        """The rows of an entry; nothing if there is none of that name."""
        declared = self.graph.entries.get(name)
        return {row.capability: row for row in self.analysis.of(declared)} if declared else {}

    def of_worker(self, name: str) -> Mapping[Capability, Row]:
        """The rows of a worker and all below it, in any of the trees that it is part of."""
        rows: list[Row] = []
        alike: dict[object, list[Entry]] = {}
        for entry in map(self.graph.entries.__getitem__, self.entries.get(name, ())):
            alike.setdefault((entry.approvals, entry.may), []).append(entry)
        for entries in alike.values():
            # Below an entry that starts this very worker it can do most of all that entries with such rules let it.
            first = next((each for each in entries if each.worker and each.worker.name == name), None)
            if first is not None:
                rows = with_rows(rows, self.analysis.of(first))
                continue
            for entry in entries:
                rows = with_rows(rows, self.analysis.through(self.walks[entry.name], name))
        return {row.capability: row for row in rows}


@dataclass
class Comparison:
    """Two graphs, cut into the same classes of scopes and asked about the same names.

    So a row of one is about the same calls as that of the other.
    """

    before: Analysis
    after: Analysis

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        both = (self.before, self.after)
        named = {Capability(capability.name) for analysis in both for capability in analysis.named}
        scopes = [scope for analysis in both for scope in scopes_of(analysis)]
        also = tuple(sorted({*scopes, *named}, key=str))
        return _Side(self.before.cut_by(also)), _Side(self.after.cut_by(also))

    def of_entry(self, name: str) -> tuple[RowChange, ...]:
        """The changed reach of an entry of either graph."""
        old, new = self._sides
        return self._known((name,), old.of_entry(name), new.of_entry(name))

    def of_worker(self, name: str) -> tuple[RowChange, ...]:
        """The changed reach of a worker of either graph, with all below it."""
        old, new = self._sides
        return self._known(self.entries_of(name), old.of_worker(name), new.of_worker(name))

    def _known(
        self, entries: Sequence[str], before: Mapping[Capability, Row], after: Mapping[Capability, Row]
    ) -> tuple[RowChange, ...]:
        """The changes, without the loss of rows of toolsets not seen yet: these may raise the same as before."""
        changes = _changes(entries, before, after, self.after.graph.acceptances)
        unseen = unseen_in(self.after.graph)
        return tuple(
            change
            for change in changes
            if not (change.effect == "narrows" and change.before and change.before.shape.toolset in unseen)
        )

    def entries_of(self, worker: str) -> tuple[str, ...]:
        """The entries that reach a worker; for one that is gone, those that did."""
        old, new = self._sides
        return new.entries.get(worker) or old.entries.get(worker, ())


def acceptance_for_all(
    acceptances: Iterable[Acceptance], capability: Capability, entries: Iterable[str], *, gated: bool
) -> Acceptance | None:
    """The acceptance that covers a widening of each of the entries, the first of several; None unless all are."""
    acceptances = tuple(acceptances)
    covering = [acceptance_of(acceptances, capability, entry, gated=gated) for entry in entries]
    return covering[0] if covering and all(covering) else None


def acceptance_of(
    acceptances: Iterable[Acceptance], capability: Capability, entry: str | None, *, gated: bool
) -> Acceptance | None:
    """The acceptance that covers a widening of `entry` by `capability`; None if none does.

    As with ceilings, a wider acceptance does not cover capabilities that count only by their full name. A widening of
    no single entry is covered only by an acceptance that names none. `gated`: whether somebody is asked, which some
    acceptances rely on.
    """
    for acceptance in acceptances:
        if (
            acceptance.capability is None
            or acceptance.entry not in (None, entry)
            or (acceptance.gated and not gated)
        ):
            continue
        if acceptance.capability.grants(capability):
            return acceptance
    return None


def scopes_of(analysis: Analysis) -> Iterator[Capability]:
    """Every capability with a scope that anything in the graph names."""
    graph = analysis.graph
    yield from analysis.written
    for acceptance in graph.acceptances:
        if acceptance.capability and acceptance.capability.scope is not None:
            yield acceptance.capability
    for entry in graph.entries.values():
        for own in code_calls.own_tools(graph, entry):
            yield from (capability for capability in own.capabilities if capability.scope is not None)
    seen: set[object] = set()
    # Whichever delegate takes files, what may be handed to it is the same; and equal lines are one object.
    handing: set[tuple[int, bool]] = set()
    for (name, worker), lines, delegates in zip(
        graph.workers.items(), graph.lines.values(), graph.edges.values(), strict=True
    ):
        taker = next((each for each in delegates if not graph.workers[each].attachments.are_refused), None)
        kind = (id(lines), taker is None)
        if kind in handing:
            continue
        handing.add(kind)
        uses = [graph.use(name, used) for used, text in lines if (used, text) not in seen]
        seen.update(lines)
        if taker and (handed := dict(lines).get("filesystem")) not in seen:
            uses.append(graph.use(name, taker))
            seen.add(handed)
        for use in uses:
            for tool in code_calls.tools_with_calls(graph, worker, use):
                yield from (capability for capability in tool.capabilities if capability.scope is not None)


def _changes(
    entries: Sequence[str],
    before: Mapping[Capability, Row],
    after: Mapping[Capability, Row],
    acceptances: Sequence[Acceptance],
) -> Iterator[RowChange]:
    changes: dict[Capability, RowChange] = {}
    for capability in {*before, *after}:
        old, new = before.get(capability), after.get(capability)
        if kind := _kind(old, new):
            change = RowChange(kind=kind, capability=capability, elsewhere=False, before=old, after=new)
            if change.effect == "widens":
                gated = _decision(new) == "needs_approval"
                accepted = acceptance_for_all(acceptances, capability, entries, gated=gated)
                change = replace(change, accepted=accepted)
            changes[capability] = change
    changes = {capability: change for capability, change in changes.items() if _tells(change, changes)}
    shown = _folded(changes, {*before, *after})
    return iter(sorted(shown, key=_gravity))


def _gravity(change: RowChange) -> tuple[bool, int, tuple[int, str]]:
    """A sort key by which widening changes come first, and of those the gravest."""
    return change.effect != "widens", STRICTNESS[_decision(change.after)], gravity(change.capability)


def _tells(change: RowChange, changes: Mapping[Capability, RowChange]) -> bool:
    """Whether a change says more than that of a wider row; always true of a declared name."""
    rows = [row for row in (change.before, change.after) if row]
    if not all(row.implied for row in rows):
        return True
    wider = (changes[outer] for outer in change.capability.around if outer in changes)
    return not any(
        outer is not change
        and outer.effect == change.effect
        and (outer.accepted is None) == (change.accepted is None)
        for outer in wider
    )


def _kind(before: Row | None, after: Row | None) -> Kind | None:
    if after and after.is_unseen:
        return "unknown"
    old, new = _decision(before), _decision(after)
    if old != new:
        if "blocked" in (old, new):
            return "gained" if old == "blocked" else "lost"
        return "gate removed" if STRICTNESS[new] < STRICTNESS[old] else "gate added"
    if before and after and old != "blocked" and before.assurance != after.assurance:
        return "assurance"
    return None


def _decision(row: Row | None) -> Decision:
    return row.decision if row else "blocked"


def _folded(changes: Mapping[Capability, RowChange], known: Iterable[Capability]) -> Iterator[RowChange]:
    """The changes without those that say the same of a narrower scope as of the one around it."""
    leader: dict[Capability, Capability] = {}
    divided: set[Capability] = set()
    around: list[Capability] = []
    for capability in sorted(known, key=lambda key: (key.name, scope_order(key.scope))):
        while around and not (
            around[-1].name == capability.name and scope_contains(around[-1].scope, capability.scope)
        ):
            around.pop()
        leader[capability] = capability
        if around and capability in changes and around[-1] in changes:
            outer = around[-1]
            if _look(changes[outer]) == _look(changes[capability]):
                leader[capability] = leader[outer]
        divided.update(wider for wider in around if leader[wider] != leader[capability])
        around.append(capability)
    for capability, change in changes.items():
        if leader[capability] == capability:
            yield replace(change, elsewhere=capability in divided)


def _look(change: RowChange) -> object:
    """A change as a reader sees it, apart from the scope."""
    sides = [
        (row.decision, row.assurance, row.path, row.tool) if row and row.decision != "blocked" else None
        for row in (change.before, change.after)
    ]
    return (change.kind, change.accepted, *sides)
