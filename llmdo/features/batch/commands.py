"""`batch`: an entry over many inputs, each with its own run and journal; started, resumed, retried."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.base.values import in_json, utc_milliseconds
from llmdo.features.batch.inputs import InputChoice, items_of, require_distinct, titled
from llmdo.features.batch.queueing import Unsure, cancel_all, queue_again, take_up
from llmdo.features.batch.scheduling import BatchBounds, Draining, work_off
from llmdo.features.batch.unsettled import REBIND, UNBOUND
from llmdo.graph.toolkit import reachable
from llmdo.graph.worker import Attachments
from llmdo.journal.binding import reached
from llmdo.journal.items import ENDED, STATES, Batch
from llmdo.journal.naming import new_run, new_runs
from llmdo.journal.opening import batches_of, runs_of
from llmdo.journal.secrets import Known
from llmdo.services.requirements import require_models
from llmdo.services.root import DEBUG, MAX_DEPTH, MODELS, ROOT
from llmdo.services.run import EntryRequest, chosen_models, prepare
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import lock, personal
from llmdo.workspace.root import MANIFEST, is_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from llmdo.base.values import Json
    from llmdo.features.batch.item_run import ItemRefusal
    from llmdo.features.batch.rows import Rows
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.journal.items import BatchItem, BatchStore, BatchUsage, NewItem, Result, State
    from llmdo.journal.stored import RunIndex
    from llmdo.services.plan import Approving
    from llmdo.services.root import Tell
    from llmdo.services.run import PreparedRun
    from llmdo.workspace.trust import Consent


BATCH = argument("BATCH", "A batch's id, a unique start or end of one, or `last`.")


class PuttingHost(Protocol):
    """The program that puts a batch in."""

    @property
    def consent(self) -> Consent:
        """The consent to import code of the workspace."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""


class BatchHost(Protocol):
    """The program around a batch."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""

    @property
    def consent(self) -> Consent:
        """The consent to execute code in its runs."""

    def approving(self, graph: Graph) -> Approving:
        """The approver of its runs."""

    def following(self, store: BatchStore) -> AbstractContextManager[Callable[[BatchItem, Result], None]]:
        """A callback for each item with its recorded outcome."""

    def sharing(self, store: BatchStore, root: Path, bounds: BatchBounds) -> AbstractContextManager[None]:
        """Shares the batch with other processes until none of it is left, if the host wants that."""

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does, which `draining` ends early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """The settings for working off the items of a batch."""

    bounds: BatchBounds = field(default_factory=BatchBounds)
    out: str | None = field(
        default=None,
        metadata=option("A row for each item as it ends; of a key, the last counts.", metavar="FILE.jsonl"),
    )
    """None: the file of the batch, if it has one."""
    debug: bool = field(default=False, metadata=DEBUG)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    refused: Mapping[str, ItemRefusal] = field(default_factory=dict)
    """Refusals by the key of their item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """A batch to put in and to work off."""

    start: EntryRequest = field(default_factory=EntryRequest)
    inputs: InputChoice | tuple[NewItem, ...] = ()
    """The choice of inputs, or the items themselves."""
    models: tuple[str, ...] = field(default=(), metadata=MODELS)
    max_depth: int | None = field(default=None, metadata=MAX_DEPTH)
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Further settings to keep with the batch."""
    working: Working = field(default_factory=Working)
    id: str | None = None
    """None: a new one."""
    prepared: PreparedRun | None = None
    """The prepared run, if it is not the entry `start` of the workspace."""
    run: str | None = None
    """The id of the run of its only item; None: new ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuedBatch:
    """A batch to resume."""

    root: Path = field(metadata=ROOT)
    batch: str = field(metadata=BATCH)
    failed: bool = field(
        default=False,
        metadata=option("Those that failed or were refused. Default where nothing is named."),
    )
    keys: tuple[str, ...] = field(
        default=(),
        metadata=option("Of those that failed, this one; may be repeated.", "--item", metavar="KEY"),
    )
    unsure: Unsure | None = field(
        default=None,
        metadata=option(
            "Those with calls that may have taken effect: run these again, or tell models that nobody knows."
        ),
    )
    """None: they stay unsure."""
    rebind: bool = field(
        default=False, metadata=option("Run what has not begun with what the workspace is now.")
    )
    prepared: PreparedRun | None = None
    """The prepared run, if it is not the current workspace."""
    working: Working = field(default_factory=Working)


def _head(batch: Batch) -> Mapping[str, object]:
    return {"batch": batch.id, "entry": batch.entry, "began": utc_milliseconds(batch.began)}


def _every_state(counts: Mapping[State, int]) -> Mapping[State, int]:
    return {state: counts.get(state, 0) for state in STATES}


def _used(spent: BatchUsage) -> Mapping[str, object]:
    is_unknown = spent.unpriced and not spent.cost_usd
    return {**spent._asdict(), "cost_usd": None if is_unknown else spent.cost_usd}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """The state of a batch."""

    batch: Batch = field(metadata=in_json(by=_head, flat=True))
    counts: Mapping[State, int] = field(metadata=in_json("items", by=_every_state))
    spent: BatchUsage = field(metadata=in_json(by=_used, flat=True))
    reason: str | None = None
    """Why nothing more was begun, if items are left."""
    interrupted: bool = field(default=False, metadata=in_json(part=None))


def begin(request: BatchRequest, host: BatchHost) -> BatchOutcome:
    """Puts a batch in, all of it or nothing, and works it off.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: It cannot be put in, or worked off.
    """
    prepared, store = put_in(request, host)
    with store:
        prepared.take_lock_in(host.tell, request.working.environ)
        return _work(store, prepared, request.working, host)


def put_in(request: BatchRequest, host: PuttingHost) -> tuple[PreparedRun, BatchStore]:
    """The batch with all its items, or nothing of it, and its prepared run.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: It cannot be put in.
    """
    prepared = request.prepared or prepare(
        request.start, host.tell, host.consent, partial(require_batch_models, request)
    )
    graph, root, working = prepared.graph, prepared.root, request.working
    if not is_workspace(root):
        raise LlmdoError(
            "a batch keeps journals, which files alone have none of", hint=f"write an `{MANIFEST}`"
        )
    if prepared.input is not None:
        raise LlmdoError(
            "a batch takes its inputs with `--inputs`", hint="`--input` is a template for each of them"
        )
    references = _references(prepared, request.models, working.environ)
    settings = {
        "models": references,
        "max_depth": request.max_depth,
        "out": working.out and str(Path(working.out).absolute()),
        **request.settings,
    }
    entry = graph.entries[prepared.entry]
    require_consent(prepared, references, host.consent, is_fleet=bool(request.settings.get("fleet")))
    prepared.folders.require()
    given = _given(request.inputs, attaches=_takes_files(graph, entry))
    records = require_distinct(titled(given, entry.title))
    items = _placed(records, prepared.folders.root, entry.input, working.environ)
    bound = lock_of(graph, prepared.entry, references)
    batch = Batch(request.id or new_run(), prepared.entry, bound, time.time(), settings)
    runs = chain(filter(None, [request.run]), new_runs())
    store = batches_of(root, working.environ).create(batch, items, partial(next, runs))
    number = sum(store.counts().values())
    counted = f"{number:,} item{'' if number == 1 else 's'}"
    host.tell(f"batch {batch.id}: {counted} for entry `{prepared.entry}`")
    return prepared, store


def require_batch_models(request: BatchRequest, prepared: PreparedRun) -> None:
    """Checks the models of the batch, as far as this machine can: the keys of a fleet are with its workers."""
    environ = request.working.environ
    choice = chosen_models(prepared.graph, request.models, environ)
    is_fleet = bool(request.settings.get("fleet"))
    require_models(prepared.graph, prepared.entry, choice, None if is_fleet else environ)


def go_on(request: ContinuedBatch, host: BatchHost) -> BatchOutcome:
    """Works off the rest of a batch, and the items to retry.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: It cannot go on.
    """
    batches = batches_of(request.root, request.working.environ)
    with batches.open(batches.find(request.batch)) as store:
        batch = store.batch
        start = EntryRequest(entry=batch.entry, project=str(request.root), environ=request.working.environ)
        prepared = request.prepared or prepare(start, host.tell, host.consent)
        if prepared.stale:
            host.tell(prepared.stale.note)
        now = lock_of(prepared.graph, batch.entry, batch.settings["models"])
        if request.rebind:
            store.rebind(now)
        elif now != batch.lock and store.counts().get("queued"):
            raise LlmdoError(UNBOUND, hint=REBIND)
        runs = runs_of(request.root, request.working.environ)
        queue_again(store, runs, failed=request.failed, items=request.keys, unsure=request.unsure)
        is_bound = request.rebind or now == batch.lock
        return _work(store, prepared, request.working, host, is_bound=is_bound)


def cancel(root: Path, batch: str) -> BatchOutcome:
    """Cancels all items that wait or have not begun; running ones go on."""
    batches = batches_of(root)
    with batches.open(batches.find(batch)) as store:
        cancel_all(store, runs_of(root))
        return outcome_of(store, Draining())


def is_there(root: Path, batch: str) -> bool:
    """Whether the workspace has the batch of that id."""
    return batch in batches_of(root).names()


def outcomes(root: Path) -> Iterator[BatchOutcome]:
    """All batches of a workspace, the latest first."""
    batches = batches_of(root)
    for name in reversed(batches.names()):
        with batches.open(name) as store:
            yield outcome_of(store, Draining())


def show(root: Path, batch: str, state: State | None = None) -> tuple[BatchOutcome, tuple[BatchItem, ...]]:
    """A batch and its items: all, or those in one state."""
    batches = batches_of(root)
    with batches.open(batches.find(batch)) as store:
        return outcome_of(store, Draining()), tuple(store.items(*([state] if state else [])))


def outcome_of(store: BatchStore, draining: Draining) -> BatchOutcome:
    """The current state of a batch."""
    counts = store.counts()
    return BatchOutcome(
        batch=store.batch,
        counts=counts,
        spent=store.spent(),
        reason=draining.reason if counts.get("queued") else None,
        interrupted=draining.interrupted and counts.get("queued", 0) > 0,
    )


def _work(
    store: BatchStore, prepared: PreparedRun, working: Working, host: BatchHost, *, is_bound: bool = True
) -> BatchOutcome:
    """Works off the queued items.

    Raises:
        UntrustedError: The host refuses code that its runs would execute.
    """
    from llmdo.features.batch.item_run import basis_of, execute

    personal.read(working.environ)  # first: what it might forbid must not begin
    require_consent(prepared, store.batch.settings["models"], host.consent)
    hide_from_children()
    batch, draining = store.batch, Draining()
    runs = runs_of(prepared.root, working.environ)
    runs.prepare()  # where somebody removed all runs, items say so, one by one
    look = partial(take_up, store, runs)
    look()  # first: what has begun goes on before more begins
    with ExitStack() as stack:
        rows = stack.enter_context(rows_of(store, working.out or batch.settings["out"]))
        stack.enter_context(host.sharing(store, prepared.root, working.bounds))
        tell = stack.enter_context(host.following(store))
        answering, environ = host.approving(prepared.graph), working.environ
        basis = stack.enter_context(
            basis_of(
                prepared,
                store,
                answering,
                environ,
                host.consent,
                is_bound=is_bound,
                debug=working.debug,
                refused=working.refused,
            )
        )

        tried = partial(_told_of_try, runs, host.tell) if working.bounds.items == 1 else None
        ended = partial(_put_down, rows, tell, tried)

        work = work_off(store, partial(execute, basis), working.bounds, draining, ended, look)
        host.wait_for(work, lambda: None, draining)
        if rows is not None:  # of what others ended, too
            rows.complete(store.items(*ENDED))
    if running := sum(1 for _ in store.items("running")):
        is_one = running == 1
        host.tell(
            f"{running} item{'' if is_one else 's'} {'is' if is_one else 'are'} at work in another process; where that "
            f"was killed, `llmdo batch resume {batch.id}` takes up what it left after half a minute"
        )
    return outcome_of(store, draining)


def _put_down(
    rows: Rows | None,
    tell: Callable[[BatchItem, Result], None],
    tried: Callable[[BatchItem], None] | None,
    item: BatchItem,
    result: Result,
) -> None:
    """Writes the row of an item, if there are rows, and reports it; `tried` shows what its model was given."""
    if rows is not None:
        rows.add(item, result)
    if tried is not None:
        tried(item)
    tell(item, result)


def _told_of_try(runs: RunIndex, tell: Tell, item: BatchItem) -> None:
    """Tells what the model was given for the one item that is tried."""
    from llmdo.features.batch.trying import first_request

    if runs.has(item.run):
        with runs.read(item.run) as journal:
            for line in first_request(journal, item):
                tell(line)


def _given(inputs: InputChoice | tuple[NewItem, ...], *, attaches: bool) -> Iterable[NewItem]:
    """The items of a new batch, as they come."""
    return inputs if isinstance(inputs, tuple) else items_of(replace(inputs, attaches=attaches), sys.stdin)


def require_consent(
    prepared: PreparedRun, models: Mapping[str, str], consent: Consent, *, is_fleet: bool = False
) -> None:
    """Requires consent to the code that the runs would execute.

    Raises:
        UntrustedError: It is refused.
        LlmdoError: A row of a fleet names a model that the lock does not.
    """
    from llmdo.runtime import ModelChoice

    choice = ModelChoice(by_worker=models, source="fleet" if is_fleet else "person")
    prepared.plan(models=choice).trusted_by(consent)


def _takes_files(graph: Graph, entry: Entry) -> bool:
    """Whether the worker of the entry declares which files it takes, and takes any."""
    worker = graph.workers[entry.worker.name] if entry.worker else None
    return worker is not None and worker.attachments != Attachments() and worker.attachments.max != 0


def _placed(
    items: Iterable[NewItem], root: Path, default: str | None, environ: Mapping[str, str]
) -> Iterator[NewItem]:
    """The items, their files by their names relative to `root`, as tools use them.

    Raises:
        LlmdoError: An input is missing, or holds a secret of the environment: a batch keeps its inputs.
    """
    from llmdo.features.batch.item_run import name_of  # which takes a second

    known = Known.of(environ)
    for item in items:
        if item.input is None and default is None:
            raise LlmdoError(
                f"{item.place}: the entry needs an input beside its file",
                hint="`--input TEMPLATE` gives one, such as --input 'Read {name}.'",
            )
        if variable := known.variable_in(f"{item.key} {item.input} {item.title or ''}"):
            raise LlmdoError(
                f"{item.place}: the input holds the value of `{variable}`, and a batch keeps its inputs",
                hint="let a tool read it from the environment",
            )
        yield replace(item, files=tuple((name_of(path, root), content) for path, content in item.files))


def _references(prepared: PreparedRun, models: tuple[str, ...], environ: Mapping[str, str]) -> dict[str, str]:
    """The model of each worker that the entry reaches, fixed against later changes of the environment."""
    from llmdo.runtime.models.choice import choose

    graph, entry = prepared.graph, prepared.graph.entries[prepared.entry]
    choice = chosen_models(graph, models, environ)
    chosen = {name: choose(graph, entry, graph.workers[name], choice) for name in reachable(graph, entry)}
    return {name: reference for name, reference in chosen.items() if reference}


def lock_of(graph: Graph, entry: str, references: Mapping[str, str]) -> str:
    """The digest of an entry with these models."""
    return digest.of_text(lock.dump(reached(graph, entry, references)))


@contextmanager
def rows_of(store: BatchStore, out: str | None) -> Iterator[Rows | None]:
    """The file of the rows, complete but for unfinished items; None if none is wanted."""
    if out is None:
        yield None
        return
    from llmdo.features.batch.rows import Rows

    with Rows(Path(out)) as rows:
        rows.complete(store.items(*ENDED))
        yield rows
