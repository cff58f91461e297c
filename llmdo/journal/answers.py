"""Answers to the questions of a waiting run: their rules, and their keeping."""

from __future__ import annotations

import getpass
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass
from llmdo.journal.entries import CANCELLED
from llmdo.journal.questions import MOST_HOURS, VALID_SECONDS, add_answer, waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore, RunIndex


class StaleError(LlmdoError):
    """An answer is for another question than the waiting one, or none waits any more."""


class GoesOnError(LlmdoError):
    """A process works on the run, and would not see an answer."""


WEEK = VALID_SECONDS / 3600
"""The hours an answer counts by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A person's answers, by the call paths of the questions."""

    yes: Sequence[str] = ()
    no: Sequence[str] = ()
    records: Sequence[Mapping[str, object]] = ()
    """Answers with a path and the digest of their question, and perhaps more fields.

    One that `lasts` allows this very call until the run ends; `instead` replaces the call's arguments for a new
    decision.
    """
    reason: str = ""
    """Why not, for the model."""
    by: str | None = None
    """None: the user of this machine."""
    hours: float = WEEK

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


def give(journal: JournalStore, answers: Answers) -> list[tuple[Waiting, dict[str, object]]]:
    """Keeps the answers for the next process of the run, all or none; those kept, with their questions.

    Raises:
        LlmdoError: The run is complete, or one of them does not fit.
    """
    require_open(journal, answers.paths)
    pairs = answers.to(waiting(journal))
    for question, answer in pairs:
        add_answer(journal, question, answer, at_terminal=False)
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
