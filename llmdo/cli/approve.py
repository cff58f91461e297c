"""`llmdo approve`: the questions of a run that waits, and their answers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.cli.console import FINE, WAITING, put, root_folder, say
from llmdo.journal import Runs
from llmdo.journal.answers import WEEK, Answers, give, require_hours, waiting_so_far
from llmdo.journal.questions import add_answer, waiting
from llmdo.journal.secrets import Known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal import Journal
    from llmdo.journal.questions import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveRequest:
    """What `llmdo approve` was asked for."""

    run: str
    project: str | None = None
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    reason: str = ""
    by: str | None = None
    hours: float = WEEK
    answers: str | None = None
    json: bool = False


def approve(options: ApproveRequest) -> int:
    """Shows or answers questions; the exit code says whether some still wait."""
    require_hours(options.hours)
    answers = Answers(
        yes=options.yes,
        no=options.no,
        records=_read(options.answers) if options.answers else (),
        reason=options.reason,
        by=options.by,
        hours=options.hours,
    )
    runs = Runs(root_folder(options.project))
    run = runs.find(options.run)
    if (so_far := waiting_so_far(runs, run, answers)) is not None:
        _print(run, so_far, as_json=options.json)
        what = "its questions" if so_far else "what it may ask"
        say(f"run {run} goes on: {what} can be answered once it has stopped")
        return WAITING if so_far else FINE
    with runs.claim(run), runs.open(run) as journal:
        journal.know(Known.of(os.environ))
        given = give(journal, answers)
        for question, said in given:
            say(f"{question.path}: {'allowed' if said['allowed'] else 'refused'}, by {said['by']}")
        questions = waiting(journal)
        if not given and not options.json and sys.stdin.isatty() and sys.stderr.isatty():
            _ask(journal, questions, answers)
            questions = waiting(journal)
        _print(journal.run, questions, as_json=options.json)
    if questions:
        return WAITING
    say(f"nothing waits any more: `llmdo resume {run}`")
    return FINE


def _read(name: str) -> list[Mapping[str, Any]]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError) as error:
        raise LlmdoError(f"the answers in `{name}` cannot be read: {error}") from error
    answers = found.get("answers") if isinstance(found, dict) else found
    if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
        raise LlmdoError(
            f"`{name}` holds no answers",
            hint='a list of {"path": ..., "digest": ..., "allowed": true, "by": ...}',
        )
    return answers


def _ask(journal: Journal, questions: Mapping[str, Waiting], answers: Answers) -> None:
    """Asks the person at the terminal, one question after the other, as a run would."""
    from llmdo.runtime.approvals.postponed import question_in
    from llmdo.runtime.approvals.terminal import AskOnTerminal

    asker = AskOnTerminal(sys.stdin, sys.stderr, os.environ)
    for question in questions.values():
        answer = asyncio.run(asker.ask(question_in(question.path, question.said)))
        if answer.stops:
            return
        said = answers.one({"allowed": answer.allowed, "reason": answer.told})
        add_answer(journal, question, said, at_terminal=True)


def _print(run: str, questions: Mapping[str, Waiting], *, as_json: bool) -> None:
    if as_json:
        records = [{"path": one.path, "digest": one.key, **one.said} for one in questions.values()]
        put(
            json.dumps({"schema": "llmdo.approve/1", "run": run, "questions": records}, indent=2),
            as_json=True,
        )
        return
    for one in questions.values():
        put(described(one))


def described(question: Waiting) -> str:
    """A question in a line, for a list of those that wait."""
    said = question.said
    arguments = json.dumps(said["arguments"], ensure_ascii=True)
    only = ", at a terminal only" if question.terminal_only else ""
    return shown(f"{question.path}: {said['tool']} {arguments}: {'; '.join(said['reasons'])}{only}")
