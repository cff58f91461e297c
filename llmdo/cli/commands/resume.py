"""`llmdo resume`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.approving import ApprovalOptions

Again = Annotated[
    options.Texts,
    typer.Option(
        "--again",
        metavar="PATH",
        help="A call that did not finish or ended the run, to run once more; may hold *, and be repeated.",
    ),
]
GiveUp = Annotated[
    options.Texts,
    typer.Option(
        "--give-up",
        metavar="PATH",
        help="One that did not finish: tell its model that the outcome is unknown; may hold *.",
    ),
]
LimitAnew = Annotated[
    options.Texts,
    typer.Option(
        "--limit",
        metavar="NAME=N",
        help="A new limit for the rest of the run; may be repeated.",
    ),
]


def resume(
    run: options.RunName,
    project: options.Project = None,
    allow_drift: options.AllowDrift = None,
    sources: options.Sources = options.SourceOrigin.workspace,
    again: Again = None,
    give_up: GiveUp = None,
    limit: LimitAnew = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    approvals: options.When = options.Approvals.prompt,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    verbose: options.Verbose = 0,
    log_events: options.LogEvents = None,
    trace_dir: options.TraceDir = None,
    debug: options.Debug = False,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Go on with a run where it stopped; nothing recorded is asked or executed again."""
    from llmdo.cli import outcome
    from llmdo.services import resume_replay as service
    from llmdo.services.plan import ResumeRequest
    from llmdo.services.root import root_folder

    limits = service.limits_of(limit or ())
    request = ResumeRequest(root=root_folder(project), run=run, limits=limits, debug=debug)
    drift, calls, lost = tuple(allow_drift or ()), tuple(again or ()), tuple(give_up or ())
    request = replace(request, allow_drift=drift, again=calls, give_up=lost, sources=sources.value)
    answers = options.answered(approvals, approve, approve_all=approve_all, reject_all=reject_all)
    watch = options.watched(verbose, log_events, trace_dir, as_text=format == "text")
    ended = service.resume(request, options.terminal(_later_without_terminal(answers), watch))
    return outcome.report(ended, as_json=format == "json")


def _later_without_terminal(answers: ApprovalOptions) -> ApprovalOptions:
    """The options, with questions left waiting without a terminal.

    A no that nobody gave would be in the journal for good.
    """
    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if answers.approve_all or answers.reject_all or has_terminal:
        return answers
    return ApprovalOptions(approve=answers.approve, later=True)


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(resume)
