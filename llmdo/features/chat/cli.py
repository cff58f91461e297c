"""`llmdo chat`."""

from __future__ import annotations

import os
from typing import Annotated, Optional

import typer

from llmdo.cli import options  # typer reads the annotations

PLACE = 115

Continue = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--continue", metavar="RUN", help="Go on with an earlier chat or run, or with the last."),
]
Models = Annotated[
    options.Texts,
    typer.Option("--model", metavar="[WORKER=]MODEL", help="The model of workers that name none, or of one."),
]


def chat(
    entry: Annotated[Optional[str], typer.Argument(metavar="[ENTRY]", help="An entry.")] = None,  # noqa: UP045
    project: options.Project = None,
    continues: Continue = None,
    model: Models = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    locked: options.Locked = False,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    verbose: options.Verbose = 0,
    log_events: options.LogEvents = None,
    debug: options.Debug = False,
) -> int:
    """Hold a conversation with an entry: each turn is a run, under all its rules and limits."""
    from llmdo.cli import quick
    from llmdo.features.chat.conversation import hold
    from llmdo.features.chat.service import ChatRequest
    from llmdo.services.run import EntryRequest

    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    start = EntryRequest((entry,) if entry else (), project=project, of_files=False, locked=is_locked)
    request = ChatRequest(start=start, models=tuple(model or ()), continues=continues, debug=debug)
    when = options.Approvals.prompt
    answers = options.answered(when, approve, approve_all=approve_all, reject_all=reject_all)
    watch = options.watched(verbose, log_events, as_text=True)
    return hold(request, options.terminal(answers, watch, is_brief=not verbose))


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(chat)
