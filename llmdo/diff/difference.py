"""The difference between two graphs as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.values import Json
    from llmdo.graph.settings import Acceptance
    from llmdo.policy.authority import Capability
    from llmdo.reach import Row

Verdict = Literal["widened", "unknown", "narrowed", "changed", "same"]

Effect = Literal["widens", "unknown", "narrows", "none"]
"""What one difference does to what entries can do."""

Kind = Literal["gained", "lost", "gate removed", "gate added", "assurance", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One capability and scope that an entry reaches otherwise than before."""

    kind: Kind
    capability: Capability
    elsewhere: bool
    """Whether the scope stands for what is left of it beside narrower scopes that changed otherwise."""
    before: Row | None
    """None where it was not reached at all."""
    after: Row | None
    accepted: Acceptance | None = None

    @property
    def effect(self) -> Effect:
        """What it does to what the entry can do; that nothing limits it any more is as much as a gain."""
        if self.kind == "unknown":
            return "unknown"
        if self.kind == "assurance":
            sides = [row is not None and row.assurance == "open" for row in (self.before, self.after)]
            return "none" if sides[0] == sides[1] else "widens" if sides[1] else "narrows"
        return "widens" if self.kind in ("gained", "gate removed") else "narrows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One fact of the lock that differs, or one item of it that came or went."""

    route: tuple[str, ...]
    """Its place in the lock, such as `("worker", "main", "may")`."""
    before: Json
    """What stood there, as data; None where nothing did."""
    after: Json
    effect: Effect = "none"
    accepted: Acceptance | None = None
    entries: tuple[str, ...] = ()
    """Whom it concerns: the entry itself, or those that reach what it is about."""
    workers: tuple[str, ...] = ()
    """Those that use what it is about."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A worker or an entry that has another name than before, and is judged as one."""

    kind: Literal["worker", "entry"]
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """What an entry, or a worker below entries, reaches otherwise than before."""

    name: str
    was: str | None = None
    """Its name before, where that was another."""
    status: Literal["new", "gone", "kept"]
    rows: tuple[RowChange, ...]
    """What widens first, and of that the gravest: see `authority.gravity`."""
    verdict: Verdict
    """Over `rows` and, of an entry, over the changes that concern it."""
    below: tuple[str, ...] = ()
    """The entries that reach it, of a worker."""


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A fact about a Python toolset that changed while its source did not: by a library, or by an editor."""

    toolset: str
    tool: str | None
    """None for a fact about the toolset itself."""
    fact: str
    """What changed, in words to follow its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that differs between two graphs."""

    entries: tuple[EntryDifference, ...]
    """Of both graphs, sorted by name, also those that are the same."""
    workers: tuple[EntryDifference, ...] = ()
    """The workers that reach otherwise than before what no row of an entry and of no other worker tells, by name."""
    renames: tuple[Rename, ...] = ()
    """Everything else goes by the later names."""
    changes: tuple[Change, ...] = ()
    """Sorted by route."""
    hand_edits: tuple[HandEdit, ...] = ()
    unread: int = 0
    """The errors of the later sources for which something of them could not be read."""
    is_lock_checked: bool = False
    """Whether `lock --check` is known to have passed: then it was a library, and nobody edited the lock by hand."""

    @property
    def everything(self) -> tuple[RowChange | Change, ...]:
        """Every single difference."""
        return (*(row for each in (*self.entries, *self.workers) for row in each.rows), *self.changes)

    @property
    def verdict(self) -> Verdict:
        """The verdict over everything, accepted or not."""
        verdict = verdict_of(self.everything)
        if self.unread and verdict != "widened":
            return "unknown"
        return "changed" if verdict == "same" and self.renames else verdict

    @property
    def is_accepted(self) -> bool:
        """Whether every widening, if there is any, is one that people have accepted."""
        return all(difference.accepted for difference in self.everything if difference.effect == "widens")

    def fails(self, on: Literal["widened", "changed"] | None) -> bool:
        """Whether it is what a reviewer asked to be stopped by; a lock edited by hand always is."""
        if self.hand_edits and not self.is_lock_checked:
            return True
        if on == "changed":
            return self.verdict not in ("same", "unknown")
        return on == "widened" and self.verdict == "widened" and not self.is_accepted

    @property
    def is_unknown(self) -> bool:
        """Whether something of it is not known, whatever else is."""
        return bool(self.unread) or any(difference.effect == "unknown" for difference in self.everything)


def verdict_of(differences: Iterable[RowChange | Change]) -> Verdict:
    """`widened` if any difference widens, else `unknown`, `narrowed` or `changed` if there is such a one."""
    effects = {difference.effect for difference in differences}
    if not effects:
        return "same"
    if "widens" in effects:
        return "widened"
    return "unknown" if "unknown" in effects else "narrowed" if "narrows" in effects else "changed"
