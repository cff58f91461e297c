"""`llmdo inbox` and `approve`: what waits for a person, and the answers."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.base.request_fields import option
from llmdo.base.values import replace
from llmdo.cli import options, requests
from llmdo.cli.console import FINE, WAITING, put, say
from llmdo.journal.questions import Answers  # the annotations are read
from llmdo.services import inbox as service

if TYPE_CHECKING:
    import typer


def inbox(
    request: service.InboxRequest,
    format: Annotated[options.PlainForm, option("How the questions are printed.")] = "text",  # noqa: A002
) -> int:
    """Show all questions that wait, over runs, batches and the fleet; like calls together, the oldest first."""
    from llmdo.render import inbox as render

    pending = service.Inbox(root=request.root, environ=request.environ).pending(say)
    if format == "json":
        put(render.listed_as_json(pending), end="", as_json=True)
    elif pending:
        put(render.as_text(service.like_calls(pending), time.time()), end="")
    else:
        say("nothing waits")
    return WAITING if pending else FINE


def approve(
    request: service.ApproveRequest,
    given: Answers,
    answers: Annotated[
        str | None, option("Answers as JSON, or - for standard input.", metavar="FILE")
    ] = None,
    format: Annotated[options.PlainForm, option("How the questions are printed.")] = "text",  # noqa: A002
) -> int:
    """Show what a run asks, or all runs, and answer it: at a terminal one by one, of one run also by --yes and --no."""
    if not request.run:
        return _approve_all(request, is_given=bool(answers) or given != Answers(), form=format)
    if answers:
        given = replace(given, records=service.read_answers(answers))
    as_json = format == "json"
    outcome = service.approve(replace(request, answers=given), None if as_json else _asker())
    return _report(outcome, as_json=as_json)


def _approve_all(request: service.ApproveRequest, *, is_given: bool, form: options.PlainForm) -> int:
    """Asks about each run in turn, that of the oldest question first; without a terminal, shows what waits."""
    if is_given:
        raise LlmdoError(
            "answers are for the questions of one run", hint="name the run: `llmdo inbox` lists what waits"
        )
    listed = service.InboxRequest(root=request.root, environ=request.environ)
    ask = None if form == "json" else _asker()
    if ask is None:
        return inbox(listed, form)
    pending = service.Inbox(root=request.root, environ=request.environ).pending(say)
    for run in dict.fromkeys(each.run for each in pending):
        say(f"run {run.run}: {shown(run.heading or run.entry)}")
        _report(service.approve(replace(request, run=run.run), ask), as_json=False)
    return inbox(listed, form)


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
    """Makes the commands known."""
    requests.add(app, inbox, also=(options.WITH_ENV_FILE, options.WITH_STORE))
    requests.add(app, approve, also=(options.WITH_ENV_FILE, options.WITH_STORE))
