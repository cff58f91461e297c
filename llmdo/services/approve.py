"""`approve`: the questions of a run that waits, and their answers."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.answers import Answers, give, require_hours, waiting_so_far
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import add_answer, waiting
from llmdo.journal.secrets import Known
from llmdo.services.handing import hand_over, is_of_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime import Answer

    Asker = Callable[[Waiting], Answer]
    """The answer of a person who is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveRequest:
    """Whose questions are answered, and how."""

    root: Path
    run: str
    answers: Answers = field(default_factory=Answers)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveOutcome:
    """What was answered, and what waits still."""

    run: str
    questions: Mapping[str, Waiting]
    """Those that wait."""
    sentences: tuple[str, ...] = ()
    """A sentence on each answer of the request."""
    goes_on: bool = False
    """Whether the run goes on, so that nothing can be answered yet."""
    is_handed: bool = False
    """Whether a worker of a fleet goes on with it now."""


def read_answers(name: str) -> list[Mapping[str, object]]:
    """The answers in a JSON file, or on standard input where its name is `-`.

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
    """The questions of the run, once they are answered; where no answer is given, `ask` is asked.

    What only a person at a terminal may allow, this alone does not.

    Raises:
        LlmdoError: An answer does not fit, or the run goes on or is complete.
    """
    answers = request.answers
    require_hours(answers.hours)
    runs = runs_of(request.root, request.environ)
    run = runs.find(request.run)
    if (so_far := waiting_so_far(runs, run, answers)) is not None:
        return ApproveOutcome(run=run, questions=so_far, goes_on=True)
    with runs.claim(run), runs.open(run) as journal:
        journal.know(Known.of(request.environ))
        sentences = tuple(
            f"{question.path}: {'allowed' if answer['allowed'] else 'refused'}, by {answer['by']}"
            for question, answer in give(journal, answers)
        )
        if ask and not sentences:
            _ask(journal, answers, ask)
        questions = waiting(journal)
    is_handed = not questions and is_of_workers(request.root, run, request.environ)
    if is_handed:
        hand_over(request.root, run, request.environ)
    return ApproveOutcome(run=run, questions=questions, sentences=sentences, is_handed=is_handed)


def _ask(journal: JournalStore, answers: Answers, ask: Asker) -> None:
    """Asks one question after the other, as a run would."""
    for question in waiting(journal).values():
        answer = ask(question)
        if answer.stops:
            return
        record = answers.as_kept({"allowed": answer.allowed, "reason": answer.message})
        add_answer(journal, question, record, at_terminal=True)
