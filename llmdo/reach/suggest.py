"""The smallest ceiling and rules under which an entry can still do all that its workers declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.policy.authority import decide, scope_order
from llmdo.policy.composition import Layer
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME, OUTSIDE_CEILINGS
from llmdo.reach.flows import after_strangers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.graph.resolved import Entry
    from llmdo.policy.authority import Capability, Reason, Rule
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
    outside = smallest(
        row.capability
        for row in analysis.of(entry, ceiling=False)
        if row.decision != "blocked"
        and row.capability.name not in OUTSIDE_CEILINGS | ONLY_BY_FULL_NAME
        and not any(admitted.contains(row.capability) for admitted in may)
    )
    return Suggestion(entry.name, may, cut, smallest(asked_about), outside=outside)


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
