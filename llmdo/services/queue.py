"""The queue that gives items of batches to workers elsewhere, for callers outside of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from llmdo.extensions.registry import features, module_with
from llmdo.journal import opening

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.journal.items import BatchStore


class BatchQueue(Protocol):
    """A queue, as a module of an extension."""

    def put_in_answered(self, store: BatchStore, root: Path, run: str, environ: Mapping[str, str]) -> None:
        """Puts a run of a batch in again whose awaited answers are there."""

    def make_tables(self, address: str) -> None:
        """Brings the tables of the queue in the store at `address` up to date."""


def migrate(address: str | None) -> int:
    """Brings the tables of journals, and of the queue if there is one, up to date; returns the steps of journals.

    Raises:
        LlmdoError: The store is none, cannot be reached or does not allow it.
    """
    steps = opening.migrate(address)
    if address and any(each.queue for each in features()):
        queue().make_tables(address)
    return steps


def queue() -> BatchQueue:
    """The queue of this installation.

    Raises:
        LlmdoError: There is none.
    """
    return cast("BatchQueue", module_with((each.queue for each in features()), "fleets"))
