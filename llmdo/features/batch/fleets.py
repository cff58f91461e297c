"""Batches that workers elsewhere carry out, as far as a batch knows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Optional, Protocol, cast

import typer

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
    """How a batch is handed to workers."""

    approvals: Json = None
    """How the questions of its runs are answered."""
    priority: int = PRIORITY


@dataclass(frozen=True, slots=True, kw_only=True)
class RebindOutcome:
    """What became of a batch that was moved to another lock."""

    batch: str
    moved: int
    started: int
    """Runs that have started and are not over: those go on with what they began with."""


class FleetQueue(Protocol):
    """The queue of a fleet, as a module of an extension."""

    def require(self, address: str | None) -> str:
        """The address of the fleet; an `LlmdoError` where none is named, or a library is missing."""

    def begin(self, request: BatchRequest, handing: Handing, host: BatchHost) -> BatchOutcome:
        """How a batch stands after it was put in, all of it or nothing, and followed."""

    def go_on(self, request: ContinuedBatch, approvals: Json, host: BatchHost) -> BatchOutcome:
        """How a batch stands after what is left of it was put in again, and followed."""

    def cancel(self, root: Path, batch: str, environ: Mapping[str, str]) -> BatchOutcome:
        """How a batch stands from which everything was taken that has not begun or waits."""

    def rebind(
        self,
        root: Path,
        batch: str,
        environ: Mapping[str, str],
        host: BatchHost,
        allow_drift: tuple[str, ...],
    ) -> RebindOutcome:
        """What became of a batch of which all that has not started runs with what is here now."""

    def forget(self, address: str, runs: list[str]) -> None:
        """Removes what the queue holds of these runs."""


def fleet_queue() -> FleetQueue:
    """The queue of this installation.

    Raises:
        LlmdoError: There is none.
    """
    return cast("FleetQueue", queue())


def _of_fleet(address: str | None) -> str | None:
    """Has everything that this command opens look for journals in the database of the fleet."""
    if address is None:
        return None
    named = fleet_queue().require(None if address == "-" else address)
    keep_in(named)
    return named


Fleet = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--fleet",
        metavar="URL",
        callback=_of_fleet,
        help="The PostgreSQL database by which workers on many machines share the work; `-`: that of LLMDO_STORE.",
    ),
]
