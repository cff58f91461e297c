"""Runs whose batch workers of a fleet carry out: these go on with them, not a process that is started here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.opening import STORE, address_of, batches_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def is_of_workers(root: Path, run: str, environ: Mapping[str, str]) -> bool:
    """Whether the run is of a batch that was put in for workers."""
    if not address_of(root, environ):
        return False
    batches = batches_of(root, environ)
    batch = batches.of_run(run)
    if batch is None:
        return False
    with batches.open(batch) as store:
        return bool(store.batch.settings.get("fleet"))


def hand_over(root: Path, run: str, environ: Mapping[str, str]) -> None:
    """Puts such a run in again, of which nothing waits any more."""
    from llmdo.services.fleet.batches import put_in_answered  # which few need, and takes its time

    address = address_of(root, environ)
    batches = batches_of(root, environ)
    batch = batches.of_run(run)
    if address and batch is not None:
        with batches.open(batch) as store:
            put_in_answered(store, root, run, {**environ, STORE: address})
