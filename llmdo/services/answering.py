"""Answers to waiting questions: of a page, of a command, and of a person at a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.base.request_fields import argument
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.entries import ClaimedError
from llmdo.journal.opening import STORE, address_of, batches_of, claimed, runs_of
from llmdo.journal.questions import (
    Answers,
    GoesOnError,
    StaleError,
    add_answer,
    give,
    require_hours,
    require_open,
    user,
    waiting,
    waiting_so_far,
)
from llmdo.services.inbox import NOT_WHOLE, Inbox, like_calls
from llmdo.services.queue import queue
from llmdo.services.root import ROOT, RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmdo.journal.alike import LikeQuestions
    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime import Answer
    from llmdo.runtime.approvals.together import TickedAnswer
    from llmdo.services.inbox import LikeCalls, Pending
    from llmdo.services.root import Tell
    from llmdo.services.run_processes import LiveRun


if TYPE_CHECKING:
    Asker = Callable[[Waiting], Answer]
    """The answer of a person who is asked."""
    TogetherAsker = Callable[[LikeQuestions], TickedAnswer]
    """The same about several like calls."""
    Keep = Callable[[Pending, TickedAnswer | Answer], None]
    """Keeps an answer to a question, or says why not."""


GoesOn = Literal["no", "here", "itself", "workers"]
"""Who goes on with a run after an answer: nobody, a process to be started, its own, or workers of a fleet."""

Verb = Literal["allow", "always", "edit", "refuse", "stop"]
"""`always`: this very call, until the run ends; `edit`: another call instead, which needs its own decision."""


class NotWholeError(LlmdoError):
    """A call cannot be allowed because part of it cannot be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer to one question."""

    run: str
    path: str
    digest: str
    """That of the question that was shown."""
    verb: Verb
    instead: Mapping[str, object] | None = None
    """The arguments of the other call."""
    reason: str = ""
    """Why not, for the model."""
    by: str | None = None
    """None: the user of this machine."""

    @property
    def record(self) -> dict[str, object]:
        """The answer as `llmdo approve --answers` reads it; not of one that ends the run."""
        common = {"path": self.path, "digest": self.digest, "reason": self.reason, "by": self.by}
        if self.verb == "edit":
            return {**common, "instead": self.instead}
        lasts = {"lasts": True} if self.verb == "always" else {}
        return {**common, "allowed": self.verb in ("allow", "always"), **lasts}

    @property
    def name(self) -> str:
        """Who answers."""
        return self.by or user()

    @property
    def as_sent(self) -> dict[str, object]:
        """The answer in the form for a run that goes on."""
        names = ("digest", "verb", "reason", "instead")
        return {**{name: getattr(self, name) for name in names}, "by": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOutcome:
    """The result of an answer."""

    run: str
    goes_on: GoesOn
    has_more: bool = False
    """Whether something else of the run waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """An answer, and the workspace of its run."""

    root: Path
    answer: GivenAnswer
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    at_terminal: bool = False
    """Whether a person gives it at a terminal, where all of the call was shown that may be."""


def answer(request: AnswerRequest, live_run: LiveRun | None = None) -> AnswerOutcome:
    """Keeps the answer for whoever goes on with the run, or ends the run.

    A `live_run` takes an answer as it goes on. Workers of a fleet go on once nothing waits any more.

    Raises:
        StaleError: The question has changed since it was shown, or waits no more.
        GoesOnError: A process works on the run, which would not see the answer.
        NotWholeError: It allows a call that cannot be shown whole.
        LlmdoError: Only a person at a terminal may give it, or it contradicts itself.
    """
    sent = request.answer
    if (sent.verb == "edit") != (sent.instead is not None):
        raise LlmdoError("the arguments of another call belong to an edit, and an edit has some")
    runs = runs_of(request.root, request.environ)
    run = runs.find(sent.run)
    if live_run is not None and live_run.run == run and not live_run.is_over:
        with runs.read(run) as journal:
            _require_shown(journal, request)
        live_run.answer(sent.path, sent.as_sent)
        return AnswerOutcome(run=run, goes_on="itself")
    waiting_so_far(runs, run, Answers(records=[sent.record]))
    with claimed(request.root, run, request.environ) as journal:
        _require_shown(journal, request)
        if sent.verb == "stop":
            _end(journal, sent, request)
            return AnswerOutcome(run=run, goes_on="no")
        give(journal, Answers(records=[sent.record]), at_terminal=request.at_terminal)
        has_more = bool(waiting(journal))
    is_theirs = _is_of_workers(request.root, run, request.environ, has_more=has_more)
    goes_on: GoesOn = "here" if not is_theirs else "no" if has_more else "workers"
    return AnswerOutcome(run=run, goes_on=goes_on, has_more=has_more)


def _require_shown(journal: JournalStore, request: AnswerRequest) -> None:
    """Check that the waiting question is the one that was shown, and in full if the answer allows it.

    Raises:
        StaleError: It is another one, or none waits.
        NotWholeError: Not all of it can be shown.
    """
    sent = request.answer
    require_open(journal, [sent.path])
    question = waiting(journal).get(sent.path)
    if question is None or question.key != sent.digest:
        raise StaleError(f"{sent.path}: the answer is for another question than the one that waits")
    if sent.verb in ("allow", "always") and not (question.is_whole or request.at_terminal):
        raise NotWholeError(f"{sent.path}: {NOT_WHOLE}", hint=f"`llmdo approve {journal.run}` at a terminal")


def _end(journal: JournalStore, sent: GivenAnswer, request: AnswerRequest) -> None:
    """Records that a person ended the run: its questions wait for whoever goes on with it."""
    from llmdo.runtime.recording.recorder import Recorder  # which takes a second
    from llmdo.services.basis import BegunRun

    begun = BegunRun.of(journal, request.environ)
    recorder, binding = Recorder(journal, begun.redaction), begun.binding
    ending = {"error": f"{sent.name} ended the run at `{sent.path}`", "hint": None}

    async def work() -> None:
        await recorder.begin(binding, "nobody", None, {}, request.root)
        await recorder.end(binding.entry, "interrupted", ending)

    asyncio.run(work())


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveRequest:
    """Whose questions are answered, and how."""

    root: Path = field(metadata=ROOT)
    run: str = field(
        default="", metadata=argument("[RUN]", f"{RUN['option'].help} Where left out, all that wait.")
    )
    """Empty for all, which `approve_all` answers."""
    answers: Answers = field(default_factory=Answers)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveOutcome:
    """The given answers, and the questions that still wait."""

    run: str
    questions: Mapping[str, Waiting] = field(metadata=in_json(by=dict.values))
    """Those that wait."""
    sentences: tuple[str, ...] = field(default=(), metadata=in_json(part=None))
    """A sentence on each answer of the request."""
    goes_on: bool = field(default=False, metadata=in_json(part=None))
    """Whether the run goes on, which rules out answers for now."""
    is_handed: bool = field(default=False, metadata=in_json(part=None))
    """Whether a worker of a fleet goes on with it now."""


def read_answers(name: str) -> list[Mapping[str, object]]:
    """The answers in a JSON file, or on standard input if its name is `-`.

    Raises:
        LlmdoError: They cannot be read, or are none.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError) as error:
        raise LlmdoError(f"the answers in `{name}` cannot be read: {error}") from error
    answers = document.get("answers") if isinstance(document, dict) else document
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        raise LlmdoError(
            f"`{name}` holds no answers",
            hint='a list of {"path": ..., "digest": ..., "allowed": true, "by": ...}',
        )
    return answers


def approve(request: ApproveRequest, ask: Asker | None = None) -> ApproveOutcome:
    """The questions of the run, once they are answered; `ask` answers them only if the request gives no answer.

    Given answers cannot allow calls that only a person at a terminal may allow.

    Raises:
        LlmdoError: An answer does not fit, or the run goes on or is complete.
    """
    answers = request.answers
    require_hours(answers.hours)
    runs = runs_of(request.root, request.environ)
    run = runs.find(request.run)
    if (so_far := waiting_so_far(runs, run, answers)) is not None:
        return ApproveOutcome(run=run, questions=so_far, goes_on=True)
    with claimed(request.root, run, request.environ) as journal:
        sentences = tuple(
            f"{question.path}: {'allowed' if answer['allowed'] else 'refused'}, by {answer['by']}"
            for question, answer in give(journal, answers)
        )
        if ask and not sentences:
            _ask(journal, answers, ask)
        questions = waiting(journal)
    is_theirs = _is_of_workers(request.root, run, request.environ, has_more=bool(questions))
    is_handed = is_theirs and not questions
    return ApproveOutcome(run=run, questions=questions, sentences=sentences, is_handed=is_handed)


def _ask(journal: JournalStore, answers: Answers, ask: Asker) -> None:
    """Asks one question after the other, as a run would."""
    for question in waiting(journal).values():
        answer = ask(question)
        if answer.stops:
            return
        record = answers.as_kept({"allowed": answer.allowed, "reason": answer.message})
        add_answer(journal, question, record, at_terminal=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalAskers:
    """How a person at a terminal is asked."""

    alone: Asker
    """About a call that is like no other, or that may not be allowed together with others."""
    together: TogetherAsker
    count: Callable[[int], None]
    """Is told how many of the questions are left."""


def approve_all(request: ApproveRequest, askers: TerminalAskers, tell: Tell) -> tuple[AnswerOutcome, ...]:
    """Asks about all that waits, like calls at once; what became of each answered run, after its last answer.

    Each answer is for the digest of its own call: one that changed since it was shown is refused, and the others kept.
    """
    answered: dict[str, AnswerOutcome] = {}

    def keep(pending: Pending, given: TickedAnswer | Answer) -> None:
        sentence, outcome = _kept(request, pending, given)
        tell(sentence)
        if outcome is not None:
            answered[outcome.run] = outcome

    pending = Inbox(root=request.root, environ=request.environ).pending(tell)
    for run in dict.fromkeys(each.run.run for each in pending if each.run.status == "running"):
        tell(f"run {run} goes on: its questions can be answered once it has stopped")
    groups = like_calls(each for each in pending if each.run.status != "running")
    for number, group in enumerate(groups):
        askers.count(sum(len(each.calls) for each in groups[number:]))
        is_alone = len(group.calls) == 1 or group.obstacle is not None
        if not (
            _ask_alone(group, askers.alone, tell, keep) if is_alone else _ask_together(group, askers, keep)
        ):
            break
    askers.count(0)
    return tuple(answered.values())


def _ask_alone(group: LikeCalls, ask: Asker, tell: Tell, keep: Keep) -> bool:
    """Asks about each of the calls; whether the person wants to be asked about others."""
    for pending in group.calls:
        tell(f"run {pending.run.run}: {shown(pending.run.heading or pending.run.entry)}")
        answer = ask(pending.question)
        if answer.stops:
            return False
        keep(pending, answer)
    return True


def _ask_together(group: LikeCalls, askers: TerminalAskers, keep: Keep) -> bool:
    """Asks until all of the calls are answered or left; whether the person wants to be asked about others."""
    calls, questions = group.calls, group.questions
    while calls:
        answer = askers.together(questions)
        for place in answer.places:
            keep(calls[place], answer)
        if not answer.places:
            return not answer.stops
        calls = tuple(each for place, each in enumerate(calls) if place not in answer.places)
        questions = questions.without(answer.places)
    return True


def _kept(
    request: ApproveRequest, pending: Pending, given: TickedAnswer | Answer
) -> tuple[str, AnswerOutcome | None]:
    """A sentence on an answer, and what became of its run; None if another question waits by now, or none."""
    run, question = pending.run.run, pending.question
    sent = GivenAnswer(
        run=run,
        path=question.path,
        digest=question.key,
        verb="allow" if given.allowed else "refuse",
        reason=given.message,
    )
    try:
        outcome = answer(
            AnswerRequest(root=request.root, answer=sent, environ=request.environ, at_terminal=True)
        )
    except (StaleError, GoesOnError, ClaimedError) as error:
        return f"run {run}: not kept: {error.message}", None
    return f"run {run}, {question.path}: {'allowed' if given.allowed else 'refused'}", outcome


def _is_of_workers(root: Path, run: str, environ: Mapping[str, str], *, has_more: bool) -> bool:
    """Whether the run is of a batch of fleet workers; they get it once no question is left in it."""
    address = address_of(root, environ)
    if not address:
        return False
    batches = batches_of(root, environ)
    if (batch := batches.of_run(run)) is None:
        return False
    with batches.open(batch) as store:
        is_theirs = bool(store.batch.settings.get("fleet"))
        if is_theirs and not has_more:
            queue().put_in_answered(store, root, run, {**environ, STORE: address})
    return is_theirs
