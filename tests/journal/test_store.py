"""The files of journals: complete or refused, one process at a time, and nobody else's to read."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.journal import JournalEntry, JournalError, Runs
from llmdo.journal.audit import Link
from llmdo.journal.entries import StoreError
from llmdo.journal.questions import waiting
from llmdo.journal.sqlite.connection import OLDEST, VERSION
from llmdo.journal.sqlite.store import create_journal, digest_of, open_journal, read_journal
from llmdo.journal.stored import linked
from tests.support import forking


def entry(path: str = "main", step: int = 1, body: bytes = b"{}") -> JournalEntry:
    return JournalEntry(path=path, kind="request", step=step, body=body)


def test_no_two_entries_have_the_same_place_in_the_chain() -> None:
    texts = itertools.product(("", "a", "a b", "1"), repeat=4)
    entries = [
        JournalEntry(path=path, kind=kind, step=step, outcome=outcome, digest=digest, at=at)  # type: ignore[arg-type]
        for path, kind, outcome, digest in texts
        for step, at in ((1, 1.0), (11, 1.0), (1, 11.0))
    ]
    heads = {linked(entry, body, Link()).head for entry in entries for body in ("", "a", "1")}
    assert len(heads) == 3 * len(entries)


def filled(tmp_path: Path, entries: int = 3) -> Path:
    """The file of a closed journal."""
    with Runs(tmp_path).create("r") as journal:
        for step in range(entries):
            journal.add(entry(step=step), {digest_of(b"x"): b"x"})
        journal.commit()
    return journal.path


def test_what_was_committed_is_there_in_its_order(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        for path in ("b", "a/x#1", "a"):
            journal.add(entry(path))
        request = journal.get("a", "request")
        assert request is not None
        assert replace(request, at=0.0) == entry("a")
        assert not list(journal.entries())
        journal.commit()
        journal.add(entry("lost"))
    with Runs(tmp_path).read("r") as journal:
        assert [stored.path for stored in journal.entries()] == ["b", "a/x#1", "a"]
        assert [stored.path for stored in journal.entries(below="a")] == ["a/x#1"]
        assert [stored.path for stored in journal.entries("call")] == []
        assert journal.get("lost", "request") is None


def test_nothing_that_is_recorded_can_be_recorded_again(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        journal.add(entry())
        journal.commit()
        journal.add(entry("new"))
        journal.add(entry())
        with pytest.raises(JournalError, match="UNIQUE"):
            journal.commit()
    with Runs(tmp_path).read("r") as journal:
        assert [stored.path for stored in journal.entries()] == ["main"]


def test_questions_come_in_the_order_of_their_calls_not_of_their_arrival(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        for call in ("w#10", "w#2", "a#b#3", "w#1/shell", "w#1"):
            journal.add(JournalEntry(path=f"main/{call}", kind="asked", step=1, body=b"{}"))
        journal.commit()
        ordered = [path.removeprefix("main/") for path in waiting(journal)]
    assert ordered == ["a#b#3", "w#1", "w#1/shell", "w#2", "w#10"]


def test_only_its_owner_may_read_a_journal_and_git_does_not_see_it(tmp_path: Path) -> None:
    path = filled(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (tmp_path / ".llmdo" / ".gitignore").read_text() == "*\n"


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.commit()
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    text = tmp_path / "text.sqlite"
    text.write_text("not a journal" * 100)
    link = tmp_path / "link.sqlite"
    link.symlink_to(filled(tmp_path))
    for path, problem in (
        (other, "is not a journal"),
        (empty, "is not a journal"),
        (text, "damaged"),
        (link, "file"),
    ):
        for opened in (open_journal, read_journal):
            with pytest.raises(JournalError, match=problem):
                opened(path)


def test_a_journal_with_a_trigger_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END")
    with pytest.raises(JournalError, match="is not a journal"):
        open_journal(path)


@pytest.mark.parametrize("version", [OLDEST - 1, VERSION + 1])
def test_another_version_is_refused(tmp_path: Path, version: int) -> None:
    path = filled(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(JournalError, match=f"this llmdo reads version {VERSION}"):
        read_journal(path)


@pytest.mark.parametrize("damage", ["cut", "zeroed"])
def test_a_damaged_file_is_reported_as_damaged(tmp_path: Path, damage: str) -> None:
    path = filled(tmp_path, 500)
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(content[:4096] + b"\0" * 8192 + content[12288:])
    with pytest.raises(JournalError, match="damaged"):
        open_journal(path)


def test_what_a_killed_process_did_not_commit_is_gone_and_the_rest_is_there(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from llmdo.journal import JournalEntry, Runs
journal = Runs(Path({str(tmp_path)!r})).create("r")
for step in range(20):
    journal.add(JournalEntry(path="main", kind="request", step=step))
    journal.commit()
journal._connection.execute("BEGIN")
journal._connection.execute("DELETE FROM entry")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    with Runs(tmp_path).open("r") as journal:
        assert [stored.step for stored in journal.entries()] == list(range(20))


DYING = """
import os, signal, sqlite3, sys
from pathlib import Path
from llmdo.journal import Runs
left = int(sys.argv[1])
def trace(statement):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
connect = sqlite3.connect
def traced(*arguments, **named):
    connection = connect(*arguments, **named)
    connection.set_trace_callback(trace)
    return connection
sqlite3.connect = traced
Runs(Path.cwd()).create("r1").close()
print("made")
"""


@pytest.mark.long
def test_whoever_is_killed_while_a_journal_is_made_leaves_a_whole_one_or_none(tmp_path: Path) -> None:
    runs, is_made = Runs(tmp_path), False
    for statement in itertools.count(1):
        done = forking.run([sys.executable, "-c", DYING, str(statement)], cwd=tmp_path, stdout=-1, text=True)
        for name in runs.names():
            with runs.open(name) as journal:
                assert list(journal.entries()) == []
            runs.discard(name)
        runs.create("r1").close()
        runs.discard("r1")
        assert [path.name for path in runs.folder.iterdir()] == []
        if "made" in done.stdout:
            is_made = statement > 5
            break
    assert is_made


CLAIMING = """
import os, time
from pathlib import Path
from llmdo.journal.sqlite.folder import Claim, is_claimed
log = os.open("log", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
end = time.monotonic() + 2
while time.monotonic() < end:
    is_claimed(Path("r1.lock"))
    if claim := Claim.take(Path("r1.lock")):
        os.write(log, b"+")
        os.write(log, b"-")
        claim.give_back()
"""


@pytest.mark.long
def test_no_two_processes_have_a_run_however_often_it_changes_hands(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CLAIMING]
    processes = [forking.Popen(words, cwd=tmp_path, stderr=-1, text=True) for _ in range(4)]
    assert [process.communicate()[1] for process in processes] == [""] * 4
    log = (tmp_path / "log").read_text()
    assert len(log) > 100
    assert log == "+-" * (len(log) // 2)


def test_what_is_left_of_a_removed_journal_is_no_part_of_a_new_one(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.create("r1") as journal:
        journal.add(entry())
        journal.commit()
        backup = tmp_path / "kept"
        shutil.copytree(runs.folder, backup)
    runs.discard("r1")
    for left in backup.glob(
        "r1.sqlite-*"
    ):  # as a process leaves it that is killed while it removes a journal
        shutil.copy(left, runs.folder)
    with runs.create("r1") as journal:
        assert list(journal.entries()) == []
    with runs.open("r1") as journal:
        assert list(journal.entries()) == []


def test_a_journal_is_the_first_that_goes_when_a_run_is_removed(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    runs.create("r1").close()
    (runs.folder / "r1.stuck").mkdir()  # which cannot be removed like a file
    with pytest.raises(JournalError):
        runs.discard("r1")
    assert runs.names() == []


def test_a_run_belongs_to_one_process(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    filled(tmp_path)
    script = f"""
import sys
from pathlib import Path
from llmdo.journal import Runs
with Runs(Path({str(tmp_path)!r})).claim("r"):
    print("claimed", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "claimed\n"
        assert runs.is_claimed("r")
        with pytest.raises(JournalError, match="another process is using run `r`"):
            runs.claim("r")
        with pytest.raises(JournalError, match="another process"):
            runs.remove("r")
        other.kill()
    assert not runs.is_claimed("r")
    with runs.claim("r"), pytest.raises(JournalError, match="another process"):
        runs.claim("r")
    runs.remove("r")
    assert list(runs.folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    path = filled(tmp_path)
    tmp_path.chmod(0o500)
    path.parent.chmod(0o500)
    try:
        with pytest.raises(JournalError, match="Permission denied") as refused:
            Runs(tmp_path).create("other")
        assert "--no-journal" in (refused.value.hint or "")
        with Runs(tmp_path).read("r") as journal:
            assert len(list(journal.entries())) == 3
    finally:
        tmp_path.chmod(0o700)
        path.parent.chmod(0o700)


def test_sources_that_are_a_link_are_removed_and_not_followed(tmp_path: Path) -> None:
    runs, elsewhere = Runs(tmp_path), tmp_path / "else"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("kept")
    runs.create("r").close()
    runs.sources("r").symlink_to(elsewhere)
    runs.remove("r")
    assert (runs.sources("r").is_symlink(), (elsewhere / "kept.txt").read_text()) == (False, "kept")


def test_a_folder_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".llmdo").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match="is a link"):
        Runs(tmp_path / "w").create("r")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def begun(runs: Runs, name: str) -> None:
    """Leaves a journal with a run in it."""
    with runs.create(name) as journal:
        journal.add(JournalEntry(path="main", kind="run", step=1))
        journal.commit()


def test_a_run_is_found_by_what_only_its_id_holds(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    assert runs.names() == []
    for name in ("20260101T000000-aa", "20260102T000000-ab"):
        begun(runs, name)
    assert runs.find("last") == "20260102T000000-ab"
    assert runs.find("aa") == runs.find("20260101") == "20260101T000000-aa"
    for part, problem in (("2026", "may be 2 runs"), ("zz", "there is no run"), ("../x", "there is no run")):
        with pytest.raises(LlmdoError, match=problem):
            runs.find(part)
    with pytest.raises(LlmdoError, match="not the id"):
        runs.path("../x")


def test_the_last_run_is_the_one_that_began_last_whatever_the_clock_said(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    for name in ("20260102T000000-a", "20260103T000000-b", "20260101T000000-c"):
        begun(runs, name)
    assert runs.names() == ["20260102T000000-a", "20260103T000000-b", "20260101T000000-c"]
    assert runs.find("last") == "20260101T000000-c"
    runs.remove("20260101T000000-c")
    assert runs.find("last") == "20260103T000000-b"
    (runs.folder / "order").unlink()
    begun(runs, "20260101T000000-d")
    assert runs.names() == ["20260102T000000-a", "20260103T000000-b", "20260101T000000-d"]


def test_a_journal_without_a_run_is_not_the_last_one(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    begun(runs, "a")
    runs.create("b").close()
    assert runs.find("last") == "a"
    assert runs.unbegun() == ["b"]
    with runs.claim("b"):
        assert runs.unbegun() == []


def test_content_that_is_not_what_it_was_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE content SET bytes = x'00'")
    with read_journal(path) as journal, pytest.raises(JournalError, match="is not what it was"):
        journal.content(digest_of(b"x"))


def test_an_existing_file_is_never_taken_for_a_new_journal(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with pytest.raises(JournalError, match="File exists"):
        create_journal(path)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
def test_a_journal_that_was_removed_or_replaced_is_not_written_to(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        journal.add(entry())
        journal.commit()
        other = tmp_path / "other"
        shutil.copy(journal.path, other)
        journal.add(entry("b"))
        journal.path.unlink()
        with pytest.raises(JournalError, match="was removed or replaced"):
            journal.commit()
        other.rename(journal.path)
        with pytest.raises(JournalError, match="was removed or replaced"):
            journal.commit()


@pytest.fixture
def descriptors() -> Iterator[Callable[[int], None]]:
    """Leaves this process so many files that it may open, until the test is over."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def leave(number: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        free = os.open(os.devnull, os.O_RDONLY)  # the lowest that is
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + number, before[1]))

    yield leave
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_where_nothing_can_be_opened_the_store_failed_and_the_run_is_not_free(
    tmp_path: Path, descriptors: Callable[[int], None]
) -> None:
    runs = Runs(tmp_path)
    runs.create("a").close()
    failures = []
    with runs.claim("a"):
        for number in range(8):
            descriptors(number)
            for ask in (runs.read, runs.open, runs.is_claimed):
                try:
                    answer = ask("a")
                except StoreError as error:
                    failures.append(error.message)
                else:
                    assert answer is True or answer.close() is None  # type: ignore[union-attr]
        for sign in ("cannot read", "unable to open"):
            assert any(sign in text for text in failures)
        descriptors(0)
        with pytest.raises(StoreError):
            runs.claim("a")
        with pytest.raises(JournalError) as gone:
            runs.read("b")
        assert not isinstance(gone.value, StoreError)
        assert not runs.is_claimed("b")
