"""The shares that runs of a conversation have of its limits, as a store keeps them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    Amounts = Mapping[str, float]
    """How much of what is limited, by the names of the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The use of a run that never goes on again."""

    used: Amounts
    together: Amounts
    """The same with what the runs before it had used when it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The share of one run."""

    run: str
    conversation: str
    """The run that it began with; the run's own id, where it goes on from none."""
    reserved: Amounts = field(default_factory=dict)
    """The most that the run may use, its earlier processes included: it counts while a process works on the run."""
    counted: Counted | None = None
    """Its use, where it never goes on again; else its journal says it."""

    @property
    def row(self) -> tuple[str, str, str, str | None]:
        """The share as a row of a table."""
        counted = None
        if self.counted is not None:
            counted = json.dumps([dict(self.counted.used), dict(self.counted.together)])
        return self.run, self.conversation, json.dumps(dict(self.reserved)), counted


def share_of(run: str, conversation: str, reserved: str, counted: str | None) -> Share:
    """The share in a row of a table."""
    used, together = json.loads(counted) if counted else ({}, {})
    return Share(
        run=run,
        conversation=conversation,
        reserved=json.loads(reserved),
        counted=Counted(used=used, together=together) if counted else None,
    )


class ConversationShares(Protocol):
    """The shares of a store, for a process that has them for itself."""

    def of_conversation(self) -> list[Share]:
        """Those of the runs of the conversation that have a journal."""
        ...

    def lacking(self, entry: str) -> list[str]:
        """The runs that have none yet, without those that are known to be of another entry."""
        ...

    def put(self, share: Share) -> None:
        """Keeps a share in the place of the one that its run had.

        Raises:
            ClaimedError: It reserves, and another process has taken over the run.
        """
        ...
