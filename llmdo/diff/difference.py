"""The difference between two graphs as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from llmdo.base.values import also_in_json, in_json
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.values import Json
    from llmdo.graph.settings import Acceptance
    from llmdo.reach import Row

Verdict = Literal["widened", "unknown", "narrowed", "changed", "same"]

Effect = Literal["widens", "unknown", "narrows", "none"]
"""The effect of one difference on the powers of entries."""

Kind = Literal["gained", "lost", "gate removed", "gate added", "assurance", "unknown"]


def reason_of(accepted: Acceptance | None) -> str | None:
    """The reason for which people have accepted a difference, if they have."""
    return accepted.reason if accepted else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One capability and scope that an entry reaches otherwise than before."""

    kind: Kind = field(metadata=in_json("change"))
    capability: Capability = field(metadata=in_json(by=Capability.keys, flat=True))
    elsewhere: bool
    """Whether it is only about the rest of its scope, outside narrower scopes that changed otherwise."""
    before: Row | None
    """None if it was not reached at all."""
    after: Row | None
    accepted: Acceptance | None = field(default=None, metadata=in_json(by=reason_of))

    @property
    @also_in_json(after="change")
    def effect(self) -> Effect:
        """Its effect on the powers of the entry; the loss of every limit is as much as a gain."""
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
    """The value there, as data; None if there was none."""
    after: Json
    effect: Effect = "none"
    entries: tuple[str, ...] = ()
    """The entries concerned: the entry itself, or those that reach its subject."""
    workers: tuple[str, ...] = ()
    """The workers that use its subject."""
    accepted: Acceptance | None = field(default=None, metadata=in_json(by=reason_of))


@dataclass(frozen=True, slots=True)
class Rename:
    """A worker or an entry that has another name than before, and is judged as one."""

    kind: Literal["worker", "entry"]
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """The changed reach of an entry, or of a worker below entries."""

    name: str
    was: str | None = None
    """Its name before, if that was another."""
    status: Literal["new", "gone", "kept"]
    verdict: Verdict
    """Over `rows` and, for an entry, over the changes that concern it."""
    rows: tuple[RowChange, ...]
    """Widening changes first, and of those the worst: see `authority.gravity`."""
    below: tuple[str, ...] = field(default=(), metadata=in_json("entries", sparse=True))
    """The entries that reach it, for a worker."""


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A fact about a Python toolset that changed while its source did not: by a library or an editor."""

    toolset: str
    tool: str | None
    """None for a fact about the toolset itself."""
    fact: str
    """The change, in words to follow its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that differs between two graphs."""

    is_lock_checked: bool = field(default=False, metadata=in_json("lock_checked"))
    """Whether `lock --check` is known to have passed: then a library changed the facts, and nobody edited the lock."""
    hand_edits: tuple[HandEdit, ...] = ()
    entries: tuple[EntryDifference, ...]
    """Of both graphs, sorted by name, also those that are the same."""
    workers: tuple[EntryDifference, ...] = ()
    """The workers with a changed reach that no row of an entry or of another worker shows, by name."""
    renames: tuple[Rename, ...] = ()
    """Everything else goes by the later names."""
    changes: tuple[Change, ...] = ()
    """Sorted by route."""
    unread: int = field(default=0, metadata=in_json(part=None))
    """The number of errors in the later sources that kept a part from being read."""

    @property
    def everything(self) -> tuple[RowChange | Change, ...]:
        """Every single difference."""
        return (*(row for each in (*self.entries, *self.workers) for row in each.rows), *self.changes)

    @property
    @also_in_json(after=None)
    def verdict(self) -> Verdict:
        """The verdict over everything, accepted or not."""
        verdict = verdict_of(self.everything)
        if self.unread and verdict != "widened":
            return "unknown"
        return "changed" if verdict == "same" and self.renames else verdict

    @property
    @also_in_json("accepted", after="verdict")
    def is_accepted(self) -> bool:
        """Whether people have accepted every widening, if there is any."""
        return all(difference.accepted for difference in self.everything if difference.effect == "widens")

    def fails(self, on: Literal["widened", "changed"] | None) -> bool:
        """Whether a reviewer asked to be stopped by it; a lock edited by hand always stops."""
        if self.hand_edits and not self.is_lock_checked:
            return True
        if on == "changed":
            return self.verdict not in ("same", "unknown")
        return on == "widened" and self.verdict == "widened" and not self.is_accepted

    @property
    def is_unknown(self) -> bool:
        """Whether some part of it is unknown, whatever the rest."""
        return bool(self.unread) or any(difference.effect == "unknown" for difference in self.everything)


def verdict_of(differences: Iterable[RowChange | Change]) -> Verdict:
    """The most important effect: `widened`, else `unknown`, `narrowed`, `changed`; `same` without differences."""
    effects = {difference.effect for difference in differences}
    if not effects:
        return "same"
    if "widens" in effects:
        return "widened"
    return "unknown" if "unknown" in effects else "narrowed" if "narrows" in effects else "changed"
