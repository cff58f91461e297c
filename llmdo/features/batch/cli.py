"""The commands of `llmdo batch`."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.cli import options, quick, requests
from llmdo.cli.approving import ApprovalOptions  # noqa: TC001
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINE, put, say, screen
from llmdo.features.batch import commands as service
from llmdo.features.batch import fleets, pruning
from llmdo.features.batch.inputs import InputChoice  # noqa: TC001
from llmdo.features.batch.scheduling import BatchBounds  # noqa: TC001
from llmdo.journal.items import State  # noqa: TC001
from llmdo.services.root import LOCKED, PROJECT, ROOT
from llmdo.services.run import EntryRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmdo.features.batch.terminal import BatchTerminal

PLACE = HelpPlace("Run", 30)
START = "start"
WORDS = argument(
    "[ENTRY] [FILE]...",
    "The entry, and after `--inputs FILE` further files, as a shell writes them for a glob.",
)
_NAME = re.compile(r"[A-Za-z][\w-]*")

Form = Annotated[options.PlainForm, options.OUTCOME]
Approvals = Annotated[options.ApprovalTime, options.APPROVALS]
Processes = Annotated[
    int,
    option("How many processes share the batch, where its work is for the processor.", least=1, most=100),
]
Priority = Annotated[
    int,
    option(
        "With --fleet: of what waits for one entry, what has a lower number is taken first.",
        metavar="N",
        least=1,
        most=1_000_000,
    ),
]


class _Batches(typer.core.TyperGroup):
    """Takes `llmdo batch ENTRY ...` for `llmdo batch start ENTRY ...`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [START, *args]
        return super().parse_args(ctx, args)


def start(
    inputs: InputChoice,
    request: service.BatchRequest,
    bounds: BatchBounds,
    working: service.Working,
    answers: ApprovalOptions,
    words: Annotated[tuple[str, ...], WORDS] = (),
    locked: Annotated[bool, LOCKED] = False,
    processes: Processes = 1,
    fleet: fleets.Fleet = None,
    priority: Priority = fleets.PRIORITY,
    approvals: Approvals = "later",
    format: Form = "text",  # noqa: A002
    project: Annotated[str | None, PROJECT] = None,
) -> int:
    """Put all inputs in, then run the entry for each; `llmdo batch ENTRY` is the same."""
    from llmdo.features.batch import terminal as batching

    entry, files = entry_and_files(words)
    inputs = replace(inputs, more=files)
    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    begun = EntryRequest((entry,) if entry else (), project=project, of_files=False, locked=is_locked)
    request = replace(request, start=begun, inputs=inputs, working=replace(working, bounds=bounds))
    host = _host(approvals, answers, processes)
    outcome = batching.begin(request, host, fleet=fleet, priority=priority)
    return batching.report(outcome, as_json=format == "json")


def entry_and_files(words: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """The entry among the words, which is the first that may be a name or is no file, and the files."""
    entry = next((word for word in words if _NAME.fullmatch(word) or not Path(word).is_file()), None)
    files = list(words)
    if entry is not None:
        files.remove(entry)
    return entry, tuple(files)


def resume(
    request: service.ContinuedBatch,
    bounds: BatchBounds,
    working: service.Working,
    answers: ApprovalOptions,
    processes: Processes = 1,
    fleet: fleets.Fleet = None,
    approvals: Approvals = "later",
    format: Form = "text",  # noqa: A002
) -> int:
    """Go on with what is left, what stopped on the way, and what has its answers by now; nothing is done twice."""
    from llmdo.features.batch import terminal as batching

    request = replace(request, working=replace(working, bounds=bounds))
    host = _host(approvals, answers, processes)
    return batching.report(batching.go_on(request, host, fleet=fleet), as_json=format == "json")


def retry(
    request: service.ContinuedBatch,
    bounds: BatchBounds,
    working: service.Working,
    answers: ApprovalOptions,
    processes: Processes = 1,
    fleet: fleets.Fleet = None,
    approvals: Approvals = "later",
    format: Form = "text",  # noqa: A002
) -> int:
    """Go on with items that failed or that a person has to decide about; a run that cannot go on is begun again."""
    failed = request.failed or bool(request.keys) or request.unsure is None
    request = replace(request, failed=failed)
    return resume(request, bounds, working, answers, processes, fleet, approvals, format)


def list_batches(root: Annotated[Path, ROOT], format: Form = "text") -> int:  # noqa: A002
    """List the batches of the workspace, the latest first."""
    from llmdo.features.batch import rendering as render

    outcomes = list(service.outcomes(root))
    if format == "json":
        put(render.listed_as_json(outcomes), end="", as_json=True)
    elif outcomes:
        put(render.listed(outcomes), end="")
    else:
        say("there is no batch in this workspace")
    return FINE


def show(
    batch: Annotated[str, service.BATCH],
    root: Annotated[Path, ROOT],
    state: Annotated[State | None, option("Items in this state alone.")] = None,
    format: Form = "text",  # noqa: A002
) -> int:
    """Show a batch and each of its items: key, state, run, and what came of it."""
    from llmdo.features.batch import rendering as render

    outcome, items = service.show(root, batch, state)
    if format == "json":
        put(render.as_json(outcome, items), end="", as_json=True)
    else:
        put(render.shown_items(outcome, items, screen()), end="", is_drawn=True)
    return FINE


def cancel(
    batch: Annotated[str, service.BATCH],
    root: Annotated[Path, ROOT],
    fleet: fleets.Fleet = None,
    format: Form = "text",  # noqa: A002
) -> int:
    """Take what has not begun out of a batch, and call off what waits; what is at work goes on to its end."""
    from llmdo.features.batch import terminal as batching

    batching.report(batching.cancel(root, batch, fleet=fleet), as_json=format == "json")
    return FINE


def prune(request: pruning.BatchPruneRequest) -> int:
    """Remove old batches of which nothing is open, or those that are named; the journals of runs stay."""
    for removed in pruning.prune(request, say):
        put(removed)
    if request.dry_run:
        say("nothing was removed")
    return FINE


def rebind(
    batch: Annotated[str, service.BATCH],
    root: Annotated[Path, ROOT],
    fleet: fleets.Fleet = None,
    allow_drift: Annotated[
        tuple[str, ...], option("Something that changed since; may be repeated.", metavar="NAME")
    ] = (),
) -> int:
    """Have workers with the lock of this checkout take what has not started; what has begun needs --allow-drift."""
    from llmdo.features.batch import terminal as batching

    say(batching.rebind(root, batch, fleet=fleet, allow_drift=tuple(dict.fromkeys(allow_drift))))
    return FINE


def _host(when: options.ApprovalTime, answers: ApprovalOptions, processes: int) -> BatchTerminal:
    from llmdo.features.batch.terminal import BatchTerminal

    if when == "prompt":
        raise LlmdoError(
            "a batch asks nobody while it runs: its questions wait",
            hint="`llmdo approve RUN`, then `llmdo batch resume BATCH`; or `--approve CAPABILITY`",
        )
    return BatchTerminal(approvals=answers, processes=processes)


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    batch = typer.Typer(
        cls=_Batches,
        help="Run an entry over many inputs, each once: `llmdo batch ENTRY --inputs FILES`. "
        "It can be resumed at any time.",
    )
    stored = (options.WITH_STORE,)
    working = (options.WITH_ENV_FILE, options.WITH_STORE, options.WITH_TRUST)
    requests.add(batch, start, START, also=working)
    requests.add(batch, resume, also=working, without=("failed", "keys", "unsure"))
    requests.add(batch, retry, also=working, without=("items", "failures", "budget_usd"))
    named: dict[str, Callable[..., int]] = {
        "list": list_batches, "show": show, "cancel": cancel, "prune": prune
    }  # fmt: skip
    for name, command in named.items():
        requests.add(batch, command, name, also=stored)
    requests.add(batch, rebind, also=(options.WITH_ENV_FILE,))
    app.add_typer(batch, name="batch")
