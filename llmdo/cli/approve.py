"""`llmdo approve`: the questions of a run that waits, and their answers."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.cli.console import FINE, WAITING, put, root_folder, say
from llmdo.diagnostic import LlmdoError, did_you_mean, shown
from llmdo.journal import Runs
from llmdo.journal.questions import MOST_HOURS, add_answer, waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal import Journal
    from llmdo.journal.questions import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `llmdo approve` was asked for."""

    run: str
    project: str | None = None
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    reason: str = ""
    by: str | None = None
    hours: float = 168.0
    answers: str | None = None
    json: bool = False


def approve(options: Options) -> int:
    """Shows or answers questions; the exit code says whether some still wait."""
    _require_hours(options.hours)
    runs = Runs(root_folder(options.project))
    run = runs.find(options.run)
    if runs.is_claimed(run):
        return _show_so_far(runs, run, options)
    with runs.claim(run), runs.open(run) as journal:
        end = journal.last("end")
        if end is not None and end.outcome == "completed":
            raise LlmdoError(f"run `{run}` is complete: nothing in it waits for an answer")
        given = _given(options, waiting(journal))
        for question, said in given:
            add_answer(journal, question, said, at_terminal=False)
            say(f"{question.path}: {'allowed' if said['allowed'] else 'refused'}, by {said['by']}")
        questions = waiting(journal)
        if not given and not options.json and sys.stdin.isatty() and sys.stderr.isatty():
            _ask(journal, questions, options)
            questions = waiting(journal)
        _print(journal.run, questions, as_json=options.json)
    if questions:
        return WAITING
    say(f"nothing waits any more: `llmdo resume {run}`")
    return FINE


def _show_so_far(runs: Runs, run: str, options: Options) -> int:
    """Shows what waits in a run that some process works on; the exit code says whether something does.

    Raises:
        LlmdoError: Answers were given, which that process would not see.
    """
    if options.yes or options.no or options.answers:
        raise LlmdoError(
            f"run `{run}` goes on, and can be answered once it has stopped",
            hint="with `--approvals later` it stops as soon as nothing but its questions is left; without an answer, "
            "`llmdo approve` shows what waits so far",
        )
    with runs.read(run) as journal:
        questions = waiting(journal)
    _print(run, questions, as_json=options.json)
    say(
        f"run {run} goes on: {'its questions' if questions else 'what it may ask'} can be answered once it has stopped"
    )
    return WAITING if questions else FINE


def _given(options: Options, questions: Mapping[str, Waiting]) -> list[tuple[Waiting, dict[str, Any]]]:
    """The answers that the flags and the file give, each to the question that waits.

    Raises:
        LlmdoError: One is for no question that waits, or for another one than was asked; or two are for the same one.
    """
    found = [
        (_find(path, questions), _answer(options, {"allowed": allowed}))
        for allowed, paths in ((True, options.yes), (False, options.no))
        for path in paths
    ]
    for said in _read(options.answers) if options.answers else ():
        question = _find(str(said.get("path")), questions)
        if said.get("digest") != question.key:
            raise LlmdoError(
                f"{question.path}: the answer is for another question than the one that waits",
                hint="`--format json` prints the `digest` that an answer has to repeat",
            )
        found.append((question, _answer(options, said)))
    numbers = Counter(question.path for question, _ in found)
    if twice := next((path for path, number in numbers.items() if number > 1), None):
        raise LlmdoError(f"`{twice}` is answered twice", hint="a question takes one answer")
    return found


def _find(path: str, questions: Mapping[str, Waiting]) -> Waiting:
    if path not in questions:
        raise LlmdoError(
            f"no question waits at `{path}`",
            hint=did_you_mean(path, questions) or f"those that wait: {', '.join(questions) or 'none'}",
        )
    return questions[path]


def _answer(options: Options, said: Mapping[str, Any]) -> dict[str, Any]:
    allowed = said.get("allowed")
    if not isinstance(allowed, bool):
        raise LlmdoError("`allowed` of an answer is true or false")
    hours = said.get("hours", options.hours)
    _require_hours(hours)
    told = str(said.get("reason", options.reason))
    return {
        "allowed": allowed,
        "by": str(said.get("by") or options.by or _user()),
        "reason": "" if allowed else "the answer was no" + (f": {told}" if told else ""),
        "told": "" if allowed else told,
        "expires": time.time() + hours * 3600,
    }


def _require_hours(hours: object) -> None:
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= MOST_HOURS:
        raise LlmdoError(f"`hours` of an answer is a number from 0 to {MOST_HOURS:,}")


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


def _ask(journal: Journal, questions: Mapping[str, Waiting], options: Options) -> None:
    """Asks the person at the terminal, one question after the other, as a run would."""
    from llmdo.runtime.approvals.postponed import question_in
    from llmdo.runtime.approvals.terminal import AskOnTerminal

    asker = AskOnTerminal(sys.stdin, sys.stderr)
    for question in questions.values():
        answer = asyncio.run(asker.ask(question_in(question.path, question.said)))
        if answer.stops:
            return
        said = _answer(options, {"allowed": answer.allowed, "reason": answer.told})
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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "a person"
