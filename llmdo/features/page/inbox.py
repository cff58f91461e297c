"""The open questions of all runs, and the answers given in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.journal.entries import ClaimedError
from llmdo.journal.questions import GoesOnError, StaleError
from llmdo.render import inbox as render
from llmdo.services.answering import AnswerRequest, GivenAnswer, Verb, answer

if TYPE_CHECKING:
    from llmdo.features.page.subject import Subject

_FIELDS = {"run": str, "path": str, "digest": str, "verb": str, "reason": str, "instead": dict}


def listed(subject: Subject, inquiry: Inquiry) -> object:
    """All open questions."""
    del inquiry
    notes: list[str] = []
    root = subject.with_runs
    return {**render.listed(subject.desk.inbox(root).pending(notes.append)), "notes": notes}


def question(subject: Subject, inquiry: Inquiry) -> object:
    """One question in full."""
    try:
        return render.question(
            subject.desk.inbox(subject.with_runs).call(inquiry.text("run"), inquiry.text("path"))
        )
    except StaleError as error:
        raise RequestError(409, error.message, hint=error.hint) from error


def answered(subject: Subject, inquiry: Inquiry) -> object:
    """Keeps an answer, and resumes the run.

    Raises:
        RequestError: 409 if another question waits than was shown, or none; 423 while the run goes on, so that it would
            not see the answer; 403 if a page may not give it.
    """
    root = subject.with_runs
    sent = _given(inquiry)
    processes = subject.desk.processes(root)
    if sent.verb == "stop" and processes.stop(sent.run):
        return {"run": sent.run, "goes_on": "no"}
    try:
        outcome = answer(AnswerRequest(root=root, answer=sent), subject.desk.live_run)
    except StaleError as error:
        raise RequestError(409, error.message, hint="look at what waits now") from error
    except (GoesOnError, ClaimedError) as error:
        raise RequestError(423, error.message, hint="the answer is given once it has stopped") from error
    except LlmdoError as error:
        raise RequestError(403, error.message, hint=error.hint) from error
    if outcome.goes_on == "here":
        processes.start(outcome.run)
    return {"run": outcome.run, "goes_on": outcome.goes_on}


def _given(inquiry: Inquiry) -> GivenAnswer:
    """The answer in a request.

    Raises:
        RequestError: It is none.
    """
    body = inquiry.body
    if not isinstance(body, dict):
        raise RequestError(400, "an answer is a JSON object")
    for name, value in body.items():
        if name not in _FIELDS or not isinstance(value, _FIELDS[name]):
            raise RequestError(400, f"`{name}` is not a field of an answer, or has the wrong type")
    if missing := [name for name in ("run", "path", "digest", "verb") if name not in body]:
        raise RequestError(400, f"an answer lacks `{missing[0]}`")
    if body["verb"] not in get_args(Verb):
        raise RequestError(400, f"`{body['verb']}` is not an answer")
    return GivenAnswer(**body)


ENDPOINTS = (
    Endpoint(path="/api/inbox", answer=listed),
    Endpoint(path="/api/question", answer=question, parameters=("run", "path")),
    Endpoint(path="/api/answer", answer=answered, method="POST"),
)
