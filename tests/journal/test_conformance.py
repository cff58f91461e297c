"""What every store behind the ports of the journal keeps to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import JournalEntry, JournalError, Kind, NotOpenError, RunIndex, Runs, audit, read_journal
from llmdo.journal.opening import runs_of
from llmdo.journal.secrets import Known

from .commit_log import CommitLog, CommitLogs

STORES: dict[str, Callable[[Path], RunIndex]] = {"sqlite": Runs, "commit log": CommitLogs}
"""The index of the runs in a folder, for each store of files."""


@pytest.fixture(params=[*STORES, pytest.param("postgres", marks=pytest.mark.fleet)])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> RunIndex:
    if request.param in STORES:
        return STORES[request.param](tmp_path)
    address: str = request.getfixturevalue("store")
    return runs_of(tmp_path, {"LLMDO_STORE": address})


def called(
    step: int, kind: Kind = "call", path: str = "main", body: bytes = b'{"input":"x"}'
) -> JournalEntry:
    return JournalEntry(path=path, kind=kind, step=step, body=body)


def test_what_was_committed_is_there_in_its_order_for_whoever_opens_it_again(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        for entry in (called(2), called(1), called(1, "return", "main/helper#1")):
            journal.add(entry)
        journal.commit()
    with runs.open("r") as journal:
        assert [(entry.path, entry.kind, entry.step) for entry in journal.entries()] == [
            ("main", "call", 2),
            ("main", "call", 1),
            ("main/helper#1", "return", 1),
        ]
        assert [entry.step for entry in journal.entries("call", below="main")] == []
        assert [entry.kind for entry in journal.entries(below="main")] == ["return"]
        assert [entry.kind for entry in journal.entries(at="main")] == ["call", "call"]
        assert [entry.kind for entry in journal.entries("return", at="main/helper#1")] == ["return"]
        assert [row.number for row in journal.after(1)] == [2, 3]
        assert journal.counted() == {"call": 2, "return": 1}
        assert journal.count("main", "call") == 2
        last = journal.last("call")
        assert last is not None
        assert (last.step, last.data) == (1, {"input": "x"})
        assert [row.entry.kind for row in journal.after(2, "return", "call")] == ["return"]


def test_what_is_added_can_be_got_before_it_is_committed_and_is_lost_without(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        added = journal.add(called(1))
        assert journal.has_uncommitted
        assert journal.get("main", "call") == added
        assert [*journal.entries()] == []
        assert journal.get("main", "call", 2) is None
    with runs.open("r") as journal:
        assert journal.get("main", "call") is None
        assert not journal.has_uncommitted


def test_contents_are_kept_by_what_they_are(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        journal.add(called(1), {"of a file": b"\x00\x01"})
        name = journal.name_of(b"\x00\x01")
        assert journal.content(name) == b"\x00\x01"
        journal.commit()
    with runs.read("r") as journal:
        assert journal.content(name) == b"\x00\x01"
        with pytest.raises(JournalError):
            journal.content(journal.name_of(b"another"))


def test_the_audit_is_a_chain_of_what_the_entries_say(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        journal.add(called(1, "session", body=b'{"run":"r","mode":"prompt"}'))
        journal.add(called(1))
        journal.add(called(1, "decision", "main/a#1", b'{"tool":"a","arguments":{"x":1}}'))
        journal.add(called(1, "end", body=b'{"run":"r"}'))
        assert [*journal.lines()] == [], "nothing is committed yet"
        journal.commit()
    with runs.read("r", whole=True) as journal:
        read = audit.read(journal.lines())
        assert [record["kind"] for record in read.records] == ["run_started", "decided", "run_finished"]
        assert [record["entries"] for record in read.records] == [1, 3, 4]
        assert [record["entries_head"] for record in read.records] == [
            row.head for row in journal.rows() if row.entry.kind != "call"
        ]
        assert read.faults == ()
        assert [*journal.kept_lines()] == []
        assert [*journal.lines()] == [*journal.lines()], "however often it is read"
        assert [*journal.faults()] == []


def test_a_secret_is_not_in_what_is_kept_and_comes_back_to_whoever_knows_it(runs: RunIndex) -> None:
    known = Known.of({"A_KEY": "correct-horse-battery"})
    with runs.create("r") as journal:
        journal.know(known)
        added = journal.add(called(1, body=b'{"input":"correct-horse-battery"}'))
        assert b"correct" not in added.body
        journal.commit()
    assert not any(b"correct" in path.read_bytes() for path in runs.folder.iterdir())
    with runs.open("r") as journal:
        entry = journal.get("main", "call")
        assert entry is not None
        assert "correct" not in str(entry.data)
        journal.know(known)
        assert journal.whole(entry) == journal.for_output(entry) == {"input": "correct-horse-battery"}


def test_all_that_is_written_can_be_kept_better(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        journal.add(called(1))
        journal.commit("written")
        wanted = journal.written
        assert journal.needs_force(wanted, "anchored")
        journal.force("anchored")
        assert not journal.needs_force(wanted, "anchored")


def test_a_copy_has_what_was_committed_and_one_entry_more(runs: RunIndex, tmp_path: Path) -> None:
    with runs.create("r") as journal:
        journal.add(called(1))
        journal.commit()
        journal.add(called(2))
        copy = runs.path("copied")
        journal.copy_to(copy, [called(3)], without_secrets=lambda body: body.replace(b"x", b"y"))
    with CommitLog(copy) if isinstance(runs, CommitLogs) else read_journal(copy, whole=True) as journal:
        journal.require_whole()
        assert [(entry.step, entry.is_redacted) for entry in journal.entries()] == [(1, True), (3, False)]
        assert journal.redacted() == 1


def test_a_copy_names_the_secrets_that_are_not_in_it(runs: RunIndex) -> None:
    copy = runs.path("copied")
    with runs.create("r") as journal:
        journal.know(Known.of({"A_KEY": "correct-horse-battery"}))
        journal.add(called(1, body=b'{"input":"correct-horse-battery"}'), {"f": b"correct-horse-battery"})
        journal.commit()
        journal.copy_to(copy)
    with CommitLog(copy) if isinstance(runs, CommitLogs) else read_journal(copy, whole=True) as journal:
        journal.require_whole()
        assert [entry.data for entry in journal.entries()] == [{"input": "[redacted A_KEY]"}]
        assert journal.redacted() == 2
        assert journal.secrets.registered == []


def test_another_run_is_read_beside_a_journal(runs: RunIndex) -> None:
    for name in ("r", "before"):
        with runs.create(name) as journal:
            journal.add(called(len(name)))
            journal.commit()
    with runs.read("r") as journal:
        before = journal.sibling("before")
        assert before is not None
        with before:
            assert [entry.step for entry in before.entries()] == [6]
        assert journal.sibling("other") is None
        with pytest.raises(LlmdoError):
            journal.sibling("../r")


def test_runs_are_listed_as_they_came_and_found_by_a_part_of_their_id(runs: RunIndex) -> None:
    for name in ("b1", "a2"):
        runs.create(name).close()
    assert runs.names() == runs.unbegun() == ["b1", "a2"]
    assert (runs.has("a2"), runs.has("a")) == (True, False)
    assert (runs.find("a"), runs.find("1"), runs.find("last")) == ("a2", "b1", "a2")
    assert [journal.run for journal in runs.each()] == ["b1", "a2"]
    with pytest.raises(JournalError):
        runs.create("b1")
    with pytest.raises(LlmdoError):
        runs.find("c")
    runs.remove("b1")
    assert runs.names() == ["a2"]


def test_one_process_at_a_time_has_a_run(runs: RunIndex) -> None:
    runs.create("r").close()
    with runs.claim("r"):
        assert runs.is_claimed("r")
        with pytest.raises(JournalError, match="another process"):
            runs.claim("r")
        with pytest.raises(JournalError):
            runs.remove("r")
    assert not runs.is_claimed("r")


@pytest.mark.few(13)
@pytest.mark.parametrize(
    ("added", "status"),
    [
        ([], None),
        ([("session", "")], None),
        ([("session", ""), ("end", "completed")], "completed"),
        ([("session", ""), ("end", "failed")], "failed"),
        ([("session", ""), ("end", "interrupted")], None),
        ([("session", ""), ("end", "failed"), ("session", "")], None),
        ([("session", ""), ("asked", ""), ("end", "waiting")], "waiting"),
        ([("session", ""), ("asked", ""), ("end", "waiting"), ("answered", "denied")], None),
        ([("session", ""), ("started", "")], "unsure"),
        ([("session", ""), ("started", ""), ("end", "interrupted")], "unsure"),
        ([("session", ""), ("started", ""), ("finished", "success")], None),
        ([("session", ""), ("started", ""), ("end", "completed")], "completed"),
    ],
)
def test_a_worker_takes_what_goes_on_by_itself_and_a_person_what_nobody_has(
    runs: RunIndex, added: list[tuple[Kind, str]], status: str | None
) -> None:
    bodies = {"answered": b'{"allowed":false,"expires":null}'}
    with runs.create("r") as journal:
        for number, (kind, outcome) in enumerate(added):
            step = 1 + sum(kind == before for before, _ in added[:number])
            body = bodies.get(kind, b"{}")
            journal.add(JournalEntry(path="main/pay#1", kind=kind, step=step, outcome=outcome, body=body))
            journal.commit()
    if status is None:
        with runs.claim("r", by="worker"), pytest.raises(JournalError, match="another process"):
            runs.claim("r", by="worker")
    else:
        with pytest.raises(NotOpenError) as refused:
            runs.claim("r", by="worker")
        assert refused.value.status == status
        assert not runs.is_claimed("r")
    with runs.claim("r"):
        assert runs.is_claimed("r")


def test_a_run_that_ended_for_lack_of_quota_goes_on(runs: RunIndex) -> None:
    with runs.create("r") as journal:
        body = b'{"out_of_quota":true}'
        journal.add(JournalEntry(path="main", kind="end", step=1, outcome="failed", body=body))
        journal.commit()
    with runs.claim("r", by="worker"):
        assert runs.is_claimed("r")
