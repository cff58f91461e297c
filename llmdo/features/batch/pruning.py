"""`batch prune`: removes batches without open items, together with the queue records of a fleet."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  # the annotations of a request are read
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.features.batch.fleets import fleet_queue
from llmdo.journal.items import OPEN
from llmdo.journal.opening import address_of, batches_of
from llmdo.services.retention import retention
from llmdo.services.root import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.journal.items import Batches
    from llmdo.services.root import Tell

    Forget = Callable[[Iterable[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPruneRequest:
    """The batches to remove: some, or all without open items except the last ones."""

    root: Path = field(metadata=ROOT)
    batches: tuple[str, ...] = field(default=(), metadata=argument("[BATCH]...", "Only these batches."))
    keep: int | None = field(
        default=None,
        metadata=option(
            "How many of the latest batches to keep; without a number, 20 or as `keep-batches-days` says.",
            metavar="N",
            least=0,
        ),
    )
    older_than: int | None = field(
        default=None,
        metadata=option("Only batches that were put in before then.", metavar="DAYS", least=0),
    )
    """Days since they were put in; if both are None, the manifest decides."""
    dry_run: bool = field(default=False, metadata=option("Only list them."))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def prune(request: BatchPruneRequest, tell: Tell, forget: Forget | None = None) -> list[str]:
    """Removes batches, or only names them; gives their ids. The journals of their runs stay.

    `forget` removes the queue records of runs in a fleet; if it is None, a connection to it is made.

    Raises:
        LlmdoError: A named one does not exist, or has open items; or the manifest has errors.
    """
    batches = batches_of(request.root, request.environ)
    if request.batches:
        names = list(dict.fromkeys(map(batches.find, request.batches)))
        for name in names:
            _require_over(batches, name)
    else:
        names = list(_over(batches, request))
    if request.dry_run:
        return names
    removed = []
    for name in names:
        with batches.open(name) as store:
            runs = [item.first for item in store.items()] if store.batch.settings.get("fleet") else []
        if batches.remove(name):
            removed.append(name)
            _forget(request, runs, tell, forget)
    batches.sweep()
    return removed


def _require_over(batches: Batches, name: str) -> None:
    with batches.open(name) as store:
        number = sum(1 for _ in store.items(*OPEN))
    if number:
        raise LlmdoError(
            f"batch `{name}` has {number} open item{'' if number == 1 else 's'}",
            hint=f"`llmdo batch cancel {name}` takes out what is queued or waits",
        )


def _over(batches: Batches, request: BatchPruneRequest) -> Iterator[str]:
    """The batches without open items, except the last ones, and the last of each schedule.

    That one says up to which time its schedule was processed.
    """
    retained, scheduled = retention(request.root, "batches", request.keep, request.older_than), set()
    for number, name in enumerate(reversed(batches.names())):
        with batches.open(name) as store:
            batch = store.batch
            is_open = next(store.items(*OPEN), None) is not None
        schedule = batch.settings.get("schedule")
        is_last = schedule is not None and schedule not in scheduled
        scheduled.add(schedule)
        if not (retained.keeps(number, batch.began) or is_open or is_last):
            yield name


def _forget(request: BatchPruneRequest, runs: list[str], tell: Tell, forget: Forget | None) -> None:
    """Removes the queue's records of these runs; reports those that it cannot remove, as they do no harm."""
    address = address_of(request.root, request.environ)
    if not runs or not address:
        return
    try:
        if forget is not None:
            forget(runs)
            return
        fleet_queue().forget(address, runs)
    except (LlmdoError, ImportError) as error:
        tell(f"warning: rows of the queue are left: {error}")
