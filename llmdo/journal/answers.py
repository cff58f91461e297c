"""Answers that somebody gives to the questions of a run that waits: what may be said, and that it is kept."""

from __future__ import annotations

import getpass
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass
from llmdo.journal.questions import MOST_HOURS, VALID_SECONDS, add_answer, waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.journal.ports import JournalStore, RunIndex
    from llmdo.journal.questions import Waiting

WEEK = VALID_SECONDS / 3600
"""How many hours an answer counts where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What somebody says to questions, by the call paths of these."""

    yes: Sequence[str] = ()
    no: Sequence[str] = ()
    records: Sequence[Mapping[str, object]] = ()
    """Answers with a path and the digest of their question, and perhaps more of what follows."""
    reason: str = ""
    """Why not, for the model."""
    by: str | None = None
    """None: the user of this machine."""
    hours: float = WEEK

    @property
    def are_none(self) -> bool:
        """Whether nothing is answered."""
        return not (self.yes or self.no or self.records)

    def to(self, questions: Mapping[str, Waiting]) -> list[tuple[Waiting, dict[str, object]]]:
        """Each answer as it is kept, with the one of `questions` that it is for.

        Raises:
            LlmdoError: One is for no question that waits, or for another one than was asked, or two are for one.
        """
        given = [
            (_find(path, questions), self.as_kept({"allowed": allowed}))
            for allowed, paths in ((True, self.yes), (False, self.no))
            for path in paths
        ]
        for record in self.records:
            question = _find(str(record.get("path")), questions)
            if record.get("digest") != question.key:
                raise LlmdoError(
                    f"{question.path}: the answer is for another question than the one that waits",
                    hint="`--format json` prints the `digest` that an answer has to repeat",
                )
            given.append((question, self.as_kept(record)))
        numbers = Counter(question.path for question, _ in given)
        if twice := next((path for path, number in numbers.items() if number > 1), None):
            raise LlmdoError(f"`{twice}` is answered twice", hint="a question takes one answer")
        return given

    def as_kept(self, record: Mapping[str, Any]) -> dict[str, object]:
        """An answer as it is kept.

        Raises:
            LlmdoError: It does not say whether the call is allowed, or not for how long.
        """
        allowed = record.get("allowed")
        if not isinstance(allowed, bool):
            raise LlmdoError("`allowed` of an answer is true or false")
        hours = record.get("hours", self.hours)
        require_hours(hours)
        reason = str(record.get("reason", self.reason))
        return {
            "allowed": allowed,
            "by": str(record.get("by") or self.by or _user()),
            "reason": "" if allowed else "the answer was no" + (f": {reason}" if reason else ""),
            "told": "" if allowed else reason,
            "expires": time.time() + hours * 3600,
        }


def require_hours(hours: object) -> None:
    """Nothing, where an answer may count for so long.

    Raises:
        LlmdoError: It may not.
    """
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= MOST_HOURS:
        raise LlmdoError(f"`hours` of an answer is a number from 0 to {MOST_HOURS:,}")


def waiting_so_far(runs: RunIndex, run: str, answers: Answers) -> dict[str, Waiting] | None:
    """What waits in a run that some process works on; None where none does, so that its questions can be answered.

    Raises:
        LlmdoError: There are `answers`, which that process would not see.
    """
    if not runs.is_claimed(run):
        return None
    if not answers.are_none:
        raise LlmdoError(
            f"run `{run}` goes on, and can be answered once it has stopped",
            hint="with `--approvals later` it stops as soon as nothing but its questions is left; without an answer, "
            "`llmdo approve` shows what waits so far",
        )
    with runs.read(run) as journal:
        return waiting(journal)


def give(journal: JournalStore, answers: Answers) -> list[tuple[Waiting, dict[str, object]]]:
    """Keeps the answers for whoever goes on with the run, all or none; those that were kept, with their questions.

    Raises:
        LlmdoError: The run is complete, or one of them does not fit.
    """
    end = journal.last("end")
    if end is not None and end.outcome == "completed":
        raise LlmdoError(f"run `{journal.run}` is complete: nothing in it waits for an answer")
    given = answers.to(waiting(journal))
    for question, answer in given:
        add_answer(journal, question, answer, at_terminal=False)
    return given


def _find(path: str, questions: Mapping[str, Waiting]) -> Waiting:
    if path not in questions:
        raise LlmdoError(
            f"no question waits at `{path}`",
            hint=did_you_mean(path, questions) or f"those that wait: {', '.join(questions) or 'none'}",
        )
    return questions[path]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "a person"
