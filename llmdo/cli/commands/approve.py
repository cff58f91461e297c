"""`llmdo approve`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINE, WAITING, put, say

if TYPE_CHECKING:
    from llmdo.services.inbox import ApproveOutcome, Asker


QuestionsFormat = Annotated[
    options.PlainFormat, typer.Option("--format", help="How the questions are printed.")
]


def approve(
    run: options.RunName,
    project: options.Project = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    yes: Annotated[
        options.Texts,
        typer.Option("--yes", metavar="PATH", help="Allow the call at this path; may be repeated."),
    ] = None,
    no: Annotated[
        options.Texts,
        typer.Option("--no", metavar="PATH", help="Refuse the call at this path; may be repeated."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why not, for the model.")] = "",
    by: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--by", metavar="NAME", help="Who answers, if not the user of this machine."),
    ] = None,
    hours: Annotated[
        float, typer.Option("--hours", min=0.0, metavar="N", help="How long the answers are valid.")
    ] = 168.0,
    answers: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--answers", metavar="FILE", help="Answers as JSON, or - for standard input."),
    ] = None,
    format: QuestionsFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Show the questions of a run that waits, and answer them: at a terminal one by one, else by --yes and --no."""
    from llmdo.journal.questions import Answers
    from llmdo.services import inbox as service
    from llmdo.services.root import root_folder

    records = service.read_answers(answers) if answers else ()
    collected = Answers(
        yes=tuple(yes or ()), no=tuple(no or ()), records=records, reason=reason, by=by, hours=hours
    )
    request = service.ApproveRequest(root=root_folder(project), run=run, answers=collected)
    as_json = format == "json"
    outcome = service.approve(request, None if as_json else _asker())
    return _report(outcome, as_json=as_json)


def _asker() -> Asker | None:
    """Who asks the person at the terminal, if there is one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from llmdo.runtime.approvals.postponed import question_in
    from llmdo.runtime.approvals.terminal import AskOnTerminal

    terminal = AskOnTerminal(sys.stdin, sys.stderr, os.environ)
    return lambda question: asyncio.run(terminal.ask(question_in(question.path, question.record)))


def _report(outcome: ApproveOutcome, *, as_json: bool) -> int:
    """Prints the waiting questions; the exit code says whether there are any."""
    from llmdo.render import inbox as render

    for sentence in outcome.sentences:
        say(sentence)
    if as_json:
        put(render.as_json(outcome), end="", as_json=True)
    else:
        for question in outcome.questions.values():
            put(render.described(question))
    if outcome.goes_on:
        subject = "its questions" if outcome.questions else "what it may ask"
        say(f"run {outcome.run} goes on: {subject} can be answered once it has stopped")
    elif outcome.is_handed:
        say("nothing waits any more: a worker of the fleet goes on")
    elif not outcome.questions:
        say(f"nothing waits any more: `llmdo resume {outcome.run}`")
    return WAITING if outcome.questions else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(approve)
