"""Waiting questions of a run, and the answers given afterwards, with their rules."""

from __future__ import annotations

import getpass
import json
import re
import time
from collections import Counter
from collections.abc import Sequence  # noqa: TC003  # the annotations of a request are read
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.entries import CANCELLED, JournalEntry, pack
from llmdo.journal.spans import marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.journal.stored import JournalStore, RunIndex

VALID_SECONDS = 7 * 24 * 60 * 60  # how long an answer counts where nobody says: a week
MOST_HOURS = 1_000_000  # for which somebody may let one count: a century


_SHOWN = ("worker", "toolset", "tool", "arguments", "capabilities")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A question that nobody has answered yet."""

    path: str
    key: str = field(metadata=in_json("digest"))
    """The digest of its call, with the files that a command names, for this run alone."""
    record: Mapping[str, Any] = field(metadata=in_json(flat=True))
    """The question as it was asked."""
    entry: JournalEntry = field(metadata=in_json(part=None))

    @property
    def digest(self) -> str:
        """The digest that an answer repeats: `key`, under its name in JSON."""
        return self.key

    @property
    def terminal_only(self) -> bool:
        """Whether only a person at a terminal may say yes."""
        return bool(self.record["terminal_only"])

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose names replace their values in its record."""
        return tuple(sorted({span.variable for span in self.entry.spans}))

    @property
    def is_whole(self) -> bool:
        """Whether its record has all of the call but the values of variables."""
        return bool(json.loads(marked(self.entry.body, self.entry.spans)) == self.record)


def waiting(journal: JournalStore, ended: JournalEntry | None = None) -> dict[str, Waiting]:
    """The waiting questions of a run by call path, sorted, as their order of arrival is chance.

    With `ended`, the entry about the end of the run, those that waited then.
    """
    if next(journal.entries("asked"), None) is None:
        return {}  # the decisions of a long run are many
    if ended is None and (last := journal.last("end")) is not None and last.outcome == CANCELLED:
        return {}
    now, foreign = ended.at if ended else time.time(), foreign_answers(journal)
    questions: dict[str, Waiting] = {}
    for entry in journal.entries("asked", "answered", "decision", *(("end",) if ended else ())):
        if entry.kind == "end":
            if ended and entry.step == ended.step:
                break
        elif entry.kind == "asked":
            questions[entry.path] = Waiting(path=entry.path, key=entry.digest, record=entry.data, entry=entry)
        elif entry.kind == "decision" or _still_counts(entry, now, foreign):
            questions.pop(entry.path, None)
    return dict(sorted(questions.items(), key=lambda item: _position(item[0])))


def _position(path: str) -> list[tuple[str, int]]:
    """A key that sorts call paths naturally: the second call of a worker before the tenth."""
    return [(text, int(number or 0)) for text, number in re.findall(r"([^0-9]+)([0-9]*)", f"/{path}")]


def _still_counts(answer: JournalEntry, now: float, foreign: frozenset[tuple[str, int]]) -> bool:
    record = answer.data
    return is_valid(record, now) and counts(answer, record, foreign)


def is_valid(record: Mapping[str, Any], now: float) -> bool:
    """Whether an answer, by its entry's body, counts at the time `now`."""
    expires = record["expires"]
    return expires is None or bool(expires > now)


def foreign_answers(journal: JournalStore) -> frozenset[tuple[str, int]]:
    """The answers of an imported run, by call path and number: whoever made its file wrote them."""
    return frozenset(
        (str(path), step) for entry in journal.entries("imported") for path, step in entry.data["answered"]
    )


def counts(answer: JournalEntry, record: Mapping[str, object], foreign: frozenset[tuple[str, int]]) -> bool:
    """Whether an answer, whose body is `record`, was given here, or is a no."""
    return (answer.path, answer.step) not in foreign or not record["allowed"]


def imported(journal: JournalStore) -> JournalEntry:
    """The entry which says that the run of `journal` comes from a file."""
    first = next(journal.entries("session"))
    content = {"answered": [[entry.path, entry.step] for entry in journal.entries("answered")]}
    step = 1 + sum(1 for _ in journal.entries("imported"))
    return JournalEntry(path=first.path, kind="imported", step=step, body=pack(content))


def digest_of(question: Mapping[str, object]) -> str:
    """The digest of the call as a person sees it: an answer is for that, whatever its journal says of its key."""
    return digest.of_text(digest.canonical({name: question[name] for name in _SHOWN}))


def add_answer(
    journal: JournalStore, question: Waiting, answer: Mapping[str, object], *, at_terminal: bool
) -> None:
    """Keeps an answer for the next process of the run; `answer` is as `Answers.as_kept` makes it.

    Raises:
        LlmdoError: Only a person at a terminal may give it.
    """
    if question.terminal_only and answer["allowed"] and not at_terminal:
        raise LlmdoError(
            f"{question.path}: only a person at a terminal may say yes to this",
            hint=f"`llmdo approve {journal.run}` at a terminal",
        )
    body = pack(
        {
            **answer,
            "key": question.key,
            "question": digest_of(question.record),
            "by_tool": question.record["by_tool"],
            "at_terminal": at_terminal,
        }
    )
    step = 1 + journal.count(question.path, "answered")
    outcome = "allowed" if answer["allowed"] else "denied"
    journal.add(
        JournalEntry(
            path=question.path, kind="answered", step=step, outcome=outcome, digest=question.key, body=body
        )
    )
    journal.commit()


class StaleError(LlmdoError):
    """An answer is for another question than the waiting one, or none waits any more."""


class GoesOnError(LlmdoError):
    """A process works on the run, and would not see an answer."""


WEEK = VALID_SECONDS / 3600
"""The hours an answer counts by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A person's answers, by the call paths of the questions."""

    yes: Sequence[str] = field(
        default=(), metadata=option("Allow the call at this path; may be repeated.", metavar="PATH")
    )
    no: Sequence[str] = field(
        default=(), metadata=option("Refuse the call at this path; may be repeated.", metavar="PATH")
    )
    records: Sequence[Mapping[str, object]] = ()
    """Answers with a path and the digest of their question, and perhaps more fields.

    One that `lasts` allows this very call until the run ends; `instead` replaces the call's arguments for a new
    decision.
    """
    reason: str = field(default="", metadata=option("Why not, for the model.", metavar="TEXT"))
    by: str | None = field(
        default=None, metadata=option("Who answers, if not the user of this machine.", metavar="NAME")
    )
    hours: float = field(
        default=WEEK, metadata=option("How long the answers are valid.", metavar="N", least=0.0)
    )

    @property
    def are_none(self) -> bool:
        """Whether nothing is answered."""
        return not (self.yes or self.no or self.records)

    @property
    def paths(self) -> tuple[str, ...]:
        """The call paths of the questions that are answered."""
        return (*self.yes, *self.no, *(str(record.get("path")) for record in self.records))

    def to(self, questions: Mapping[str, Waiting]) -> list[tuple[Waiting, dict[str, object]]]:
        """Each answer as kept, with its question.

        Raises:
            StaleError: One is for another question than the waiting one.
            LlmdoError: No such question waits, an answer does not fit, or a question has two.
        """
        pairs = [
            (_find(path, questions), self.as_kept({"allowed": allowed}))
            for allowed, paths in ((True, self.yes), (False, self.no))
            for path in paths
        ]
        for record in self.records:
            question = _find(str(record.get("path")), questions)
            if record.get("digest") != question.key:
                raise StaleError(
                    f"{question.path}: the answer is for another question than the one that waits",
                    hint="`--format json` prints the `digest` that an answer has to repeat",
                )
            answer = self.as_kept(record)
            if answer.get("arguments") == question.record["arguments"]:
                raise LlmdoError(f"{question.path}: nothing was changed", hint="allow it, or refuse it")
            pairs.append((question, answer))
        numbers = Counter(question.path for question, _ in pairs)
        if twice := next((path for path, number in numbers.items() if number > 1), None):
            raise LlmdoError(f"`{twice}` is answered twice", hint="a question takes one answer")
        return pairs

    def as_kept(self, record: Mapping[str, Any]) -> dict[str, object]:
        """An answer as it is kept.

        Raises:
            LlmdoError: It does not say whether the call is allowed, has a wrong duration, or contradicts itself.
        """
        instead = record.get(
            "instead"
        )  # not `arguments`, which a question has that is given back with an answer
        allowed = record.get("allowed", None if instead is None else False)
        if not isinstance(allowed, bool):
            raise LlmdoError("`allowed` of an answer is true or false")
        if instead is not None and (allowed or not isinstance(instead, dict)):
            raise LlmdoError("`instead` of an answer is an object of arguments, and allows nothing by itself")
        lasts = record.get("lasts", False)
        if not isinstance(lasts, bool) or (lasts and not allowed):
            raise LlmdoError("`lasts` of an answer is true or false, and only a yes lasts")
        hours = record.get("hours", self.hours)
        require_hours(hours)
        reason = str(record.get("reason", self.reason))
        is_no = not allowed and instead is None
        return {
            "allowed": allowed,
            "by": str(record.get("by") or self.by or user()),
            "reason": "the answer was no" + (f": {reason}" if reason else "") if is_no else "",
            "told": reason if is_no else "",
            "expires": time.time() + hours * 3600,
            **({"lasts": True} if lasts else {}),
            **({"arguments": instead} if instead is not None else {}),
        }


def require_hours(hours: object) -> None:
    """Checks that an answer may count for so long.

    Raises:
        LlmdoError: Otherwise.
    """
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= MOST_HOURS:
        raise LlmdoError(f"`hours` of an answer is a number from 0 to {MOST_HOURS:,}")


def waiting_so_far(runs: RunIndex, run: str, answers: Answers) -> dict[str, Waiting] | None:
    """The waiting questions of a run in progress; None if no process works on it.

    Raises:
        GoesOnError: There are `answers`, which that process would not see.
    """
    if not runs.is_claimed(run):
        return None
    if not answers.are_none:
        with runs.read(run) as journal:
            require_unanswered(journal, answers.paths)
        raise GoesOnError(
            f"run `{run}` goes on, and can be answered once it has stopped",
            hint="with `--approvals later` it stops as soon as nothing but its questions is left; without an answer, "
            "`llmdo approve` shows what waits so far",
        )
    with runs.read(run) as journal:
        return waiting(journal)


def require_unanswered(journal: JournalStore, paths: Iterable[str]) -> None:
    """Checks that nobody was quicker to answer the questions at these paths.

    Raises:
        StaleError: Somebody was; says who, and how long ago.
    """
    waits = waiting(journal)
    for path in paths:
        answered = list(journal.entries("answered", at=path))
        if answered and path not in waits:
            by, before = answered[-1].data.get("by"), max(time.time() - answered[-1].at, 0)
            raise StaleError(
                f"{path}: {by} answered it {before:.0f} s before",
                hint=f"`llmdo runs show {journal.run} --calls`",
            )


def give(
    journal: JournalStore, answers: Answers, *, at_terminal: bool = False
) -> list[tuple[Waiting, dict[str, object]]]:
    """Keeps the answers for the next process of the run, all or none; those kept, with their questions.

    Raises:
        LlmdoError: The run is complete, or one of them does not fit.
    """
    require_open(journal, answers.paths)
    pairs = answers.to(waiting(journal))
    for question, answer in pairs:
        add_answer(journal, question, answer, at_terminal=at_terminal)
    return pairs


def require_open(journal: JournalStore, paths: Iterable[str]) -> None:
    """Check that the questions at these paths may wait for an answer.

    Raises:
        StaleError: The run is complete or cancelled, or somebody was quicker to answer.
    """
    end = journal.last("end")
    if end is not None and end.outcome == CANCELLED:
        raise StaleError(f"run `{journal.run}` was called off: nothing in it waits for an answer")
    require_unanswered(journal, paths)
    if end is not None and end.outcome == "completed":
        raise StaleError(f"run `{journal.run}` is complete: nothing in it waits for an answer")


def _find(path: str, questions: Mapping[str, Waiting]) -> Waiting:
    if path not in questions:
        raise StaleError(
            f"no question waits at `{path}`",
            hint=did_you_mean(path, questions) or f"those that wait: {', '.join(questions) or 'none'}",
        )
    return questions[path]


def user() -> str:
    """The user of this machine, as far as it says."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "a person"
