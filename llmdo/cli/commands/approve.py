"""`llmdo inbox` and `approve`: what waits for a person, and the answers."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.base.values import replace
from llmdo.cli import options, requests
from llmdo.cli.console import FINE, WAITING, put, say
from llmdo.journal.questions import Answers  # the annotations are read
from llmdo.services import answering
from llmdo.services import inbox as service

if TYPE_CHECKING:
    import typer


def inbox(
    request: service.InboxRequest,
    format: Annotated[options.PlainForm, option("How the questions are printed.")] = "text",  # noqa: A002
) -> int:
    """Show all questions that wait, over runs, batches and the fleet; like calls together, the oldest first."""
    from llmdo.render import inbox as render

    waiting = service.Inbox(root=request.root, environ=request.environ)
    pending = waiting.pending(say)
    calls, now = waiting.calls(pending), time.time()
    if format == "json":
        put(render.listed_as_json(pending, calls, now), end="", as_json=True)
    elif pending:
        put(render.as_text(service.like_calls(pending), calls, now), end="")
    else:
        say("nothing waits")
    return WAITING if pending else FINE


def approve(
    request: answering.ApproveRequest,
    given: Answers,
    answers: Annotated[
        str | None, option("Answers as JSON, or - for standard input.", metavar="FILE")
    ] = None,
    format: Annotated[options.PlainForm, option("How the questions are printed.")] = "text",  # noqa: A002
) -> int:
    """Show what a run asks, or all do, and answer it: at a terminal like calls at once, of a run by --yes and --no."""
    if not request.run:
        return _approve_all(request, is_given=bool(answers) or given != Answers(), form=format)
    if answers:
        given = replace(given, records=answering.read_answers(answers))
    as_json = format == "json"
    ask = _askers().alone if not as_json and _is_at_terminal() else None
    outcome = answering.approve(replace(request, answers=given), ask)
    return _report(outcome, as_json=as_json)


def _approve_all(request: answering.ApproveRequest, *, is_given: bool, form: options.PlainForm) -> int:
    """Asks about all that waits; without a terminal, shows it."""
    if is_given:
        raise LlmdoError(
            "answers are for the questions of one run", hint="name the run: `llmdo inbox` lists what waits"
        )
    listed = service.InboxRequest(root=request.root, environ=request.environ)
    if form != "json" and _is_at_terminal():
        for outcome in answering.approve_all(request, _askers(), say):
            if not outcome.has_more:
                say(_over(outcome.run, is_handed=outcome.goes_on == "workers"))
    return inbox(listed, form)


def _is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _askers() -> answering.TerminalAskers:
    """Who asks the person at the terminal."""
    from llmdo.runtime.approvals.postponed import question_in
    from llmdo.runtime.approvals.screen import AskingScreen
    from llmdo.runtime.approvals.terminal import AskOnTerminal
    from llmdo.runtime.approvals.together import AskTogether

    terminal = AskOnTerminal(sys.stdin, sys.stderr, os.environ)
    screen = AskingScreen(sys.stdin, sys.stderr, os.environ)
    return answering.TerminalAskers(
        alone=lambda question: asyncio.run(terminal.ask(question_in(question.path, question.record))),
        together=AskTogether(screen).ask,
        count=screen.count,
    )


def _over(run: str, *, is_handed: bool) -> str:
    """The sentence on a run in which nothing waits any more."""
    if is_handed:
        return "nothing waits any more: a worker of the fleet goes on"
    return f"nothing waits any more: `llmdo resume {run}`"


def _report(outcome: answering.ApproveOutcome, *, as_json: bool) -> int:
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
    elif not outcome.questions:
        say(_over(outcome.run, is_handed=outcome.is_handed))
    return WAITING if outcome.questions else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    requests.add(app, inbox, also=(options.WITH_ENV_FILE, options.WITH_STORE))
    requests.add(app, approve, also=(options.WITH_ENV_FILE, options.WITH_STORE))
