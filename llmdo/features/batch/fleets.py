"""The interface to batches that workers of a fleet work off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol, cast

from llmdo.base.request_fields import option
from llmdo.cli.options import keep_in
from llmdo.services.queue import queue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.features.batch.commands import BatchHost, BatchOutcome, BatchRequest, ContinuedBatch

PRIORITY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """The terms on which a batch goes to workers."""

    approvals: Json = None
    """The approvals for its runs."""
    priority: int = PRIORITY


@dataclass(frozen=True, slots=True, kw_only=True)
class RebindOutcome:
    """The result of moving a batch to another lock."""

    batch: str
    moved: int
    started: int
    """Unfinished runs that have started: those keep the lock they began with."""


class FleetQueue(Protocol):
    """The queue of a fleet, as a module of an extension."""

    def require(self, address: str | None) -> str:
        """The address of the fleet; an `LlmdoError` if none is named, or a library is missing."""

    def begin(self, request: BatchRequest, handing: Handing, host: BatchHost) -> BatchOutcome:
        """Puts a batch in, all of it or nothing, and follows it."""

    def go_on(self, request: ContinuedBatch, approvals: Json, host: BatchHost) -> BatchOutcome:
        """Puts the rest of a batch in again, and follows it."""

    def cancel(self, root: Path, batch: str, environ: Mapping[str, str]) -> BatchOutcome:
        """Cancels all items that wait or have not begun."""

    def rebind(
        self,
        root: Path,
        batch: str,
        environ: Mapping[str, str],
        host: BatchHost,
        allow_drift: tuple[str, ...],
    ) -> RebindOutcome:
        """Moves all that has not started to the current workspace."""

    def forget(self, address: str, runs: list[str]) -> None:
        """Removes the queue's records of these runs."""


def fleet_queue() -> FleetQueue:
    """The queue of this installation.

    Raises:
        LlmdoError: There is none.
    """
    return cast("FleetQueue", queue())


def _of_fleet(address: str | None) -> str | None:
    """Makes this command look for journals in the database of the fleet."""
    if address is None:
        return None
    named = fleet_queue().require(None if address == "-" else address)
    keep_in(named)
    return named


FLEET = option(
    "The PostgreSQL database by which workers on many machines share the work; `-`: that of LLMDO_STORE.",
    "--fleet",
    metavar="URL",
    by=_of_fleet,
)
Fleet = Annotated[str | None, FLEET]
