"""Waiting questions: listed over all runs, shown whole with their effect on files, and answered."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import argument
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal import JournalError
from llmdo.journal.binding import binding_of
from llmdo.journal.entries import lineage
from llmdo.journal.opening import STORE, address_of, batches_of, claimed, runs_of
from llmdo.journal.questions import (
    Answers,
    StaleError,
    add_answer,
    give,
    require_hours,
    require_open,
    user,
    waiting,
    waiting_so_far,
)
from llmdo.journal.summary import COMPLETE, summary
from llmdo.policy.authority import Capability
from llmdo.policy.protection import is_secret
from llmdo.services.queue import queue
from llmdo.services.root import ROOT, RUN
from llmdo.services.runs import of_like_calls
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.media import text_of
from llmdo.toolsets.paths import PathRefused
from llmdo.workspace.root import Folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.summary import Summary
    from llmdo.runtime import Answer
    from llmdo.services.root import Tell
    from llmdo.services.run_processes import LiveRun

FILESYSTEM = "filesystem"
MAX_BYTES = 1_000_000  # of a file or its new text: a difference between longer ones takes its time
MAX_LINES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange:
    """The proposed change of one file, against its present state."""

    path: str
    """As seen from the folder that tools work on."""
    lines: tuple[str, ...] = ()
    """A unified difference, each line without its end."""
    note: str = ""
    """Why there are none, or another remark."""


def proposed_change(record: Mapping[str, Any], folders: Folders | None) -> ProposedChange | None:
    """The effect on a file of a question's call, by its record; None if it has none."""
    written = [
        raised.scope
        for raised in map(Capability.parse, record["capabilities"])
        if raised.name == "fs.write" and raised.scope and not raised.scope.endswith("**")
    ]
    arguments = record["arguments"]
    if (
        record["toolset"] != FILESYSTEM
        or len(written) != 1
        or folders is None
        or not isinstance(arguments, dict)
    ):
        return None
    path = written[0]
    if is_secret(path):
        return ProposedChange(path=path, note="what is in it now mostly holds secrets, and is not shown")
    try:
        with Root.of(folders) as root:
            before = _now(root, path)
    except (LlmdoError, OSError, PathRefused) as error:
        return ProposedChange(path=path, note=f"what is in it now cannot be read: {error}")
    if before is None:
        return ProposedChange(path=path, note="what is in it now is not text")
    match record["tool"], arguments:
        case "write_file", {"content": str() as after}:
            return _difference(path, before, after)
        case "edit_file", {"old": str() as old, "new": str() as new}:
            if (number := before.count(old) if old else 0) != 1:
                return ProposedChange(
                    path=path,
                    note=f"the text to replace is in the file {number:,} times now, so it would not change",
                )
            return _difference(path, before, before.replace(old, new))
    return None


def _now(root: Root, path: str) -> str | None:
    """The text of a file, empty if there is none; None if it holds no text."""
    return "" if root.kind(path) == "missing" else text_of(root.read(path, MAX_BYTES))


def _difference(path: str, before: str, after: str) -> ProposedChange:
    old, new = before.split("\n"), after.split("\n")
    if before == after:
        return ProposedChange(path=path, note="nothing in it would change")
    if len(after) > MAX_BYTES or len(old) + len(new) > MAX_LINES:
        return ProposedChange(path=path, note="too long for a difference: the new text is above")
    note = "" if before else "the file is new, or empty"
    lines = unified_diff(old, new, "now", "then", n=3, lineterm="")
    return ProposedChange(path=path, lines=tuple(lines), note=note)


if TYPE_CHECKING:
    Asker = Callable[[Waiting], Answer]
    """The answer of a person who is asked."""


OPEN = frozenset({"waiting", "running", "stopped"})
"""The runs whose questions wait. One that failed or that a person ended goes on only on request."""

AT_TERMINAL = "only a person at a terminal may allow this"
NOT_WHOLE = "a part of this call looks like a secret and is left out, so it cannot be shown whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A waiting question, and its run."""

    run: Summary
    question: Waiting
    callers: tuple[tuple[str, str], ...]
    """The workers through which it is asked: their call paths and names, the entry's first."""

    @property
    def obstacle(self) -> str | None:
        """The reason why it can only be allowed at a terminal; None if it can be allowed elsewhere."""
        if self.question.terminal_only:
            return AT_TERMINAL
        return None if self.question.is_whole else NOT_WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRequest:
    """Whose questions are listed."""

    root: Path = field(metadata=ROOT)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def like_calls(pending: Iterable[Pending]) -> tuple[tuple[Pending, ...], ...]:
    """Questions about one tool for the same reasons together, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[Pending]] = {}
    for each in pending:
        record = each.question.record
        reasons = tuple(map(of_like_calls, record["reasons"]))
        groups.setdefault((record["toolset"], record["tool"], reasons), []).append(each)
    return tuple(map(tuple, groups.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A question that waits, with the effect of its call on a file."""

    pending: Pending
    change: ProposedChange | None
    """None if no effect on a file is known."""


@dataclass(slots=True, kw_only=True)
class Inbox:
    """All waiting questions of one workspace. Complete runs are read once: nothing in them waits again."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _complete: set[str] = field(default_factory=set)

    def pending(self, tell: Tell) -> list[Pending]:
        """The waiting questions, the run with the oldest one first; tells of unreadable runs.

        Those of one run are in the order of their call paths: that in which they came is chance.
        """
        runs = runs_of(self.root, self.environ)
        questions: list[list[Pending]] = []
        for name in runs.names():
            if name in self._complete:
                continue
            try:
                questions.append([*self._of_run(runs, name)])
            except JournalError as error:
                tell(f"warning: {error.message}")
        questions.sort(key=lambda those: min((each.question.entry.at for each in those), default=0))
        return [each for those in questions for each in those]

    def _of_run(self, runs: RunIndex, name: str) -> Iterator[Pending]:
        with runs.read(name) as journal:
            summed = summary(journal, is_running=runs.is_claimed(name))
            if summed is None:
                return
            if summed.status in COMPLETE:
                self._complete.add(name)
            elif summed.status in OPEN and summed.questions:
                yield from _pending(journal, summed)

    def call(self, run: str, path: str) -> PendingCall:
        """The question of that run that waits at that call path, in full.

        Raises:
            StaleError: None does, or not any more.
            LlmdoError: There is no such run, or it cannot be read.
        """
        runs = runs_of(self.root, self.environ)
        name = runs.find(run)
        with runs.read(name) as journal:
            summed = summary(journal, is_running=runs.is_claimed(name))
            questions = {each.question.path: each for each in _pending(journal, summed)} if summed else {}
            if path not in questions:
                raise StaleError(f"no question waits at `{path}`", hint=did_you_mean(path, questions))
            change = proposed_change(questions[path].question.record, _folders(self.root, journal))
            return PendingCall(pending=questions[path], change=change)


def _pending(journal: JournalStore, run: Summary) -> Iterator[Pending]:
    questions = waiting(journal)
    workers = (
        {entry.path: str(entry.data["worker"]) for entry in journal.entries("call")} if questions else {}
    )
    for question in questions.values():
        above = [place for place in reversed([*lineage(question.path)]) if place in workers]
        yield Pending(run=run, question=question, callers=tuple((place, workers[place]) for place in above))


def _folders(root: Path, journal: JournalStore) -> Folders | None:
    """The folders that the tools of the run work on; None if its journal does not say."""
    try:
        return Folders(root, binding_of(journal).graph.settings.root)
    except LlmdoError:
        return None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """An answer, and the workspace of its run."""

    root: Path
    answer: GivenAnswer
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


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
            _require_shown(journal, sent)
        live_run.answer(sent.path, sent.as_sent)
        return AnswerOutcome(run=run, goes_on="itself")
    waiting_so_far(runs, run, Answers(records=[sent.record]))
    with claimed(request.root, run, request.environ) as journal:
        _require_shown(journal, sent)
        if sent.verb == "stop":
            _end(journal, sent, request)
            return AnswerOutcome(run=run, goes_on="no")
        give(journal, Answers(records=[sent.record]))
        has_more = bool(waiting(journal))
    is_theirs = _is_of_workers(request.root, run, request.environ, has_more=has_more)
    return AnswerOutcome(run=run, goes_on="here" if not is_theirs else "no" if has_more else "workers")


def _require_shown(journal: JournalStore, sent: GivenAnswer) -> None:
    """Check that the waiting question is the one that was shown, and in full if the answer allows it.

    Raises:
        StaleError: It is another one, or none waits.
        NotWholeError: Not all of it can be shown.
    """
    require_open(journal, [sent.path])
    question = waiting(journal).get(sent.path)
    if question is None or question.key != sent.digest:
        raise StaleError(f"{sent.path}: the answer is for another question than the one that waits")
    if sent.verb in ("allow", "always") and not question.is_whole:
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
