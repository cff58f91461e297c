"""A run as it grows: every entry of its journal once, whoever works on it, and each call of it in full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry, pack
from llmdo.journal.tree import full_tree, walk
from llmdo.services.watching import MOST, Growth, RunEvent, Watched
from tests.support import forking
from tests.support.asking import asked, path_of, workspace
from tests.support.commands import llmdo


def allowing(root: Path, **more: int) -> Path:
    """The same workspace with leave to write."""
    team_root = workspace(root, **more)
    manifest = (team_root / "llmdo.toml").read_text(encoding="utf-8")
    (team_root / "llmdo.toml").write_text(
        f'{manifest}\n[approvals.rules]\n"fs.write" = "allowed"\n', encoding="utf-8"
    )
    return team_root


def grown(root: Path, run: str, after: int = 0) -> Growth:
    with Watched.open(root, run) as watched:
        return watched.growth(after)


def everything(root: Path, run: str = "last") -> list[RunEvent]:
    events: list[RunEvent] = []
    growth = grown(root, run)
    events += growth.events
    while growth.has_more:
        growth = grown(root, run, after=growth.position)
        events += growth.events
    return events


def has_begun(runs: Runs) -> bool:
    try:
        with runs.read(runs.find("last")) as journal:
            return journal.last("run") is not None
    except LlmdoError:
        return False


@pytest.mark.long
def test_a_run_that_another_process_works_on_is_seen_without_a_lost_event(tmp_path: Path) -> None:
    root = allowing(tmp_path, number=20)
    with forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        runs = Runs(root)
        while not has_begun(runs):
            assert process.poll() is None
        seen: list[RunEvent] = []
        with Watched.open(root, "last") as watched:
            status = None
            while status is None:
                growth = watched.growth(seen[-1].number if seen else 0)
                seen += growth.events
                status = growth.status
        assert process.wait(60) == 0
    assert status == "completed"
    silent = {"kept", "sources", "history", "messages"}
    with runs.read(runs.names()[-1]) as journal:
        kept = [(row.number, row.entry.kind) for row in journal.rows() if row.entry.kind not in silent]
    assert [(event.number, event.kind) for event in seen] == kept
    assert sum(event.kind == "finished" for event in seen) == 20


def test_events_say_what_a_person_wants_to_know_first(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2)
    asked(root)
    llmdo(root, "approve", "last", "--yes", path_of(1), "--no", path_of(2), "--reason", "no", "--by", "ada")
    assert llmdo(root, "resume", "last").returncode == 0
    events = everything(root)
    by_kind = {event.kind: event.facts for event in events}
    assert by_kind["run"]["input"] == "go"
    assert by_kind["call"]["worker"] == "writer"
    assert (by_kind["asked"]["tool"], by_kind["asked"]["terminal_only"]) == ("write_file", False)
    decided = {event.path: (event.outcome, event.facts["by"]) for event in events if event.kind == "decision"}
    assert decided[path_of(1)] == ("allowed", "ada")
    assert decided[path_of(2)] == ("denied", "ada")
    request = next(event.facts for event in events if event.kind == "request")
    assert request["calls"] == ["writer", "writer"]
    assert (request["model"], request["truncated"]) == ("python:models.py:rules", False)
    assert [event.outcome for event in events if event.kind == "end"] == ["waiting", "completed"]


def test_long_runs_are_read_in_parts(tmp_path: Path) -> None:
    root = allowing(tmp_path, number=3)
    assert llmdo(root, "run", "main").returncode == 0
    run = Runs(root).names()[-1]
    before = everything(root)
    with Runs(root).claim(run), Runs(root).open(run) as journal:
        for step in range(2, 2 * MOST):
            journal.add(JournalEntry(path="main", kind="session", step=step, body=pack({"llmdo": "0"})))
        journal.commit()
    first = grown(root, run)
    assert (first.has_more, first.status, len(first.events) <= MOST) == (True, None, True)
    events = everything(root)
    assert events[: len(before)] == before
    assert [event.step for event in events[len(before) :]] == [*range(2, 2 * MOST)]


def test_a_call_alone_is_what_the_whole_tree_has_of_it(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=3)
    asked(root)
    llmdo(root, "approve", "last", "--yes", path_of(1), "--no", path_of(2))
    llmdo(root, "resume", "last")
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        nodes = [*walk(full_tree(journal))]
    with Watched.open(root, "last") as watched:
        for node in nodes:
            node.children = {}
            assert watched.call(node.path) == node
        with pytest.raises(LlmdoError, match="has no call"):
            watched.call("main/writer#9")
        requests = watched.requests("main/writer#1")
    assert len(nodes) == 7
    assert [request.number for request in requests] == [1, 2]
    tools = requests[0].tools or ()
    assert [tool["name"] for tool in tools] == ["list_files", "read_file", "write_file", "edit_file"]


def test_a_run_whose_process_was_killed_has_no_status_and_goes_on_growing(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = Runs(root).names()[-1]
    assert grown(root, run).status == "waiting"
    with Runs(root).claim(run), Runs(root).open(run) as journal:
        before = grown(root, run)
        assert (before.is_running, before.status) == (True, None)
        journal.add(JournalEntry(path="main", kind="session", step=2, body=pack({"llmdo": "0"})))
        journal.commit()
        after = grown(root, run, after=before.position)
        assert [event.kind for event in after.events] == ["session"]
    left = grown(root, run, after=after.position)
    assert (left.events, left.is_running, left.status) == ((), False, None)
