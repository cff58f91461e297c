"""`llmdo approve`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.base.values import replace
from llmdo.cli import options, requests
from llmdo.cli.console import FINE, WAITING, put, say
from llmdo.journal.questions import Answers  # noqa: TC001  # the annotations are read
from llmdo.services import inbox as service

if TYPE_CHECKING:
    import typer


def approve(
    request: service.ApproveRequest,
    given: Answers,
    answers: Annotated[
        str | None, option("Answers as JSON, or - for standard input.", metavar="FILE")
    ] = None,
    format: Annotated[options.PlainForm, option("How the questions are printed.")] = "text",  # noqa: A002
) -> int:
    """Show the questions of a run that waits, and answer them: at a terminal one by one, else by --yes and --no."""
    if answers:
        given = replace(given, records=service.read_answers(answers))
    as_json = format == "json"
    outcome = service.approve(replace(request, answers=given), None if as_json else _asker())
    return _report(outcome, as_json=as_json)


def _asker() -> service.Asker | None:
    """Who asks the person at the terminal, if there is one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from llmdo.runtime.approvals.postponed import question_in
    from llmdo.runtime.approvals.terminal import AskOnTerminal

    terminal = AskOnTerminal(sys.stdin, sys.stderr, os.environ)
    return lambda question: asyncio.run(terminal.ask(question_in(question.path, question.record)))


def _report(outcome: service.ApproveOutcome, *, as_json: bool) -> int:
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
    requests.add(app, approve, also=(options.WITH_ENV_FILE, options.WITH_STORE))
