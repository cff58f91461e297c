"""The end of a run as it is told: after it is on disk, and as the journal has it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from llmdo.journal import Runs
from llmdo.runtime.recording.keeping import keeping
from llmdo.runtime.telemetry.events import Event, RunFinished
from tests.support.building import go, graph, script, worker
from tests.support.commands import process

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.building import Step

NO_END = """CREATE TRIGGER t BEFORE INSERT ON entry WHEN new.kind = 'end'
BEGIN SELECT raise(ABORT, 'disk is full'); END"""


class LooksAtTheEnd:
    """A listener that looks into the file of the journal when it hears that the run is over."""

    def __init__(self, root: Path) -> None:
        self._file = Runs(root).path("r1")
        self.heard: list[tuple[str, str | None]] = []
        self.recorded: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunFinished):
            self.heard.append((event.status, event.error))
            if self._file.exists():
                with closing(sqlite3.connect(self._file)) as connection:
                    ends = connection.execute("SELECT outcome FROM entry WHERE kind = 'end'")
                    self.recorded += [outcome for (outcome,) in ends]


@pytest.mark.parametrize(
    ("steps", "status"), [(["done"], "completed"), ([], "failed")], ids=["completed", "failed"]
)
def test_whoever_hears_of_the_end_finds_it_in_the_journal(
    tmp_path: Path, steps: list[Step], status: str
) -> None:
    script(tmp_path, main=steps)
    looks = LooksAtTheEnd(tmp_path)
    with keeping(tmp_path, "r1", {}) as recorder:
        outcome = go(graph(worker("main")), tmp_path, run="r1", recorder=recorder, on_event=looks)
    assert (looks.heard, looks.recorded) == ([(status, outcome.error)], [status])


def test_without_a_journal_the_end_is_told_as_the_caller_gets_it(tmp_path: Path) -> None:
    script(tmp_path, main=["done"])
    looks = LooksAtTheEnd(tmp_path)
    outcome = go(graph(worker("main")), tmp_path, on_event=looks)
    assert (outcome.status, looks.heard, looks.recorded) == ("completed", [("completed", None)], [])


def test_an_end_that_cannot_be_written_is_told_as_an_interruption(tmp_path: Path) -> None:
    script(tmp_path, main=["done"])
    looks = LooksAtTheEnd(tmp_path)
    with keeping(tmp_path, "r1", {}) as recorder:
        with closing(sqlite3.connect(Runs(tmp_path).path("r1"))) as connection:
            connection.execute(NO_END)
        outcome = go(graph(worker("main")), tmp_path, run="r1", recorder=recorder, on_event=looks)
    assert (outcome.status, outcome.output, looks.recorded) == ("interrupted", "done", [])
    assert (outcome.error or "").startswith("how the run ended is not recorded: ")
    assert looks.heard == [("interrupted", outcome.error)]


def test_a_complete_run_is_shown_as_that_though_its_process_still_has_it(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n')
    script(tmp_path, main=["done"])
    run, shown = "20260101T000000000-00000001", []

    def look(event: Event) -> None:
        if isinstance(event, RunFinished):
            shown.append(process(tmp_path, "runs", "show", "last").stdout)

    with keeping(tmp_path, run, {}) as recorder:
        go(graph(worker("main")), tmp_path, run=run, recorder=recorder, on_event=look)
    assert "completed" in shown[0].splitlines()[0], shown
