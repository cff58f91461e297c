"""Runs that continue one another, each with its own journal, bound to the end of the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from llmdo.base.values import dataclass, field, fields
from llmdo.journal.audit import Link
from llmdo.journal.entries import JournalError, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore

_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The end of the run that another one continues."""

    run: str
    number: int
    """Of its last entry."""
    head: str
    """The chain's digest there."""
    first: str
    """The first run of the conversation."""
    turn: int
    """The continuing run's place in the conversation, from 2."""
    labels: Mapping[str, Any] | None = None
    """The labels its worker had read, in terms of flow rules, if its end tells them."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """The conversation's use until then, by the names of its limits; empty without limits."""

    @property
    def data(self) -> dict[str, Any]:
        """The data as an entry holds it."""
        return {each.name: getattr(self, each.name) for each in fields(Earlier)} | {"spent": dict(self.spent)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Earlier:
        """The `Earlier` in the data of an entry.

        Raises:
            JournalError: Some of it is missing.
        """
        kinds = {"run": str, "number": int, "head": str, "first": str, "turn": int, "spent": dict}
        if lacks := [name for name, kind in kinds.items() if not isinstance(data.get(name), kind)]:
            raise JournalError(f"the journal does not say what its run goes on from: it lacks `{lacks[0]}`")
        labels = data.get("labels")
        return cls(
            labels=labels if isinstance(labels, dict) else None, **{name: data[name] for name in kinds}
        )


def goes_on_from(journal: JournalStore) -> Earlier | None:
    """The end of the run that this one continues; None if it began by itself.

    Raises:
        JournalError: It holds no run, or does not say.
    """
    entry = next(journal.entries("run"), None)
    if entry is None:
        raise JournalError(f"{journal.title} holds no run")
    data = entry.data.get("continues")
    if data is None:
        return None
    if not isinstance(data, dict):
        raise JournalError(f"{journal.title} does not say what its run goes on from")
    return Earlier.of(data)


def messages_at(journal: JournalStore, end: Earlier) -> JournalEntry:
    """The messages of the run, up to the point from which another one continues it.

    Raises:
        JournalError: The other run is not bound to this journal.
    """
    bound = next(journal.after(end.number - 1, *_KINDS), None)
    if bound is None or Link(bound.number, bound.head) != Link(end.number, end.head):
        raise JournalError(
            f"the journal of run `{journal.run}` is not the one that a later run goes on from",
            hint="`llmdo runs audit --verify` says whether it was changed",
        )
    entry = None
    for row in journal.after(0, "messages"):
        if row.number <= end.number:
            entry = row.entry
    if entry is None:
        raise JournalError(f"the journal of run `{journal.run}` holds no messages")
    return entry
