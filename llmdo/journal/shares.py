"""The shares of runs in the limits of their conversation, as stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    Amounts = Mapping[str, float]
    """Amounts by the names of the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The use of a run that can never be resumed."""

    used: Amounts
    together: Amounts
    """The use, plus that of the runs before it when it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The share of one run."""

    run: str
    conversation: str
    """The first run of the conversation; its own id, if it continues none."""
    reserved: Amounts = field(default_factory=dict)
    """The most for the run and its earlier processes: it counts while a process works on the run."""
    counted: Counted | None = None
    """Its use, if it can never be resumed; else its journal tells it."""

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
    """The shares of a store, for a process with exclusive access."""

    def of_conversation(self) -> list[Share]:
        """Those of the conversation's runs with a journal."""
        ...

    def lacking(self, entry: str) -> list[str]:
        """The runs without a share, except those known to be of another entry."""
        ...

    def put(self, share: Share) -> None:
        """Keeps a share in place of its run's earlier one.

        Raises:
            ClaimedError: It reserves, and another process has taken over the run.
        """
        ...
