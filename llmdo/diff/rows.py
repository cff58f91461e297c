"""The reach of entries and of workers below them, and the effects after a stranger's words, before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.diff.difference import Change, EntryDifference, RowChange, verdict_of
from llmdo.graph import code_calls, toolkit
from llmdo.graph.toolkit import unseen_in
from llmdo.policy.authority import (
    STRICTNESS,
    Capability,
    gravity,
    scope_contains,
    scope_order,
)
from llmdo.reach.flows import after_strangers
from llmdo.reach.rows import with_rows
from llmdo.reach.shapes import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.diff.difference import Effect, Kind
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.settings import Acceptance
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach import Analysis, Hop, Row, Walk
    from llmdo.reach.flows import FlowRow


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
        """The changes, without the loss of rows of toolsets not seen yet: these may raise the same as before.

        Of another tool's project, a part of what was not known before is no gain.
        """
        changes = _changes(entries, before, after, self.after.graph.acceptances)
        unseen = unseen_in(self.after.graph)
        return tuple(
            change
            for change in changes
            if not (change.effect == "narrows" and change.before and change.before.shape.toolset in unseen)
            and not (self.after.graph.read_from and change.kind == "gained" and _was_unknown(change, before))
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
    yield from listed(graph)
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
    before = _as_spelt(before, after)
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


def _was_unknown(change: RowChange, before: Mapping[Capability, Row]) -> bool:
    """Whether `x.NAME.any`, of which anything was to be expected, was decided as mildly."""
    family, _, own = change.capability.name.rpartition(".")
    unknown = before.get(Capability(f"{family}.any")) if family.startswith("x.") and own != "any" else None
    return unknown is not None and STRICTNESS[unknown.decision] <= STRICTNESS[_decision(change.after)]


def _gravity(change: RowChange) -> tuple[bool, int, tuple[int, str]]:
    """A sort key by which widening changes come first, and of those the worst."""
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


AFTER_STRANGERS = "after a stranger's words"


def _as_spelt(rows: Mapping[Capability, Row], others: Mapping[Capability, Row]) -> Mapping[Capability, Row]:
    """`rows` with `**` or no scope, which mean the same, as `others` spell it."""
    spelt = {each.name: each for each in others if each.is_everywhere}
    return {spelt.get(each.name, each) if each.is_everywhere else each: row for each, row in rows.items()}


def flow_changes(before: Analysis, after: Analysis) -> Iterator[Change]:
    """The effects after a stranger's words with another decision than before, by entry, if either graph states flows.

    Only for entries of both graphs; capabilities that an entry reaches on one side alone are left to its rows.
    """
    if not (before.graph.all_flows or after.graph.all_flows):
        return
    for name in sorted(before.graph.entries.keys() & after.graph.entries.keys()):
        sides = [
            {row.capability: row for row in after_strangers(side, side.graph.entries[name])}
            for side in (before, after)
        ]
        reached = [{row.capability for row in side.of(side.graph.entries[name])} for side in (before, after)]
        for capability in sorted({*sides[0], *sides[1]}, key=str):
            old, new = (side.get(capability) for side in sides)
            if all(capability in rows for rows in reached) and _decision_after(old) != _decision_after(new):
                yield _change(name, capability, old, new)


def _change(entry: str, capability: Capability, old: FlowRow | None, new: FlowRow | None) -> Change:
    return Change(
        route=("entry", entry, AFTER_STRANGERS, str(capability)),
        before=_words(old),
        after=_words(new),
        effect=_effect(old, new),
        entries=(entry,),
    )


def _effect(old: FlowRow | None, new: FlowRow | None) -> Effect:
    """A new way that nobody is asked about is as much as a gain; one that asks is none."""
    if new is None or (old is not None and STRICTNESS[new.decision] > STRICTNESS[old.decision]):
        return "narrows"
    return "widens" if old is not None or new.decision == "allowed" else "none"


def _decision_after(row: FlowRow | None) -> str | None:
    return row.decision if row else None


def _words(row: FlowRow | None) -> str | None:
    if row is None:
        return None
    legs = (" > ".join(hop.name for hop in leg) for leg in (row.source, row.path))
    return f"{row.decision}: {' => '.join(legs)}"


_DESCRIPTIVE = frozenset({"path", "prompt", "description", "model", "compatible-models", "python"})
"""Keys of a worker in the lock that do not change its reach."""


def worker_differences(
    comparison: Comparison,
    changes: Iterable[Change],
    rows_by_entry: Mapping[str, Sequence[RowChange]],
    was: Mapping[str, str],
) -> tuple[EntryDifference, ...]:
    """The workers with a changed fact and so a changed reach, sorted by name.

    A row is left out if an entry, or a worker further down, has the same one and its way shows this one; or if a
    toolset is the cause and a shown row ends in it: the toolset's own change names all who use it.
    """
    mine, concerned = _concerned(changes)
    old, new = comparison.before.graph.workers, comparison.after.graph.workers
    if comparison.after.graph.read_from:
        mine |= {name for name in {*old, *new} if old.get(name) != new.get(name)}
    judged = {
        name: comparison.of_worker(name)
        for name in sorted(mine | concerned)
        if any(
            name in side and (side[name].path or not comparison.after.graph.read_from) for side in (old, new)
        )
    }
    of_entries = [row for rows in rows_by_entry.values() for row in rows]
    own_rows: dict[str, list[RowChange]] = {name: [] for name in judged}
    every = [(name, row) for name, rows in judged.items() for row in rows]
    done: dict[str, list[RowChange]] = {name: [] for name in judged}
    for name, row in sorted(every, key=lambda pair: len(_path(pair[1]))):
        steps = len(_path(row)) if name in mine else 1
        shown = (
            of_entries
            if name in mine
            else (*of_entries, *(each for rows in own_rows.values() for each in rows))
        )
        if not _is_told(row, shown, steps) and not any(
            _is_same(row, other) for hop in _path(row)[1:] for other in done.get(hop.name, ())
        ):
            own_rows[name].append(row)
        done[name].append(row)
    return tuple(
        EntryDifference(
            name=name,
            was=was.get(name),
            status="new" if name not in old else "gone" if name not in new else "kept",
            rows=tuple(row for row in judged[name] if row in rows),
            verdict=verdict_of(rows),
            below=comparison.entries_of(name),
        )
        for name, rows in own_rows.items()
        if rows
    )


def _concerned(changes: Iterable[Change]) -> tuple[set[str], set[str]]:
    """The workers that a fact of their own is about, and those about whose toolsets one is."""
    mine: set[str] = set()
    users: set[str] = set()
    for change in changes:
        if change.route[0] != "worker":
            users.update(change.workers)
        elif change.route[2:3] == () or change.route[2] not in _DESCRIPTIVE:
            mine.add(change.route[1])
    return mine, users


def _path(row: RowChange) -> Sequence[Hop]:
    shown = row.before if row.kind == "lost" else row.after
    return shown.path if shown else ()


def _is_told(row: RowChange, others: Iterable[RowChange], steps: int) -> bool:
    """Whether another row says the same of a way that ends in the last steps of this one's."""
    names = [hop.name for hop in _path(row)][-steps:]
    return any(
        _is_same(row, other) and [hop.name for hop in _path(other)][-steps:] == names for other in others
    )


def _is_same(row: RowChange, other: RowChange) -> bool:
    return (
        row.effect == other.effect
        and (row.accepted is None) == (other.accepted is None)
        and other.capability.contains(row.capability)
    )
