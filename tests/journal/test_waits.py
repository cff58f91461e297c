"""A person's thinking is no time of a call: not of the one that is asked about, nor of those above it."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from math import isclose
from pathlib import Path

import pytest

from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry
from llmdo.journal.tree import call_at, tree, walk
from llmdo.journal.waits import Waits
from llmdo.services.runs import metrics
from tests.support.asking import asked, path_of, workspace
from tests.support.commands import llmdo

THOUGHT = 5_000  # seconds


def event(path: str, kind: str, at: float) -> JournalEntry:
    return JournalEntry(path=path, kind=kind, step=1, at=at)  # type: ignore[arg-type]


def test_waits_at_the_same_time_count_once_and_an_open_one_until_the_end() -> None:
    waits = Waits(
        [
            event("main/a#1", "asked", 10),
            event("main/b#1", "asked", 12),
            event("main/a#1", "decision", 20),
            event("main/b#1", "decision", 25),
            event("main/c#1", "decision", 26),
            event("main/ab#1", "asked", 30),
        ]
    )
    assert waits.seconds("main/a#1", 9, 21) == 10
    assert waits.seconds("main", 0, 40) == 15 + 10
    assert waits.seconds("main", 11, 22) == 11
    assert waits.seconds("main/c#1", 0, 40) == 0


@pytest.fixture
def thought_about(tmp_path: Path) -> Path:
    """A run whose question somebody answered after more than an hour."""
    root = workspace(tmp_path, number=1)
    asked(root)
    assert llmdo(root, "approve", "last", "--yes", path_of(1)).returncode == 0
    assert llmdo(root, "resume", "last").returncode == 0
    path = Runs(root).path(Runs(root).names()[-1])
    with closing(sqlite3.connect(path)) as connection, connection:
        until = "SELECT max(seq) FROM entry WHERE kind = 'asked'"
        connection.execute(f"UPDATE entry SET at = at - ? WHERE seq <= ({until})", (THOUGHT,))
    return root


def test_neither_the_call_nor_those_above_it_took_what_a_person_thought(thought_about: Path) -> None:
    (run,) = Runs(thought_about).names()
    with Runs(thought_about).read(run) as journal:
        calls = {node.path: node for node in walk(tree(journal))}
        alone = call_at(journal, path_of(1))
        above = call_at(journal, "main/writer#1")
    for path in (path_of(1), "main/writer#1"):
        assert calls[path].ended - calls[path].began > THOUGHT
        assert calls[path].seconds < 600 < THOUGHT < calls[path].waited
    assert alone is not None
    assert above is not None
    assert (alone.waited, above.waited) == (calls[path_of(1)].waited, calls["main/writer#1"].waited)


def test_the_slowest_calls_are_not_those_that_waited_longest(thought_about: Path) -> None:
    slowest = metrics(thought_about, time.time() - 10 * THOUGHT, pytest.fail).slowest
    assert [call.path for call in slowest] == [path_of(1)]
    assert slowest[0].seconds < 600


def test_runs_show_says_both(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    assert llmdo(root, "approve", "last", "--yes", path_of(1)).returncode == 0
    assert llmdo(root, "resume", "last").returncode == 0
    (line,) = (
        each for each in llmdo(root, "runs", "show", "last").stdout.splitlines() if "write_file#1" in each
    )
    (facts,) = re.findall(r"took ([0-9.]+) s, and waited ([0-9.]+) s for a person", line)
    took, waited = map(float, facts)
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        call = {node.path: node for node in walk(tree(journal))}[path_of(1)]
    assert waited > 0
    assert isclose(took + waited, call.ended - call.began, abs_tol=0.02)
