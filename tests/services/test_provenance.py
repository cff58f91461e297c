"""Where the values of a waiting call come from, what was read before it, and what waits for its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry, pack
from llmdo.journal.questions import waiting as questions_of
from llmdo.render import inbox as render
from llmdo.services.answering import AnswerRequest, GivenAnswer, answer
from llmdo.services.inbox import Inbox
from llmdo.services.run_processes import ResumeProcesses
from tests.support import asking
from tests.support.commands import llmdo
from tests.support.sourced import sourced

SEND = "main/send#1"


def waiting(root: Path, path: str = SEND) -> dict[str, Any]:
    """The document of the question at a path of the last run."""
    document: dict[str, Any] = render.question(Inbox(root=root).call(Runs(root).names()[-1], path))
    assert json.loads(json.dumps(document)) == document
    return document


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    root = sourced(tmp_path)
    assert llmdo(root, "lock").returncode == 0
    done = llmdo(root, "run", "main", "--approvals", "later")
    assert done.returncode == 3, done.stderr
    return root


def test_a_value_is_from_what_has_it_word_for_word_and_was_read_before(asked: Path) -> None:
    known = waiting(asked)["provenance"]
    assert {each["name"]: each["from"] for each in known["values"]} == {
        "to": "read_file (main/read_file#1)",
        "order": "its input",
        "amount": "the answer of pricing (main/pricing#1)",
        "note": "not known",  # what has it was asked for at the same time, and read after
        "urgent": "too short to tell",
    }
    assert [each["words"] for each in known["read"]] == [
        "its input",
        "read_file (main/read_file#1)",
        "the answer of pricing (main/pricing#1)",
    ]
    assert known["read"][1]["raised"] == ["fs.read:mail/a.txt"]
    assert known["read"][1]["labels"] == ["data.untrusted"]
    assert known["labels"] == {"data.untrusted": "main/read_file#1"}


def test_what_came_after_the_model_was_asked_has_not_been_read(asked: Path) -> None:
    with Runs(asked).open(Runs(asked).names()[-1]) as journal:
        (question,) = questions_of(journal).values()
        result = {"return_value": "We are on the house now."}
        late = JournalEntry(
            path="main/read_file#9", kind="finished", step=1, outcome="success", body=pack(result)
        )
        again = JournalEntry(
            path=SEND, kind="asked", step=2, digest=question.key, body=pack(dict(question.record))
        )
        for entry in (late, again):
            journal.add(entry)
        journal.commit()
    known = waiting(asked)["provenance"]
    assert {each["name"]: each["from"] for each in known["values"]}["note"] == "not known"
    assert "main/read_file#9" not in {each["path"] for each in known["read"]}


def test_the_list_says_it_too(asked: Path) -> None:
    listed = llmdo(asked, "inbox").stdout
    assert (
        "values: to: read_file (main/read_file#1); order: its input; amount: the answer of pricing" in listed
    )
    assert "note: not known; urgent: too short to tell" in listed
    assert "read_file (main/read_file#1) [fs.read:mail/a.txt, label data.untrusted]" in listed
    assert "labels: data.untrusted" in listed
    assert "its run stands still until there is an answer\n" in listed
    (line,) = json.loads(llmdo(asked, "inbox", "--format", "json").stdout)["waiting"]
    assert line["provenance"] == waiting(asked)["provenance"]


def test_what_nobody_looked_at_is_not_shown_as_nothing(tmp_path: Path) -> None:
    root = asking.workspace(tmp_path, number=1, path="somewhere/else.txt", scope="**")
    asking.asked(root)
    known = waiting(root, asking.path_of(1))["provenance"]
    assert known["labels"] is None
    assert {each["name"]: each["from"] for each in known["values"]} == {
        "path": "not known",
        "content": "too short to tell",
    }
    assert "labels: not known" in llmdo(root, "inbox").stdout


@pytest.mark.long
def test_what_a_person_typed_is_from_that_person(tmp_path: Path) -> None:
    root = asking.workspace(tmp_path, number=1)
    asking.asked(root)
    run, path = Runs(root).names()[-1], asking.path_of(1)
    digest = Inbox(root=root).call(run, path).pending.question.key
    instead = {"path": "out/typed.txt", "content": "typed by hand"}
    given = GivenAnswer(run=run, path=path, digest=digest, verb="edit", instead=instead, by="ada")
    answer(AnswerRequest(root=root, answer=given))
    with ResumeProcesses(root=root) as going:
        going.start(run)
        going.wait(run, 60)
    known = waiting(root, path)["provenance"]
    assert {each["from"] for each in known["values"]} == {"typed by ada"}


@pytest.mark.long
def test_what_stands_still_is_said_of_a_batch(tmp_path: Path) -> None:
    root = asking.workspace(tmp_path, number=2)
    (root / "in.jsonl").write_text('"first"\n"second"\n', encoding="utf-8")
    llmdo(root, "batch", "main", "--inputs", "in.jsonl")
    listed = llmdo(root, "inbox").stdout
    assert listed.count("its run stands still until there is an answer, and for 1 other answer") == 4
    assert listed.count("0 of 2 items of batch ") == 4
    assert "are over, and 2 wait for answers" in listed
