"""The commands of `llmdo batch`."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options, quick  # typer reads the annotations
from llmdo.cli.console import FINE, put, say, screen
from llmdo.features.batch import fleets  # noqa: TC001  # typer reads the annotations
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    from llmdo.features.batch.terminal import BatchTerminal

PLACE = 115
START = "start"


class ItemState(StrEnum):
    """The states by which items can be picked."""

    queued = "queued"
    running = "running"
    waiting = "waiting"
    unsure = "unsure"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"
    refused = "refused"


class UnsureCalls(StrEnum):
    """The choices for unfinished calls."""

    again = "again"
    give_up = "give-up"


BatchName = Annotated[
    str, typer.Argument(metavar="BATCH", help="A batch's id, a unique start or end of one, or `last`.")
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=1000, help="How many items are worked on at a time.")]
Processes = Annotated[
    int,
    typer.Option(
        "--processes",
        min=1,
        max=100,
        help="How many processes share the batch, where its work is for the processor.",
    ),
]
Out = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--out", metavar="FILE.jsonl", help="A row for each item as it ends; of a key, the last counts."
    ),
]
Budget = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--budget-usd",
        metavar="X",
        help="Begin nothing more once the batch has cost that; what has begun may add `--jobs` times an entry's limit.",
    ),
]
MaxFailures = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--max-failures", min=1, metavar="N", help="Begin nothing more once N items have failed."),
]
Limit = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--limit", min=1, metavar="N", help="Begin at most N items now."),
]


Rebind = Annotated[
    bool, typer.Option("--rebind", help="Run what has not begun with what the workspace is now.")
]
Priority = Annotated[
    int,
    typer.Option(
        "--priority",
        min=1,
        max=1_000_000,
        metavar="N",
        help="With --fleet: of what waits for one entry, what has a lower number is taken first.",
    ),
]
Inputs = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--inputs",
        metavar="FILES",
        help="A glob in quotes, a FILE.jsonl or FILE.csv with a record a line, or - for JSON lines on stdin.",
    ),
]
Key = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--key", metavar="FIELD", help="The field of a record that is its key; else its line is."),
]
Template = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--input",
        metavar="TEMPLATE",
        help="The text of each input, with {FIELD} of its record; of files {path}, {name}, {stem}, {text}.",
    ),
]


class _Batches(typer.core.TyperGroup):
    """Takes `llmdo batch ENTRY ...` for `llmdo batch start ENTRY ...`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [START, *args]
        return super().parse_args(ctx, args)


batch = typer.Typer(
    cls=_Batches,
    help="Run an entry over many inputs, each once: `llmdo batch ENTRY --inputs FILES`. It can be resumed at any time.",
)


@batch.command(START)
def start(
    entry: options.EntryName = None,
    inputs: Inputs = None,
    key: Key = None,
    input: Template = None,  # noqa: A002
    project: options.Project = None,
    jobs: Jobs = 8,
    processes: Processes = 1,
    out: Out = None,
    budget_usd: Budget = None,
    max_failures: MaxFailures = None,
    limit: Limit = None,
    model: options.Models = None,
    max_depth: options.MaxDepth = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    fleet: fleets.Fleet = None,
    priority: Priority = 1000,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    locked: options.Locked = False,
    approvals: options.When = options.Approvals.later,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    debug: options.Debug = False,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Put all inputs in, then run the entry for each; `llmdo batch ENTRY` is the same."""
    from llmdo.features.batch import commands as service
    from llmdo.features.batch import terminal as batching
    from llmdo.services.run import EntryRequest

    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    bounds = service.bounds(jobs, limit, max_failures, budget_usd)
    request = service.BatchRequest(
        start=EntryRequest((entry,) if entry else (), project=project, of_files=False, locked=is_locked),
        inputs=service.inputs(inputs, key, input),
        models=tuple(model or ()),
        max_depth=max_depth,
        working=service.Working(bounds=bounds, out=out, debug=debug),
    )
    host = _host(approvals, approve, processes, approve_all=approve_all, reject_all=reject_all)
    outcome = batching.begin(request, host, fleet=fleet, priority=priority)
    return batching.report(outcome, as_json=format == "json")


@batch.command("resume")
def resume(
    name: BatchName,
    project: options.Project = None,
    jobs: Jobs = 8,
    processes: Processes = 1,
    out: Out = None,
    budget_usd: Budget = None,
    max_failures: MaxFailures = None,
    limit: Limit = None,
    rebind: Rebind = False,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    fleet: fleets.Fleet = None,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    approvals: options.When = options.Approvals.later,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    debug: options.Debug = False,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Go on with what is left, what stopped on the way, and what has its answers by now; nothing is done twice."""
    from llmdo.features.batch import commands as service
    from llmdo.features.batch import terminal as batching

    working = service.Working(
        bounds=service.bounds(jobs, limit, max_failures, budget_usd), out=out, debug=debug
    )
    request = service.ContinuedBatch(root=root_folder(project), batch=name, rebind=rebind, working=working)
    host = _host(approvals, approve, processes, approve_all=approve_all, reject_all=reject_all)
    return batching.report(batching.go_on(request, host, fleet=fleet), as_json=format == "json")


@batch.command("retry")
def retry(
    name: BatchName,
    project: options.Project = None,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Those that failed or were refused. Default where nothing is named."),
    ] = False,
    item: Annotated[
        options.Texts,
        typer.Option("--item", metavar="KEY", help="Of those that failed, this one; may be repeated."),
    ] = None,
    unsure: Annotated[
        Optional[UnsureCalls],  # noqa: UP045
        typer.Option(
            "--unsure",
            help="Those with calls that may have taken effect: run these again, or tell models that nobody knows.",
        ),
    ] = None,
    rebind: Rebind = False,
    jobs: Jobs = 8,
    processes: Processes = 1,
    out: Out = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    fleet: fleets.Fleet = None,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    approvals: options.When = options.Approvals.later,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    debug: options.Debug = False,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Go on with items that failed or that a person has to decide about; a run that cannot go on is begun anew."""
    from llmdo.features.batch import commands as service
    from llmdo.features.batch import terminal as batching

    request = service.ContinuedBatch(
        root=root_folder(project),
        batch=name,
        failed=failed or bool(item) or unsure is None,
        items=tuple(item or ()),
        unsure=None if unsure is None else unsure.value,
        rebind=rebind,
        working=service.Working(bounds=service.bounds(jobs), out=out, debug=debug),
    )
    host = _host(approvals, approve, processes, approve_all=approve_all, reject_all=reject_all)
    return batching.report(batching.go_on(request, host, fleet=fleet), as_json=format == "json")


@batch.command("list")
def list_batches(
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """List the batches of the workspace, the latest first."""
    from llmdo.features.batch import commands as service
    from llmdo.features.batch import rendering as render

    outcomes = list(service.outcomes(root_folder(project)))
    if format == "json":
        put(render.listed_as_json(outcomes), end="", as_json=True)
    elif outcomes:
        put(render.listed(outcomes), end="")
    else:
        say("there is no batch in this workspace")
    return FINE


@batch.command("show")
def show(
    name: BatchName,
    project: options.Project = None,
    state: Annotated[
        Optional[ItemState],  # noqa: UP045
        typer.Option("--state", help="Items in this state alone."),
    ] = None,
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Show a batch and each of its items: key, state, run, and what came of it."""
    from llmdo.features.batch import commands as service
    from llmdo.features.batch import rendering as render

    outcome, items = service.show(root_folder(project), name, None if state is None else state.value)
    if format == "json":
        put(render.as_json(outcome, items), end="", as_json=True)
    else:
        put(render.shown_items(outcome, items, screen()), end="", is_drawn=True)
    return FINE


@batch.command("cancel")
def cancel(
    name: BatchName,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    fleet: fleets.Fleet = None,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Take what has not begun out of a batch, and call off what waits; what is at work goes on to its end."""
    from llmdo.features.batch import terminal as batching

    batching.report(batching.cancel(root_folder(project), name, fleet=fleet), as_json=format == "json")
    return FINE


@batch.command("prune")
def prune(
    name: Annotated[options.Texts, typer.Argument(metavar="[BATCH]...", help="Only these batches.")] = None,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback keeps it
    keep: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0,
            metavar="N",
            help="How many of the latest batches to keep; without a number, 20 or as `keep-batches-days` says.",
        ),
    ] = None,
    older_than: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--older-than", min=0, metavar="DAYS", help="Only batches that were put in before then."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
) -> int:
    """Remove old batches of which nothing is open, or those that are named; the journals of runs stay."""
    from llmdo.features.batch import pruning as service

    root, named = root_folder(project), tuple(name or ())
    request = service.BatchPruneRequest(
        root=root, batches=named, keep=keep, older_than=older_than, dry_run=dry_run
    )
    for removed in service.prune(request, say):
        put(removed)
    if dry_run:
        say("nothing was removed")
    return FINE


@batch.command("rebind")
def rebind(
    name: BatchName,
    fleet: fleets.Fleet = None,
    allow_drift: options.AllowDrift = None,
    project: options.Project = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
) -> int:
    """Have workers with the lock of this checkout take what has not started; what has begun needs --allow-drift."""
    from llmdo.features.batch import terminal as batching

    say(
        batching.rebind(
            root_folder(project), name, fleet=fleet, allow_drift=tuple(dict.fromkeys(allow_drift or ()))
        )
    )
    return FINE


def _host(
    when: options.Approvals, approve: options.Texts, processes: int, *, approve_all: bool, reject_all: bool
) -> BatchTerminal:
    from llmdo.features.batch.terminal import BatchTerminal

    if when is options.Approvals.prompt:
        raise LlmdoError(
            "a batch asks nobody while it runs: its questions wait",
            hint="`llmdo approve RUN`, then `llmdo batch resume BATCH`; or `--approve CAPABILITY`",
        )
    answers = options.answered(
        options.Approvals.prompt, approve, approve_all=approve_all, reject_all=reject_all
    )
    return BatchTerminal(approvals=answers, processes=processes)


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(batch, name="batch")
