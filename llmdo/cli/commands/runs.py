"""`llmdo runs` and its subcommands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINE, put, say
from llmdo.services.root import root_folder


class ShowFormat(StrEnum):
    """How one run is shown."""

    text = "text"
    json = "json"
    markdown = "markdown"


class StatsBy(StrEnum):
    """The property by which runs are added up."""

    entry = "entry"
    worker = "worker"
    model = "model"
    day = "day"


RunsOf = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--entry", metavar="NAME", help="Runs of this entry."),
]
Status = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--status", help="completed, truncated, failed, cancelled, interrupted, waiting, running or stopped."
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=0, help="How many of the latest runs to list; 0 for all.")]
Turns = Annotated[
    bool, typer.Option("--turns", help="Every run of a conversation, and not only its last one.")
]
ListFormat = Annotated[options.PlainFormat, typer.Option("--format", help="How they are printed.")]

runs = typer.Typer(invoke_without_command=True)


@runs.callback()
def default(
    ctx: typer.Context,
    project: options.Project = None,
    store: options.Store = None,
    entry: RunsOf = None,
    status: Status = None,
    limit: Limit = 20,
    form: ListFormat = options.PlainFormat.text,
) -> int:
    """The runs of the past: list them, look into one, remove old ones. Alone, it lists the last ones."""
    if not ctx.invoked_subcommand:
        return list_runs(project, store, entry, status, limit, form=form)
    if project or store or entry or status or limit != 20 or form != "text":
        name = ctx.invoked_subcommand
        raise LlmdoError(
            "options come after the command", hint=f"llmdo runs {name} --help says what it takes"
        )
    return FINE


@runs.command("list")
def list_runs(
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    entry: RunsOf = None,
    status: Status = None,
    limit: Limit = 20,
    turns: Turns = False,
    form: ListFormat = options.PlainFormat.text,
) -> int:
    """List the runs that have a journal, the last one first."""
    from llmdo.cli import history
    from llmdo.services.runs import RunsRequest

    root = root_folder(project)
    request = RunsRequest(root=root, entry=entry, status=status, limit=limit, turns=turns)
    return history.list_runs(request, as_json=form == "json")


@runs.command("show")
def show(
    run: options.RunName,
    path: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[PATH]", help="With --messages: those of the worker at this call path."),
    ] = None,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    messages: Annotated[
        bool,
        typer.Option("--messages", help="What models were shown at each request, and what they answered."),
    ] = False,
    calls: Annotated[
        bool, typer.Option("--calls", help="Each call: its arguments, what was decided and why, its result.")
    ] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Shorten nothing. JSON never does.")] = False,
    format: Annotated[ShowFormat, typer.Option(help="How it is printed.")] = ShowFormat.text,  # noqa: A002
) -> int:
    """Show a run as a tree: times, tokens, cost, and who decided what."""
    from llmdo.render import runs as render
    from llmdo.services import runs as service

    detail = service.Detail(calls=calls, messages=messages, path=path, whole=whole)
    shown = service.show(root_folder(project), run, detail)
    for name in shown.skipped:
        say(f"the journal of run `{name}` holds no run, so this is the one before it")
    write = {"text": render.as_text, "json": render.as_json, "markdown": render.as_markdown}[format.value]
    put(write(shown.summary, shown.tree, detail, shown.requests), end="", as_json=format == "json")
    return FINE


@runs.command("stats")
def stats(
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    by: Annotated[StatsBy, typer.Option("--by", help="How the totals are grouped.")] = StatsBy.entry,
    since: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--since", metavar="DAY|TIME", help="Only runs since then: 2026-11-23, 12h or 30d ago."),
    ] = None,
    form: ListFormat = options.PlainFormat.text,
) -> int:
    """Add up what runs used: requests, tokens, cost, time, failures, questions and answers."""
    from llmdo.render import totals as render
    from llmdo.services import runs as service

    totals = service.stats(root_folder(project), by.value, since, say)
    write = render.as_json if form == "json" else render.as_text
    put(write(totals, by.value), end="", as_json=form == "json")
    return FINE


@runs.command("cancel")
def cancel(
    run: options.RunName,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
) -> int:
    """Call off a run that waits or stopped: no answer, worker or `resume` goes on with it."""
    from llmdo.services import runs as service

    name, is_new = service.cancel(root_folder(project), run)
    say(f"run {name} is called off" if is_new else f"run {name} was over before")
    return FINE


@runs.command("prune")
def prune(
    run: Annotated[
        options.Texts,
        typer.Argument(metavar="[RUN]...", help="Only these runs, even if they could be resumed."),
    ] = None,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    keep: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0,
            metavar="N",
            help="How many of the latest runs to keep; without a number, 20 or as `keep-runs-days` says.",
        ),
    ] = None,
    older_than: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--older-than", min=0, metavar="DAYS", help="Only runs that began before then."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
) -> int:
    """Remove the journals of old runs that are over, or of those that are named."""
    from llmdo.services import runs as service

    root, named = root_folder(project), tuple(run or ())
    request = service.PruneRequest(root=root, runs=named, keep=keep, older_than=older_than, dry_run=dry_run)
    for name in service.prune(request, say):
        put(name)
    if dry_run:
        say("nothing was removed")
    return FINE


@runs.command("export")
def export(
    run: options.RunName,
    file: Annotated[
        Path, typer.Argument(metavar="FILE.sqlite", help="The file to write, which must not exist.")
    ],
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    no_sources: Annotated[
        bool,
        typer.Option("--no-sources", help="Leave out the sources; the run can then be resumed only here."),
    ] = False,
) -> int:
    """Write a run, with the code that it needs, to a file that another machine can replay and go on with."""
    from llmdo.services import export_import

    number = export_import.export(root_folder(project), run, file, with_sources=not no_sources)
    say(f"wrote {file}" + (f" with {export_import.counted_sources(number)}" if number else ""))
    return FINE


@runs.command("import")
def import_run(
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="An exported run.")],
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
) -> int:
    """Take an exported run among those of this workspace. It brings its answers: trust it as you trust code."""
    from llmdo.services import export_import

    imported = export_import.take_in(root_folder(project), file)
    put(imported.run)
    for note in imported.notes:
        say(note)
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    app.add_typer(runs, name="runs")
