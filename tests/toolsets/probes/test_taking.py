"""Whether a worker may take a run with calls that did not finish: both stores say the same, as probes are asked first."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.journal import NotOpenError
from llmdo.journal.entries import JournalEntry
from llmdo.journal.opening import runs_of
from llmdo.journal.stored import RunIndex
from llmdo.journal.unsettled import unsettled

STARTED, OFFERS = ("started", 1, ""), ("started", 1, "probe")
DONE, BROKEN = ("finished", 1, "success"), ("finished", 1, "error")
UNKNOWN, NONE = ("probed", 1, "not known"), ("probed", 1, "no effect")

A, BELOW, B = "main/a#1", "main/a#1/b#1", "main/b#1"
CASES = {
    "a tool without a probe": ([(A, STARTED)], [A], [A]),
    "a tool with one": ([(A, OFFERS)], [], []),
    "one that finished": ([(A, STARTED), (A, DONE)], [], []),
    "a probe that did not know": ([(A, OFFERS), (A, UNKNOWN)], [A], []),
    "a probe that saw no effect": ([(A, OFFERS), (A, NONE)], [], []),
    "a probe that did not know of the execution before": (
        [(A, OFFERS), (A, BROKEN), (A, UNKNOWN), (A, ("started", 2, "probe"))],
        [],
        [],
    ),
    "a probe of another call that did not know": ([(A, OFFERS), (B, OFFERS), (B, UNKNOWN)], [B], []),
    "one of two": ([(A, OFFERS), (B, STARTED)], [B], [B]),
    "a call below one that is over": ([(A, OFFERS), (BELOW, STARTED), (A, DONE)], [], []),
    "a call below one that may run again": ([(A, OFFERS), (BELOW, STARTED), (A, BROKEN)], [BELOW], [BELOW]),
    "one whose name begins as that of one that is over": (
        [(A, DONE), (f"{A}1", STARTED)],
        [f"{A}1"],
        [f"{A}1"],
    ),
}
"""Entries; the calls that only a person can decide about; and those that are left where probes are asked again."""


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.fleet)])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> RunIndex:
    """The runs of a store."""
    (tmp_path / "llmdo.toml").write_text("schema = 1\n")
    environ = {} if request.param == "files" else {"LLMDO_STORE": request.getfixturevalue("store")}
    index = runs_of(tmp_path, environ)
    index.prepare()
    return index


def test_a_worker_takes_what_no_person_has_to_decide_about(runs: RunIndex) -> None:
    for number, (name, (entries, left, still)) in enumerate(CASES.items()):
        run = f"20261122T10150012{number % 10}-5f0c1a{number:02x}"
        with runs.claim(run), runs.create(run) as journal:
            journal.add(JournalEntry(path="main", kind="run", step=1))
            for path, (kind, step, outcome) in entries:
                journal.add(JournalEntry(path=path, kind=kind, step=step, outcome=outcome))  # type: ignore[arg-type]
            journal.commit()
            assert sorted(unsettled(journal)) == left, name
            assert sorted(unsettled(journal, asks_again=True)) == still, name
        if left:
            with pytest.raises(NotOpenError, match="unsure"), runs.claim(run, by="worker"):
                pass
        else:
            with runs.claim(run, by="worker"):
                pass
