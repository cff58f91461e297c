"""The example `sealed_inbox`: the injected mail gets nowhere, and one honest question names one value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import llmdo
from tests.support.examples import copied

HONEST = "books@falke-timber.example"
ATTACK = "collect@best-offers.example"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied("sealed_inbox", tmp_path)


def sent(root: Path) -> str:
    path = root / "sent/outbox.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_nothing_is_sent_where_nobody_answers(root: Path) -> None:
    for entry in ("inbox", "alone"):
        assert llmdo(root, "run", entry).returncode == 1
    assert sent(root) == ""


def test_one_question_names_one_value_and_a_yes_sends_to_it(root: Path) -> None:
    waiting = llmdo(root, "run", "inbox", "--approvals", "later")
    assert waiting.returncode == 3
    [question] = llmdo(root, "approve", "last").stdout.splitlines()
    assert HONEST in question
    assert "`to` is what `addresser#1` gave sealed" in question
    assert llmdo(root, "approve", "last", "--yes", "planner/send#1").returncode == 0
    assert llmdo(root, "resume", "last").returncode == 0
    assert sent(root) == f"to {HONEST}: Your invoice is attached.\n"


def test_whoever_says_yes_to_all_is_told_two_values_by_the_agent_that_reads_and_sends(root: Path) -> None:
    assert llmdo(root, "run", "inbox", "--approve-all").returncode == 0
    assert ATTACK not in sent(root)
    assert llmdo(root, "run", "alone", "--approve-all").returncode == 0
    assert ATTACK in sent(root)


@pytest.mark.parametrize(
    ("worker", "line"),
    [("sorter", "schema_out_ref: answers.py:Sorted\n"), ("addresser", "output: sealed\n")],
)
def test_without_a_closed_or_a_sealed_answer_the_lock_says_that_it_widens(
    worker: str, line: str, root: Path
) -> None:
    lock = root / "llmdo.lock"
    before = root / "before.lock"
    before.write_text(lock.read_text(encoding="utf-8"), encoding="utf-8")
    path = root / f"workers/{worker}.worker"
    text = path.read_text(encoding="utf-8")
    assert line in text
    path.write_text(text.replace(line, ""), encoding="utf-8")
    assert llmdo(root, "lock").returncode == 0
    assert "verdict: widened" in llmdo(root, "diff", "--locks", "before.lock", "llmdo.lock").stdout
