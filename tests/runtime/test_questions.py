"""Questions of long runs: looking for the answer to one does not read all that were asked before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal import Journal, Runs
from llmdo.journal.questions import add_answer, waiting
from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, Question
from llmdo.runtime.approvals.postponed import Postponed
from llmdo.runtime.brake import Brake
from llmdo.runtime.recording.encoding import Encoding
from llmdo.runtime.telemetry.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MANY = 150
YES = Answer(allowed=True, by="ada")


def question(number: int) -> Question:
    return Question(
        path=f"main/write#{number}",
        worker="main",
        toolset="tools",
        tool="write",
        arguments={},
        capabilities=(Capability("x.write"),),
        reasons=(),
        advice=(),
        terminal_only=False,
        key=f"key {number}",
    )


def postponed(journal: Journal) -> Postponed:
    return Postponed(journal, Encoding(Redaction.of({})), Brake())


def work(journal: Journal, call: Callable[[], object]) -> int:
    """How much the database does for `call`, in hundreds of its steps."""
    steps: list[None] = []
    journal._connection.set_progress_handler(lambda: steps.append(None), 100)
    call()
    journal._connection.set_progress_handler(None, 0)
    return len(steps)


def test_a_question_costs_no_more_when_many_were_asked_before(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        answers = postponed(journal)

        def ask(number: int) -> None:
            assert answers.answer(question(number)) is None
            entry = answers.question_entry(question(number))
            assert entry is not None
            for added in (entry, answers.answered(question(number), YES)):
                journal.add(added)
                answers.take(added)
            journal.commit("written")

        costs = [work(journal, lambda: ask(number)) for number in range(1, MANY + 1)]  # noqa: B023
        assert max(costs[-20:]) <= max(costs[:20]) + 5
        assert answers.answer(question(1)) is not None
        anew = answers.question_entry(question(1))
        assert anew is not None
        assert anew.step == 2, "what was answered is asked again as a question of its own"
        assert postponed(journal).answer(question(MANY)) is not None


def test_an_answer_that_another_process_gives_meanwhile_is_taken(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.create("r") as journal:
        answers = postponed(journal)
        entry = answers.question_entry(question(1))
        assert entry is not None
        journal.add(entry)
        journal.commit()
        assert answers.answer(question(1)) is None
    answer = {"allowed": True, "by": "ada", "reason": "", "told": "", "expires": None}
    with runs.open("r") as other:
        add_answer(other, waiting(other)["main/write#1"], answer, at_terminal=False)
    with runs.open("r") as journal:
        assert postponed(journal).answer(question(1)) is not None


def test_answering_costs_no_more_when_many_were_answered_before(tmp_path: Path) -> None:
    answer = {"allowed": True, "by": "ada", "reason": "", "told": "", "expires": None}
    with Runs(tmp_path).create("r") as journal:
        answers = postponed(journal)
        for number in range(1, MANY + 1):
            entry = answers.question_entry(question(number))
            assert entry is not None
            journal.add(entry)
        journal.commit()
        costs = [
            work(journal, lambda: add_answer(journal, asked, answer, at_terminal=False))  # noqa: B023
            for asked in waiting(journal).values()
        ]
        assert max(costs[-20:]) <= max(costs[:20]) + 5
