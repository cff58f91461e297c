"""What a run that came from elsewhere may claim: no more than that something happened there."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base import digest
from llmdo.base.values import replace
from llmdo.graph.resolved import Graph
from llmdo.journal import Runs, questions
from llmdo.runtime import AskLater
from llmdo.services import export_import
from tests.support.building import graph, script, use, worker

from . import forging
from .test_recording import go_on, start

DIGEST = digest.of_text("")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def waiting_run(root: Path, file: str) -> Graph:
    """A run that waits for an answer about a write."""
    script(root, main=[[("write_file", {"path": file, "content": "x"})], "{results}"])
    main = replace(
        worker("main", use("filesystem", write=["**"])), config=DIGEST, prompt=digest.of_text("You are main.")
    )
    team_graph = graph(main)
    assert start(team_graph, root, approver=AskLater()).status == "waiting"
    return team_graph


def forge_yes(root: Path) -> None:
    """Answers the question of the run as a person at a terminal would, in the file alone."""
    with Runs(root).open("r") as journal:
        [question] = questions.waiting(journal).values()
        answer = {"allowed": True, "by": "ada", "reason": "", "told": "", "expires": None}
        questions.add_answer(journal, question, answer, at_terminal=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("file", ["llmdo.toml", "a.txt"])
@pytest.mark.parametrize("imported", [False, True])
def test_a_yes_that_came_with_an_imported_run_does_not_count(
    root: Path, file: str, *, imported: bool
) -> None:
    team_graph = waiting_run(root, file)
    forge_yes(root)
    if imported:
        with Runs(root).read("r") as journal:
            export_import.write_bundle(journal, root / "sent.sqlite", None, lambda body: body)
        Runs(root).remove("r")
        assert export_import.read_bundle(Runs(root), root / "sent.sqlite").run == "r"
        with Runs(root).read("r") as journal:
            assert [*questions.waiting(journal)] == ["main/write_file#1"]
    outcome = go_on(team_graph, root, approver=AskLater())
    assert (outcome.status == "waiting", (root / file).exists()) == (imported, not imported), outcome
    if imported:
        forge_yes(root)
    assert go_on(team_graph, root, approver=AskLater()).status == "completed", (
        "an answer that is given here counts"
    )
    assert (root / file).exists()


def test_an_answer_is_for_the_question_that_was_shown(root: Path) -> None:
    team_graph = waiting_run(root, "a.txt")
    forging.edit(root, "asked", lambda body: {**body, "arguments": {"path": "harmless.txt", "content": "x"}})
    forge_yes(root)
    assert go_on(team_graph, root, approver=AskLater()).status == "waiting"
    assert not (root / "a.txt").exists()
