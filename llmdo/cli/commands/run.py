"""`llmdo run`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINE, put, say

if TYPE_CHECKING:
    from llmdo.cli.terminal import Terminal
    from llmdo.services.run import EntryRequest, RunRequest


Words = Annotated[
    options.Texts,
    typer.Argument(metavar="[NAME | FILE... [INPUT]]", help="An entry; or worker and Python files."),
]
Entry = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--entry", metavar="NAME", help="What to start, also of files alone: then any worker."),
]
Input = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--input", metavar="TEXT", help="The input, or - for standard input."),
]
Continue = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--continue",
        metavar="RUN",
        help="Go on from an earlier run, with what was said in it; or from the last.",
    ),
]
Paths = Annotated[
    options.Texts,
    typer.Option("--path", metavar="ALIAS=FILE", help="A path map for this run; may be repeated."),
]
Attach = Annotated[
    options.Texts,
    typer.Option(
        "--attach", metavar="FILE", help="A file, or its alias, for the entry's worker; may be repeated."
    ),
]
NoJournal = Annotated[
    bool,
    typer.Option("--no-journal", help="Keep no journal: the run cannot be resumed, replayed or audited."),
]
AllTools = Annotated[
    bool, typer.Option("--all-tools", help="List every tool that the run could call, and run nothing.")
]
Page = Annotated[
    bool,
    typer.Option("--page", help="Show the run in a browser as it goes on, and take answers there as well."),
]
TraceContent = Annotated[
    bool, typer.Option("--trace-content", help="Put prompts, answers and results into the trace.")
]
TraceBinary = Annotated[
    bool, typer.Option("--trace-binary", help="The same, and put attachments into the trace as well.")
]


def run(
    words: Words = None,
    entry: Entry = None,
    project: options.Project = None,
    input: Input = None,  # noqa: A002
    continues: Continue = None,
    path: Paths = None,
    attach: Attach = None,
    model: options.Models = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    max_depth: options.MaxDepth = None,
    locked: options.Locked = False,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    approvals: options.When = options.Approvals.prompt,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    no_journal: NoJournal = False,
    all_tools: AllTools = False,
    verbose: options.Verbose = 0,
    log_events: options.LogEvents = None,
    trace_dir: options.TraceDir = None,
    trace_content: TraceContent = False,
    trace_binary: TraceBinary = False,
    page: Page = False,
    debug: options.Debug = False,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Run an entry: exactly what was checked."""
    from llmdo.cli import quick
    from llmdo.services import run as service

    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    start = service.EntryRequest(tuple(words or ()), entry, project, input, not locked, is_locked)
    if all_tools:
        return _list_tools(start)
    limits = service.RunRequest(start=start, paths=tuple(path or ()), models=tuple(model or ()))
    limits = replace(limits, max_depth=max_depth, continues=continues, attachments=tuple(attach or ()))
    request = replace(limits, later=approvals == "later", journal=not no_journal, debug=debug)
    answers = options.answered(approvals, approve, approve_all=approve_all, reject_all=reject_all)
    trace_options = {"content": trace_content, "binary": trace_binary}
    watch = options.watched(verbose, log_events, trace_dir, as_text=format == "text", **trace_options)
    terminal = options.terminal(answers, watch)
    ended = _paged if page else _plain
    return ended(request, terminal, as_json=format == "json")


def _plain(request: RunRequest, terminal: Terminal, *, as_json: bool) -> int:
    """Runs it at the terminal alone."""
    from llmdo.cli import outcome
    from llmdo.services import run as service

    return outcome.report(service.run(request, terminal), as_json=as_json)


def _paged(request: RunRequest, terminal: Terminal, *, as_json: bool) -> int:
    """Runs it with a page beside the terminal."""
    from llmdo.cli import outcome
    from llmdo.cli.paged import paged
    from llmdo.services import run as service
    from llmdo.services.root import root_folder

    with paged(terminal, root_folder(request.start.project)) as host:
        return outcome.report(service.run(replace(request, paged=True), host), as_json=as_json)


def _list_tools(start: EntryRequest) -> int:
    """Prints every tool that a run could call."""
    from llmdo.cli.trusting import consent_here
    from llmdo.services import run as service

    for offer in service.list_tools(start, say, consent_here()):
        capabilities = ", ".join(map(str, offer.capabilities)) or "nothing"
        put(f"{offer.worker} > {offer.toolset} > {offer.tool}: {capabilities}")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(run)
