"""`llmdo resume`, `replay` and `runs` on the command line: their words and options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import edit, start  # typer reads the annotations
from llmdo.cli.console import FINE, root_folder


class ListFormat(StrEnum):
    """How runs are listed."""

    text = "text"
    json = "json"


class ShowFormat(StrEnum):
    """How one run is shown."""

    text = "text"
    json = "json"
    markdown = "markdown"


class TestFormat(StrEnum):
    """How what recordings show is printed."""

    text = "text"
    json = "json"
    junit = "junit"


class SourceOrigin(StrEnum):
    """Where what runs is taken from."""

    workspace = "workspace"
    run = "run"


Origin = Annotated[
    SourceOrigin,
    typer.Option("--sources", help="Run the workspace, or the code that an imported run brought."),
]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, or what only its id begins or ends with; last.")
]
Texts = Optional[list[str]]  # noqa: UP045  # typer reads annotations at run time

runs = typer.Typer(invoke_without_command=True)


def resume(
    run: Run,
    project: edit.Project = None,
    allow_drift: Annotated[
        Texts,
        typer.Option("--allow-drift", metavar="NAME", help="Something that changed since; may be repeated."),
    ] = None,
    sources: Origin = SourceOrigin.workspace,
    again: Annotated[
        Texts,
        typer.Option(
            "--again",
            metavar="PATH",
            help="A call that did not finish or ended the run, to run once more; may be repeated.",
        ),
    ] = None,
    give_up: Annotated[
        Texts,
        typer.Option(
            "--give-up", metavar="PATH", help="One that did not finish: its model is told that nobody knows."
        ),
    ] = None,
    limit: Annotated[
        Texts,
        typer.Option(
            "--limit",
            metavar="NAME=N",
            help="A limit of the entry, set anew for the rest of the run; may be repeated.",
        ),
    ] = None,
    approvals: start.When = start.Approvals.prompt,
    approve: start.Approve = None,
    approve_all: start.ApproveAll = False,
    reject_all: start.RejectAll = False,
    verbose: start.Verbose = 0,
    log_events: start.LogEvents = None,
    trace_dir: start.TraceDir = None,
    debug: start.Debug = False,
    format: Annotated[  # noqa: A002
        start.RunFormat, typer.Option(help="How the outcome is printed.")
    ] = start.RunFormat.text,
) -> int:
    """Go on with a run where it stopped; nothing recorded is asked or executed again."""
    from llmdo.cli import resume as command
    from llmdo.cli.watch import WatchOptions

    return command.resume(
        command.ResumeRequest(
            run=run,
            project=project,
            allow_drift=tuple(allow_drift or ()),
            sources=sources.value,
            again=tuple(again or ()),
            given_up=tuple(give_up or ()),
            limits=tuple(limit or ()),
            approvals=start.answered(approvals, approve, approve_all=approve_all, reject_all=reject_all),
            json=format is start.RunFormat.json,
            debug=debug,
            watch=WatchOptions(verbose=verbose, log_events=log_events, trace_dir=trace_dir),
        )
    )


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN|FILE", help="A run's id, or an exported run.")],
    project: edit.Project = None,
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--until", metavar="STEP", help="Stop before a tool's PATH, or before PATH@N, a request."
        ),
    ] = None,
    rerun_tools: Annotated[
        bool, typer.Option("--rerun-tools", help="Run the tools that only read, and compare.")
    ] = False,
    sources: Origin = SourceOrigin.workspace,
    verbose: start.Verbose = 0,
    log_events: start.LogEvents = None,
    format: Annotated[  # noqa: A002
        start.RunFormat, typer.Option(help="How the outcome is printed.")
    ] = start.RunFormat.text,
) -> int:
    """Repeat a run from its journal alone: no key, no network, no effects."""
    from llmdo.cli import replay as command
    from llmdo.cli.watch import WatchOptions

    return command.replay(
        command.ReplayRequest(
            run=run,
            project=project,
            until=until,
            rerun_tools=rerun_tools,
            sources=sources.value,
            json=format is start.RunFormat.json,
            watch=WatchOptions(verbose=verbose, log_events=log_events),
        )
    )


def approve(
    run: Run,
    project: edit.Project = None,
    yes: Annotated[
        Texts, typer.Option("--yes", metavar="PATH", help="Allow the call at this path; may be repeated.")
    ] = None,
    no: Annotated[
        Texts, typer.Option("--no", metavar="PATH", help="Refuse the call at this path; may be repeated.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why not, for the model.")] = "",
    by: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--by", metavar="NAME", help="Who answers, if not the user of this machine."),
    ] = None,
    hours: Annotated[
        float, typer.Option("--hours", min=0.0, metavar="N", help="How long the answers count.")
    ] = 168.0,
    answers: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--answers", metavar="FILE", help="Answers as JSON, or - for standard input."),
    ] = None,
    format: Annotated[ListFormat, typer.Option(help="How the questions are printed.")] = ListFormat.text,  # noqa: A002
) -> int:
    """Show the questions of a run that waits, and answer them: at a terminal one by one, else by --yes and --no."""
    from llmdo.cli import approve as command

    return command.approve(
        command.ApproveRequest(
            run=run,
            project=project,
            yes=tuple(yes or ()),
            no=tuple(no or ()),
            reason=reason,
            by=by,
            hours=hours,
            answers=answers,
            json=format is ListFormat.json,
        )
    )


RunsOf = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--entry", metavar="NAME", help="Runs of this entry."),
]
Status = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--status", help="completed, failed, interrupted, waiting, running or stopped."),
]
Limit = Annotated[int, typer.Option("--limit", min=0, help="How many, the last ones; 0 is all.")]
FormatOfList = Annotated[ListFormat, typer.Option("--format", help="How they are printed.")]


@runs.callback()
def default(
    ctx: typer.Context,
    project: edit.Project = None,
    entry: RunsOf = None,
    status: Status = None,
    limit: Limit = 20,
    form: FormatOfList = ListFormat.text,
) -> int:
    """The runs of the past: list them, look into one, remove old ones. Alone, it lists the last ones."""
    if not ctx.invoked_subcommand:
        return list_runs(project, entry, status, limit, form)
    if project or entry or status or limit != 20 or form is not ListFormat.text:
        name = ctx.invoked_subcommand
        raise LlmdoError(
            "options stand behind the command", hint=f"llmdo runs {name} --help says what it takes"
        )
    return FINE


@runs.command("list")
def list_runs(
    project: edit.Project = None,
    entry: RunsOf = None,
    status: Status = None,
    limit: Limit = 20,
    form: FormatOfList = ListFormat.text,
) -> int:
    """List the runs that have a journal, the last one first."""
    from llmdo.cli import history

    return history.list_runs(
        root_folder(project), entry=entry, status=status, limit=limit, as_json=form is ListFormat.json
    )


@runs.command("show")
def show(
    run: Run,
    project: edit.Project = None,
    format: Annotated[ShowFormat, typer.Option(help="How it is printed.")] = ShowFormat.text,  # noqa: A002
) -> int:
    """Show a run as a tree: times, tokens, cost, and who decided what."""
    from llmdo.cli import history

    return history.show(root_folder(project), run, format.value)


@runs.command("prune")
def prune(
    project: edit.Project = None,
    keep: Annotated[int, typer.Option(min=0, metavar="N", help="How many of the last ones stay.")] = 20,
    older_than: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--older-than", min=0, metavar="DAYS", help="Only those that began before that."),
    ] = None,
    waiting: Annotated[bool, typer.Option("--waiting", help="Also those that could still go on.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which.")] = False,
) -> int:
    """Remove the journals of old runs."""
    from llmdo.cli import history

    return history.prune(
        root_folder(project), keep=keep, older_than=older_than, waiting=waiting, dry_run=dry_run
    )


@runs.command("export")
def export(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="Where; nothing may be there.")],
    project: edit.Project = None,
    no_sources: Annotated[
        bool, typer.Option("--no-sources", help="The run alone, which goes on only where the sources are.")
    ] = False,
) -> int:
    """Write a run, with the code that it needs, to a file that another machine can replay and go on with."""
    from llmdo.cli import carrying

    return carrying.export(root_folder(project), run, file, with_sources=not no_sources)


@runs.command("import")
def import_run(
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="An exported run.")],
    project: edit.Project = None,
) -> int:
    """Take an exported run among those of this workspace. It brings its answers: trust it as you trust code."""
    from llmdo.cli import carrying

    return carrying.take_in(root_folder(project), file)


def repeat_recordings(
    files: Annotated[
        Texts, typer.Argument(metavar="[FILE...]", help="Exported runs; those in recordings/ otherwise.")
    ] = None,
    project: edit.Project = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Judge the recorded calls by the rules of today instead.")
    ] = False,
    sources: Origin = SourceOrigin.workspace,
    format: Annotated[TestFormat, typer.Option(help="How the results are printed.")] = TestFormat.text,  # noqa: A002
) -> int:
    """Repeat recorded runs against the workspace as it is now, and say where it would do something else."""
    from llmdo.cli import recordings

    return recordings.test(
        recordings.RecordingsRequest(
            files=tuple(files or ()),
            project=project,
            decisions=decisions,
            sources=sources.value,
            format=format.value,
        )
    )
