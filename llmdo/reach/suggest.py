"""The smallest ceiling and rules under which an entry can still do all that its workers declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.nearest import MANIFEST
from llmdo.base.values import dataclass, replace
from llmdo.policy.authority import Capability, decide, scope_order
from llmdo.policy.composition import Layer
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME, OUTSIDE_CEILINGS, has_paths
from llmdo.reach.flows import after_strangers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from llmdo.graph.resolved import Entry
    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import Reason, Rule
    from llmdo.reach import Analysis


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The lines to write into the manifest for one entry."""

    entry: str
    may: tuple[Capability, ...]
    cut: tuple[Capability, ...]
    """The capabilities that this ceiling cuts off, because they would have to be named in full."""
    rules: tuple[Capability, ...]
    """The capabilities that would have to be `allowed` for a run without approval."""
    flows: tuple[Capability, ...] = ()
    """The capabilities that nobody is asked about once a stranger's words were read."""
    outside: tuple[Capability, ...] = ()
    """The declared capabilities beyond that ceiling: `check` names them unless somebody accepts the cut."""
    runs: int = 0
    """The number of runs that it rests on; 0 if it rests on declarations."""
    workers: tuple[tuple[str, tuple[Capability, ...]], ...] = ()
    """The smallest ceiling of each worker that these runs called."""
    idle: tuple[tuple[Rule, int], ...] = ()
    """The rules that decided nothing, and in how many runs; those of the workspace in the runs of all entries."""
    unused: tuple[tuple[str, Capability], ...] = ()
    """The capabilities that ceilings admit and these runs never used, with the owner of the ceiling."""
    worker: str | None = None
    """The worker to name as well, where no table of the manifest declares the entry."""
    manifest: str = MANIFEST


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUse:
    """The rights that an agent of another tool, and all below it, used in recorded sessions."""

    calls: int = 0
    """The number of its own calls."""
    used: frozenset[Capability] = frozenset()
    refused: frozenset[Capability] = frozenset()
    """What blocks calls of its own now, though they were made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUse:
    """The rights that recorded sessions used."""

    sessions: int
    agents: Mapping[str, AgentUse]
    """By the names of their workers."""
    notes: tuple[str, ...] = ()
    """Sentences about what was not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedCeiling:
    """The lines to write into the manifest for one agent of another tool."""

    table: str
    may: tuple[Capability, ...]
    granted: tuple[Capability, ...] | None
    """The ceiling that it has; None without one."""
    cut: tuple[Capability, ...]
    """The used capabilities that the ceiling cuts off unless it names them in full, as the present one does not."""
    unused: tuple[Capability, ...]
    """What is granted and was never used."""
    refused: tuple[Capability, ...]
    """What was used and is blocked now: nothing is suggested that undoes a decision."""
    whole: tuple[tuple[Capability, int], ...]
    """What stands for many scopes, and for how many."""
    outside: tuple[Capability, ...]
    """The declared capabilities beyond that ceiling: `check` names them unless somebody accepts the cut."""
    calls: int
    sessions: int


def suggest(analysis: Analysis, entry: Entry) -> Suggestion:
    """The smallest ceiling that admits all that `entry` can reach, and the rules that would end every question.

    Blocked capabilities are left out: a suggestion never undoes a decision.
    """
    rows = [row for row in analysis.of(entry, ceiling=False) if row.decision != "blocked"]
    capabilities = [row.capability for row in rows]
    may = smallest(
        capability
        for capability in capabilities
        if capability.name not in OUTSIDE_CEILINGS | ONLY_BY_FULL_NAME
    )
    cut = smallest(capability for capability in capabilities if capability.name in ONLY_BY_FULL_NAME)
    rules = smallest(
        reason.capability
        for row in rows
        if row.decision != "allowed"
        for reason in row.reasons
        if _is_unnamed(reason)
    )
    after = smallest(row.capability for row in after_strangers(analysis, entry) if row.decision == "allowed")
    return Suggestion(entry.name, may, cut, rules, after)


def suggest_for(
    analysis: Analysis, entry: Entry, raised: Iterable[Capability], asked_about: Iterable[Capability]
) -> Suggestion:
    """The smallest ceiling that admits all that was `raised`, and rules that would have allowed the `asked_about`.

    Of these, only the capabilities that ask because no rule names them: a rule for the rest would withdraw a built-in
    one, or never decide.
    """
    raised = tuple(raised)
    authority = analysis.authority(replace(Layer.of_entry(entry), ceiling=None))
    asked_about = [
        capability
        for capability in asked_about
        if all(map(_is_unnamed, decide([capability], [capability], authority).reasons))
    ]
    may = smallest(
        capability for capability in raised if capability.name not in OUTSIDE_CEILINGS | ONLY_BY_FULL_NAME
    )
    cut = smallest(capability for capability in raised if capability.name in ONLY_BY_FULL_NAME)
    return Suggestion(entry.name, may, cut, smallest(asked_about), outside=_outside(analysis, entry, may))


def _outside(analysis: Analysis, entry: Entry, may: Collection[Capability]) -> tuple[Capability, ...]:
    """What is declared below an entry, and is beyond that ceiling."""
    return smallest(
        row.capability
        for row in analysis.of(entry, ceiling=False)
        if row.decision != "blocked"
        and row.capability.name not in OUTSIDE_CEILINGS | ONLY_BY_FULL_NAME
        and not any(admitted.contains(row.capability) for admitted in may)
    )


MOST_SCOPES = 8
"""The scopes of a capability that a ceiling lists; where sessions used more, it has the granted scope instead."""


def suggest_used(analysis: Analysis, worker: Worker, use: AgentUse, sessions: int) -> UsedCeiling:
    """The smallest ceiling under which an agent, and all below it, can do what they did in these sessions."""
    entry = analysis.graph.entries.get(worker.name)
    is_of_entry = entry is not None and (entry.may is not None or worker.may is None)
    granted = entry.may if entry is not None and is_of_entry else worker.may
    grants = granted
    if grants is None:
        rows = analysis.of(entry) if entry else ()
        grants = tuple(row.capability for row in rows if row.decision != "blocked")
    used = [
        each if has_paths(each.name) else Capability(each.name)  # as a manifest writes it
        for each in use.used
        if each.name not in OUTSIDE_CEILINGS
    ]
    unnamed = ONLY_BY_FULL_NAME - {grant.name for grant in granted or ()}
    may, whole = _bounded([each for each in used if each.name not in ONLY_BY_FULL_NAME], grants)
    in_full = smallest(each for each in used if each.name in ONLY_BY_FULL_NAME - unnamed)
    may = tuple(sorted((*may, *in_full), key=str))
    return UsedCeiling(
        table=f"{'entries' if is_of_entry else 'workers'}.{worker.name}",
        may=may,
        granted=granted,
        cut=smallest(each for each in used if each.name in unnamed),
        unused=smallest(
            grant
            for grant in grants
            if grant.name not in OUTSIDE_CEILINGS and not any(map(grant.touches, use.used))
        ),
        refused=smallest(use.refused),
        whole=whole,
        outside=_outside(analysis, entry, may) if entry is not None and is_of_entry else (),
        calls=use.calls,
        sessions=sessions,
    )


def _bounded(
    used: Iterable[Capability], grants: Iterable[Capability]
) -> tuple[tuple[Capability, ...], tuple[tuple[Capability, int], ...]]:
    """The used capabilities, with the narrowest granted scope instead of many within it, and the numbers of those."""
    narrowest = sorted(grants, key=lambda each: len(each.scope or ""), reverse=True)
    within: dict[Capability, list[Capability]] = {}
    for each in smallest(used):
        scope = next((grant.scope for grant in narrowest if grant.contains(each)), None)
        within.setdefault(replace(each, scope=scope), []).append(each)
    whole = {around: len(parts) for around, parts in within.items() if len(parts) > MOST_SCOPES}
    kept = [each for around, parts in within.items() for each in ([around] if around in whole else parts)]
    return smallest(kept), tuple(whole.items())


def _is_unnamed(reason: Reason) -> bool:
    """Whether it asks only because no rule names it: a rule that asks is somebody's decision."""
    return reason.rule is None and reason.flow is None and reason.decision == "needs_approval"


def smallest(capabilities: Iterable[Capability]) -> tuple[Capability, ...]:
    """The capabilities that no other of them contains, sorted; of two with the same meaning the shorter."""
    largest: list[Capability] = []
    for capability in sorted(
        set(capabilities),
        key=lambda capability: (capability.name, scope_order(capability.scope), str(capability)),
    ):
        if not any(other.contains(capability) for other in largest):
            largest.append(capability)
    return tuple(sorted(largest, key=str))
