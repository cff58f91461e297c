"""Questions that are answered later: their entries in the journal, and when a run stops to wait."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from llmdo.journal.entries import JournalEntry, lineage
from llmdo.journal.questions import VALID_SECONDS, counts, digest_of, foreign_answers, is_valid
from llmdo.journal.spans import shown
from llmdo.policy.authority import Capability
from llmdo.runtime.approvals.approver import BEFORE, Answer, Question
from llmdo.runtime.place import code_path
from llmdo.runtime.recording.replay_mode import WaitingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from llmdo.base.diagnostic import LlmdoError
    from llmdo.journal.entries import Kind
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.brake import Brake
    from llmdo.runtime.recording.encoding import Encoding


GRACE = 0.1  # seconds in which a run may still begin something, before it is taken to wait for answers alone
ROUNDS = 200  # of the event loop after that: a busy machine gives a run few of them in any time


QUESTIONS: tuple[Kind, ...] = ("asked", "answered", "decision")

_Subject = tuple[str, str]
"""The key of the answered call, and the digest of the question as shown."""


class _Given(NamedTuple):
    entry: JournalEntry
    data: Mapping[str, Any]


class _Shown(NamedTuple):
    question: Question
    digest: str
    left_out: frozenset[str]


class _Busy:
    """A block of work. No generator: each call of a tool enters several."""

    __slots__ = ("_path", "_questions")

    def __init__(self, questions: Postponed, path: str) -> None:
        self._questions, self._path = questions, path

    def __enter__(self) -> None:
        self._questions.begin(self._path)

    def __exit__(self, *_: object) -> None:
        self._questions.end(self._path)


class Postponed:
    """The questions of one run and their answers."""

    def __init__(
        self, journal: JournalStore, encoding: Encoding, brake: Brake, *, grace: float = GRACE
    ) -> None:
        self._journal, self._grace = journal, grace
        self._encoding = encoding
        self._brake = brake
        self._activity = Activity()
        self._waiting = 0
        """The number of places at which a question waits, or a replay has reached the end of its run."""
        self._end: LlmdoError | None = None
        """The reason for which the waiting run stops, if not for its questions."""
        self._asked: dict[str, JournalEntry] = {}
        """The last question, by call path."""
        self._closed: set[str] = set()
        """The call paths whose last question was answered, or whose call was decided on."""
        self._answers: dict[_Subject, dict[str, list[_Given]]] = {}
        """By question, then by the call path of the answer."""
        self._edits: dict[str, list[_Subject]] = {}
        """By call path, questions answered with other arguments that are not decided on yet."""
        self._numbers: Counter[str] = Counter()
        """Answers by call path."""
        self._lasting: dict[_Subject, list[_Given]] = {}
        """Answers given for good."""
        self._foreign = foreign_answers(journal)
        """Answers that came with the run from elsewhere, before any process worked at it here."""
        self._keys: dict[str, str] = {}
        """The key of the last question, by call path."""
        self._left_out: dict[str, frozenset[str]] = {}
        """The variables whose values were left out of the last question, by call path."""
        self._subjects: dict[str, _Shown] = {}
        """The last question that was looked up, by call path."""
        for entry in journal.entries(*QUESTIONS):
            self.take(entry)

    def take(self, entry: JournalEntry) -> None:
        """Takes in a journal entry of a kind in `QUESTIONS`."""
        if entry.kind == "asked":
            self._asked[entry.path] = entry
            self._keys[entry.path] = entry.digest
            self._left_out[entry.path] = frozenset(span.variable for span in entry.spans)
            self._closed.discard(entry.path)
        elif entry.kind in ("answered", "decision"):
            self._closed.add(entry.path)
        if entry.kind == "decision":
            self._take_back_edits(entry.path)
        if entry.kind == "answered":
            self._numbers[entry.path] += 1
            answer = _Given(entry, entry.data)
            if "left_out" in answer.data:  # of a question that has no entry
                self._keys[entry.path] = entry.digest
                self._left_out[entry.path] = frozenset(answer.data["left_out"])
            subject = (entry.digest, str(answer.data.get("question")))
            self._answers.setdefault(subject, {}).setdefault(entry.path, []).append(answer)
            if answer.data.get("arguments") is not None:
                self._edits.setdefault(entry.path, []).append(subject)
            if answer.data.get("lasts"):
                self._lasting.setdefault(subject, []).append(answer)

    def _take_back_edits(self, path: str) -> None:
        """Forgets the other arguments given at `path`, as the call with them is decided on next.

        Kept, they could lead back to a question that they answer, without end.
        """
        for subject in self._edits.pop(path, ()):
            answers = self._answers[subject][path]
            answers[:] = [answer for answer in answers if answer.data.get("arguments") is None]

    def busy(self, path: str) -> AbstractContextManager[None]:
        """A block of work at `path`: the run does not stop to wait before it is done, or itself waits."""
        return _Busy(self, path)

    def begin(self, path: str) -> None:
        """Marks the beginning of work at `path`."""
        self._activity.begin(path)

    def end(self, path: str) -> None:
        """Marks the end of work at `path`."""
        self._activity.end(path)
        self._look_later()

    def answer(self, question: Question) -> Answer | None:
        """The answer to this very question, or a lasting one for the same call, as long as it counts."""
        if question.key is None:
            return None
        subject = (question.key, self._digest(question))
        for answer in reversed(self._answers.get(subject, {}).get(question.path, ())):
            if answer.data["by_tool"] == question.by_tool and self._counts(answer):
                return _answer_in(self._journal.whole(answer.entry))
        for answer in reversed(self._lasting.get(subject, ())):
            if answer.data["allowed"] and self._counts(answer):
                data = self._journal.whole(answer.entry)
                return _answer_in({**data, "by": f"{data['by']}{BEFORE}"})
        return None

    def _counts(self, answer: _Given) -> bool:
        return is_valid(answer.data, time.time()) and counts(answer.entry, answer.data, self._foreign)

    def question_entry(self, question: Question) -> JournalEntry | None:
        """The entry that keeps a question; None if kept already, or without a key."""
        if question.key is None:
            return None
        digest, earlier = self._digest(question), self._asked.get(question.path)
        if earlier and question.path not in self._closed and _is_about(earlier, question, digest):
            return None
        step = earlier.step + 1 if earlier else 1
        return JournalEntry(
            path=question.path, kind="asked", step=step, digest=question.key, body=self._body(question)
        )

    def key(self, path: str, call: str) -> str:
        """The key of a question at `path`: the digest of the call that `call` describes.

        The same secrets are left out as from the last question there.
        """
        known = self._keys.get(path)
        if known and self._encoding.digest_of_text(call, like=known) == known:
            return known
        return self._encoding.digest_of_text(call)

    def answered(self, question: Question, answer: Answer) -> JournalEntry:
        """The entry that keeps an answer given during the run."""
        data = {
            "allowed": answer.allowed,
            "by": answer.by,
            "reason": answer.reason,
            "told": answer.message,
            "at_terminal": answer.at_terminal,
            "arguments": answer.arguments,
            "lasts": answer.lasts,
            "expires": time.time() + VALID_SECONDS if answer.lasts else None,
            "key": question.key,
            "question": self._digest(question),
            "by_tool": question.by_tool,
        }
        if answer.is_standing:
            data["left_out"] = sorted(self._shown(question).left_out)
        del self._subjects[question.path]
        step = 1 + self._numbers[question.path]
        return JournalEntry(
            path=question.path,
            kind="answered",
            step=step,
            outcome="allowed" if answer.allowed else "denied",
            digest=question.key or "",
            body=self._encoding.plain(data).body,
        )

    def _body(self, question: Question) -> bytes:
        return self._encoding.plain(record_of(question)).body

    def _digest(self, question: Question) -> str:
        """The digest of a question as shown, without the secrets left out when it was kept."""
        return self._shown(question).digest

    def _shown(self, question: Question) -> _Shown:
        last = self._subjects.get(question.path)
        if last is None or last.question is not question:
            only = self._left_out.get(question.path)
            rest, spans = self._journal.secrets.cut(self._body(question), only=only)
            left_out = frozenset([span.variable for span in spans])
            last = _Shown(question, digest_of(shown(rest, spans)), left_out)
            self._subjects[question.path] = last
        return last

    async def wait(self, path: str, end: LlmdoError | None = None) -> NoReturn:
        """Never returns: the run stops as soon as all its work waits like this.

        It stops for `end` if given, else for its questions.
        """
        self._waiting += 1
        self._activity.wait(path)
        if (code := code_path()) is not None:  # of a tool, which asks for something that is not below it
            self._activity.wait(code)
        self._end = self._end or end
        self._look_later()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    def _look_later(self) -> None:
        if self._waiting and not self._activity.is_busy:
            asyncio.get_running_loop().call_later(self._grace, self._look, self._activity.begun, ROUNDS)

    def _look(self, begun: int, rounds: int) -> None:
        """Stops the run if nothing has begun since `begun`, after the given rounds of the event loop."""
        if self._activity.is_busy or self._activity.begun != begun or self._brake.reason is not None:
            return
        if rounds:
            asyncio.get_running_loop().call_soon(self._look, begun, rounds - 1)
            return
        number = self._waiting
        sentence = "1 question waits" if number == 1 else f"{number} questions wait"
        self._brake.stop(self._end or WaitingError(f"{sentence} for an answer"))


def _answer_in(data: Mapping[str, Any]) -> Answer:
    names = ("allowed", "by", "reason", "at_terminal", "arguments")
    return Answer(message=data.get("told", ""), **{name: data[name] for name in names if name in data})


def _is_about(entry: JournalEntry, question: Question, digest: str) -> bool:
    if entry.digest != question.key:
        return False
    data = entry.data
    return data["by_tool"] == question.by_tool and digest_of(data) == digest


def record_of(question: Question) -> dict[str, object]:
    """A question as plain data."""
    return {
        "worker": question.worker,
        "toolset": question.toolset,
        "tool": question.tool,
        "arguments": dict(question.arguments),
        "capabilities": [str(capability) for capability in question.capabilities],
        "asking": [str(capability) for capability in question.asking],
        "by_tool": question.by_tool,
        "reasons": list(question.reasons),
        "advice": list(question.advice),
        "terminal_only": question.terminal_only,
        **({} if question.labels is None else {"labels": dict(question.labels)}),
    }


def question_in(path: str, data: Mapping[str, Any]) -> Question:
    """The question that `record_of` described, to show again; its arguments can no longer be changed."""
    return Question(
        path=path,
        worker=data["worker"],
        toolset=data["toolset"],
        tool=data["tool"],
        arguments=data["arguments"],
        capabilities=tuple(map(Capability.parse, data["capabilities"])),
        asking=tuple(map(Capability.parse, data["asking"])),
        by_tool=data["by_tool"],
        reasons=tuple(data["reasons"]),
        advice=tuple(data["advice"]),
        terminal_only=data["terminal_only"],
    )


class Activity:
    """The places of one run, by call path, that work or wait."""

    def __init__(self) -> None:
        self.begun = 0
        """Counts beginnings, which tell one pause from another."""
        self._works: dict[str, int] = {}
        self._blocked: set[str] = set()
        """The waiting places and all above them, whose work waits for them."""
        self._busy = 0

    @property
    def is_busy(self) -> bool:
        """Whether any work does not itself wait, unlike a tool that called a worker."""
        return self._busy > 0

    def begin(self, path: str) -> None:
        """Marks the beginning of work at `path`."""
        self.begun += 1
        self._count(path, 1)

    def end(self, path: str) -> None:
        """Marks the end of work at `path`."""
        self._count(path, -1)

    def wait(self, path: str) -> None:
        """Marks the place `path`, and all above it, as waiting."""
        for above in lineage(path):
            if above not in self._blocked:
                self._blocked.add(above)
                self._busy -= self._works.get(above, 0)

    def _count(self, path: str, number: int) -> None:
        if works := self._works.get(path, 0) + number:
            self._works[path] = works
        else:
            self._works.pop(path, None)
        if path not in self._blocked:
            self._busy += number
