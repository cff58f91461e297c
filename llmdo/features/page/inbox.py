"""The open questions of all runs, and the answers given in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.journal.entries import ClaimedError
from llmdo.journal.questions import GoesOnError, StaleError
from llmdo.render import inbox as render
from llmdo.services.answering import AnswerOutcome, AnswerRequest, GivenAnswer, Verb, answer

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def like(subject: Subject, inquiry: Inquiry) -> object:
    """The questions about calls like that of one question, each in full."""
    inbox, notes = subject.desk.inbox(subject.with_runs), list[str]()
    try:
        group = inbox.like(inquiry.text("run"), inquiry.text("path"), notes.append)
        calls = [inbox.call(each.run.run, each.question.path) for each in group.calls]
    except StaleError as error:
        raise RequestError(409, error.message, hint=error.hint) from error
    return render.like(group, calls)


def answered(subject: Subject, inquiry: Inquiry) -> object:
    """Keeps an answer, and resumes the run.

    Raises:
        RequestError: 409 if another question waits than was shown, or none; 423 while the run goes on, so that it would
            not see the answer; 403 if a page may not give it.
    """
    outcome = _kept(subject, _given(inquiry.body))
    _go_on(subject, [outcome])
    return {"run": outcome.run, "goes_on": outcome.goes_on}


def all_answered(subject: Subject, inquiry: Inquiry) -> object:
    """Keeps several answers, and resumes their runs once all are kept; of one that is refused, its error."""
    body = inquiry.body
    if not isinstance(body, dict) or [*body] != ["answers"] or not isinstance(body["answers"], list):
        raise RequestError(400, "answers are a JSON object with a list of them")
    outcomes: list[AnswerOutcome] = []
    results: list[dict[str, object]] = []
    for sent in [_given(each) for each in body["answers"]]:
        place = {"run": sent.run, "path": sent.path}
        try:
            outcomes.append(_kept(subject, sent))
            results.append({**place, "goes_on": outcomes[-1].goes_on})
        except RequestError as error:
            results.append({**place, "error": error.message, "hint": error.hint, "status": error.status})
    _go_on(subject, outcomes)
    return {"answers": results}


def _kept(subject: Subject, sent: GivenAnswer) -> AnswerOutcome:
    """What became of an answer.

    Raises:
        RequestError: It is not kept.
    """
    root = subject.with_runs
    if sent.verb == "stop" and subject.desk.processes(root).stop(sent.run):
        return AnswerOutcome(run=sent.run, goes_on="no")
    try:
        return answer(AnswerRequest(root=root, answer=sent), subject.desk.live_run)
    except StaleError as error:
        raise RequestError(409, error.message, hint="look at what waits now") from error
    except (GoesOnError, ClaimedError) as error:
        raise RequestError(423, error.message, hint="the answer is given once it has stopped") from error
    except LlmdoError as error:
        raise RequestError(403, error.message, hint=error.hint) from error


def _go_on(subject: Subject, outcomes: Iterable[AnswerOutcome]) -> None:
    """Resumes the runs that are to go on here."""
    for run in dict.fromkeys(each.run for each in outcomes if each.goes_on == "here"):
        subject.desk.processes(subject.with_runs).start(run)


def _given(body: object) -> GivenAnswer:
    """The answer in a request.

    Raises:
        RequestError: It is none.
    """
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
    Endpoint(path="/api/like", answer=like, parameters=("run", "path")),
    Endpoint(path="/api/answers", answer=all_answered, method="POST"),
    Endpoint(path="/api/answer", answer=answered, method="POST"),
)
