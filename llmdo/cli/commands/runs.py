"""`llmdo runs` with its subcommands: what happened in the past.

`runs` alone is the one command whose options are written by hand: it has to know whether another word follows.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # the annotations are read
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.cli import options, requests
from llmdo.cli.commands import replay, test
from llmdo.cli.console import FINDINGS, FINE, put, say
from llmdo.journal.totals import By  # noqa: TC001
from llmdo.services import runs as service
from llmdo.services.root import PROJECT, ROOT, RUN, root_folder
from llmdo.services.runs import RunsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = option("How it is printed.")
PRINTED = option("How they are printed.", "--format")
FILE = "FILE.sqlite"

Project = Annotated[str | None, requests.info("project", PROJECT)]
EntryOf = Annotated[str | None, requests.info_of(RunsRequest, "entry")]
Status = Annotated[str | None, requests.info_of(RunsRequest, "status")]
WhereOption = Annotated[list[str] | None, requests.info_of(RunsRequest, "where")]
Limit = Annotated[int, requests.info_of(RunsRequest, "limit")]


class ListFormat(StrEnum):
    """How the list is printed."""

    text = "text"
    json = "json"


runs = typer.Typer(invoke_without_command=True)


@runs.callback()
def default(
    ctx: typer.Context,
    project: Project = None,
    store: options.Store = None,
    entry: EntryOf = None,
    status: Status = None,
    where: WhereOption = None,
    limit: Limit = 20,
    form: Annotated[ListFormat, requests.info("form", PRINTED)] = ListFormat.text,
) -> int:
    """The runs of the past: list them, look into one, remove old ones. Alone, it lists the last ones."""
    if not ctx.invoked_subcommand:
        request = RunsRequest(
            root=root_folder(project), entry=entry, status=status, where=tuple(where or ()), limit=limit
        )
        return list_runs(request, form.value)
    if project or store or entry or status or where or limit != 20 or form != "text":
        name = ctx.invoked_subcommand
        raise LlmdoError(
            "options come after the command", hint=f"llmdo runs {name} --help says what it takes"
        )
    return FINE


def list_runs(request: RunsRequest, form: Annotated[Literal["text", "json"], PRINTED] = "text") -> int:
    """List the runs that have a journal, the last one first."""
    from llmdo.cli import history

    return history.list_runs(request, as_json=form == "json")


def show(
    run: Annotated[str, RUN],
    detail: service.Detail,
    root: Annotated[Path, ROOT],
    format: Annotated[Literal["text", "json", "markdown"], FORMAT] = "text",  # noqa: A002
) -> int:
    """Show a run as a tree: times, tokens, cost, and who decided what."""
    from llmdo.render import runs as render

    shown = service.show(root, run, detail)
    for name in shown.skipped:
        say(f"the journal of run `{name}` holds no run, so this is the one before it")
    write = {"text": render.as_text, "json": render.as_json, "markdown": render.as_markdown}[format]
    put(write(shown.summary, shown.tree, detail, shown.requests), end="", as_json=format == "json")
    return FINE


def stats(
    root: Annotated[Path, ROOT],
    by: Annotated[By, option("How the totals are grouped.")] = "entry",
    since: Annotated[
        str | None, option("Only runs since then: 2026-11-23, 12h or 30d ago.", metavar="DAY|TIME")
    ] = None,
    form: Annotated[Literal["text", "json"], PRINTED] = "text",
) -> int:
    """Add up what runs used: requests, tokens, cost, time, failures, questions and answers."""
    from llmdo.render import runs as render

    totals = service.stats(root, by, since, say)
    write = render.totals_as_json if form == "json" else render.totals_as_text
    put(write(totals, by), end="", as_json=form == "json")
    return FINE


def cancel(run: Annotated[str, RUN], root: Annotated[Path, ROOT]) -> int:
    """Call off a run that waits or stopped: no answer, worker or `resume` goes on with it."""
    name, is_new = service.cancel(root, run)
    say(f"run {name} is called off" if is_new else f"run {name} was over before")
    return FINE


def prune(request: service.PruneRequest) -> int:
    """Remove the journals of old runs that are over, or of those that are named."""
    for name in service.prune(request, say):
        put(name)
    if request.dry_run:
        say("nothing was removed")
    return FINE


def export(
    run: Annotated[str, RUN],
    file: Annotated[Path, argument(FILE, "The file to write, which must not exist.")],
    root: Annotated[Path, ROOT],
    no_sources: Annotated[
        bool, option("Leave out the sources; the run can then be resumed only here.")
    ] = False,
) -> int:
    """Write a run, with the code that it needs, to a file that another machine can replay and go on with.

    To a FILE.yaml only what its models said, as a script: `--model script:FILE.yaml` says it again.
    """
    from llmdo.services import export_import, script_export

    if file.suffix == script_export.SUFFIX:
        number = script_export.export_script(root, [run], file)
        say(f"wrote {number} answer{'s' if number != 1 else ''} to {file}: review it, it holds what was said")
        return FINE
    number = export_import.export(root, run, file, with_sources=not no_sources)
    say(f"wrote {file}" + (f" with {export_import.counted_sources(number)}" if number else ""))
    return FINE


def import_run(file: Annotated[Path, argument(FILE, "An exported run.")], root: Annotated[Path, ROOT]) -> int:
    """Take an exported run among those of this workspace. It brings its answers: trust it as you trust code."""
    from llmdo.services import export_import

    imported = export_import.take_in(root, file)
    put(imported.run)
    for note in imported.notes:
        say(note)
    return FINE


def audit(
    request: service.AuditRequest,
    format: Annotated[  # noqa: A002
        Literal["text", "json", "jsonl"], option("How it is printed; jsonl: the records as they are chained.")
    ] = "text",
) -> int:
    """Show every decision of a run or a session: who let what through, by which rule or answer."""
    from llmdo.render import audit as render

    outcome = service.audit(request)
    for line in render.rendered(outcome, format, verified=request.verifies):
        put(line, as_json=format != "text")
    if outcome.audit.faults and not request.verifies:
        say("warning: the chain does not hold; `--verify` says where")
    return FINDINGS if request.verifies and outcome.audit.faults else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    named: dict[str, Callable[..., int]] = {
        "list": list_runs, "show": show, "stats": stats, "cancel": cancel, "prune": prune, "export": export,
        "import": import_run,
    }  # fmt: skip
    for name, command in named.items():
        requests.add(runs, command, name, also=(options.WITH_STORE,))
    requests.add(runs, audit, also=(options.WITH_STORE,))
    replay.add_to(runs)
    test.add_to(runs)
    app.add_typer(runs, name="runs")
