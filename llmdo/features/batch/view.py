"""Batches: the state of each, its items, and retries."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.visible import visible
from llmdo.features.batch import commands as service
from llmdo.features.batch.queueing import require_failed
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.journal import JournalError
from llmdo.journal.opening import runs_of
from llmdo.journal.spent import spent

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject
    from llmdo.journal.items import BatchItem
    from llmdo.journal.stored import RunIndex

LONGEST = 200  # characters of an output that a row quotes
MOST_SHOWN = 100  # runs that are read at once: more rows are not seen together
MOST_CHOSEN = 500  # items that are named one by one: more are all that failed


def listed(subject: Subject, inquiry: Inquiry) -> object:
    """All batches, the latest first."""
    del inquiry
    return {"batches": service.outcomes(subject.with_runs)}


def about(subject: Subject, inquiry: Inquiry) -> object:
    """One batch with all its items."""
    root = subject.with_runs
    outcome, items = service.show(root, inquiry.text("batch"))
    processes = subject.desk.processes(root)
    name = processes.batch(outcome.batch.id)
    return {
        "batch": outcome,
        "items": [_item(item) for item in items],
        "goes_on": processes.is_at_work(name),
        "fault": processes.fault(name),
    }


def _item(item: BatchItem) -> dict[str, Json]:
    result = item.result
    text = result.error if result.error is not None else result.output
    return {
        "number": item.number,
        "key": item.key,
        "shown": visible(item.key),
        "title": visible(item.title, prose=True),
        "run": item.run,
        "state": item.state,
        "tries": item.tries,
        "requests": result.requests,
        "cost_usd": None if result.cost_usd is None else str(result.cost_usd),
        "text": "" if text is None else excerpt(" ".join(str(text)[: 4 * LONGEST].split()), LONGEST),
    }


def took(subject: Subject, inquiry: Inquiry) -> object:
    """The seconds for which processes worked on some runs of items; null for one without a journal."""
    wanted = inquiry.text("runs").split(",")
    if len(wanted) > MOST_SHOWN:
        raise RequestError(400, f"{len(wanted):,} runs are too many at once")
    runs = runs_of(subject.with_runs)
    there = {*runs.names()}
    return {"seconds": {run: _seconds(runs, run) if run in there else None for run in wanted}}


def _seconds(runs: RunIndex, run: str) -> float | None:
    with suppress(JournalError), runs.read(run) as journal:
        return spent(journal).seconds
    return None


def retried(subject: Subject, inquiry: Inquiry) -> object:
    """Retries failed items, some by their keys or all, in a process of their own."""
    body = inquiry.body
    if (
        not isinstance(body, dict)
        or not isinstance(body.get("batch"), str)
        or body.keys() - {"batch", "items"}
    ):
        raise RequestError(400, "a request names a batch, and optionally items")
    keys = body.get("items", [])
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise RequestError(400, "items are named by their keys")
    if len(keys) > MOST_CHOSEN:
        raise RequestError(400, f"{len(keys):,} items are too many to be named", hint="retry all that failed")
    root = subject.with_runs
    outcome, items = service.show(root, str(body["batch"]))
    require_failed(items, [str(key) for key in keys])
    by_workers = bool(outcome.batch.settings.get("fleet"))
    processes = subject.desk.processes(root)
    if processes.is_at_work(processes.batch(outcome.batch.id)):
        raise RequestError(
            409, "items of this batch are being retried", hint="it can be asked for once that is done"
        )
    processes.retry(outcome.batch.id, [str(key) for key in keys], by_workers=by_workers)
    return {"batch": outcome.batch.id}


ENDPOINTS = (
    Endpoint(path="/api/batches", answer=listed),
    Endpoint(path="/api/batch", answer=about, parameters=("batch",)),
    Endpoint(path="/api/batch/took", answer=took, parameters=("runs",)),
    Endpoint(path="/api/batch/retry", answer=retried, method="POST"),
)
