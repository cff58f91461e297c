"""Journals that were damaged: refused every time, and left as they are; what is only unfinished is not refused."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmdo.journal import Journal, JournalEntry, JournalError, Runs
from llmdo.journal.sqlite.anchor import path_of
from llmdo.journal.sqlite.store import digest_of, open_journal, read_journal
from tests.support.forging import forging
from tests.support.laws import tried
from tests.support.work import observed

if TYPE_CHECKING:
    pass

ENTRIES, ANCHORED = 20, 12
"""How many commits the journal has, and of which one it was said that it has to be there."""


def filled(root: Path, *, is_closed: bool = False) -> Path:
    """A journal whose process was killed, so that all of it is in its log; or one that was closed."""
    (root / "live").mkdir()
    source = Runs(root / "live").create("r")
    for step in range(1, ENTRIES + 1):
        source.add(
            JournalEntry(path="main", kind="request", step=step, body=b'{"step":%d}' % step),
            {digest_of(b"x"): b"x"},
        )
        source.commit("anchored" if step == ANCHORED else "written")
    folder = root / "killed"
    folder.mkdir()
    if is_closed:
        source.close()
    for file in source.path.parent.glob("r.sqlite*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, folder)
    source.close()
    return folder / "r.sqlite"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("killed"))


def copied(journal: Path, folder: Path) -> Path:
    for file in journal.parent.glob("r.sqlite*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, folder)
    return folder / "r.sqlite"


def bytes_of(journal: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in journal.parent.glob("r.sqlite*")
        if not file.name.endswith("-shm") and file.stat().st_size
    }


def steps(journal: Path) -> list[int]:
    with open_journal(journal) as opened:
        return [entry.data["step"] for entry in opened.entries()]


def test_what_a_killed_process_left_is_whole(killed: Path, tmp_path: Path) -> None:
    assert steps(copied(killed, tmp_path)) == list(range(1, ENTRIES + 1))


def frames(log: bytes) -> list[int]:
    """Where each frame of a log ends."""
    size = 24 + int.from_bytes(log[8:12], "big")
    return list(range(32, len(log) + 1, size))


def refused(journal: Path) -> None:
    """Nobody takes the journal for whole, how often ever, and it is left as it is."""
    before = bytes_of(journal)
    for _ in range(3):
        with pytest.raises(JournalError):
            open_journal(journal)
        with pytest.raises(JournalError), read_journal(journal) as read:
            read.copy_to(journal.with_name("copy.sqlite"))
    assert bytes_of(journal) == before


@tried(40)
@given(st.data())
def test_a_flipped_bit_in_what_is_anchored_is_refused_every_time(killed: Path, data: st.DataObject) -> None:
    with Scratch() as folder:
        journal = copied(killed, folder)
        log = journal.with_name("r.sqlite-wal")
        content = bytearray(log.read_bytes())
        end = anchored_end(journal)
        at = data.draw(st.integers(32, end - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
        log.write_bytes(content)
        refused(journal)


@tried(40)
@given(st.data())
def test_a_flipped_bit_after_it_is_a_shorter_run_and_never_another_one(
    killed: Path, data: st.DataObject
) -> None:
    with Scratch() as folder:
        journal = copied(killed, folder)
        log = journal.with_name("r.sqlite-wal")
        content = bytearray(log.read_bytes())
        at = data.draw(st.integers(anchored_end(journal), len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
        log.write_bytes(content)
        number = len(steps(journal))
        assert ANCHORED <= number < ENTRIES
        assert steps(journal) == list(range(1, number + 1))


@pytest.mark.long
def test_a_log_that_was_cut_is_refused_before_the_anchor_and_taken_after_it(
    killed: Path, tmp_path: Path
) -> None:
    log = killed.with_name("r.sqlite-wal").read_bytes()
    end = anchored_end(killed)
    for number, at in enumerate([*frames(log), len(log) - 100]):
        folder = tmp_path / str(number)
        folder.mkdir()
        journal = copied(killed, folder)
        journal.with_name("r.sqlite-wal").write_bytes(log[:at])
        if at < end:
            refused(journal)
        else:
            assert len(steps(journal)) >= ANCHORED


def anchored_end(journal: Path) -> int:
    """Where in the log the transaction ends that the anchor was put down after."""
    log = journal.with_name("r.sqlite-wal").read_bytes()
    ends = [end for end in frames(log)[1:] if any(log[end - 4096 - 24 + 4 : end - 4096 - 24 + 8])]
    tables = len(ends) - ENTRIES  # the tables were made before the first entry
    return ends[tables + ANCHORED - 1]


class Scratch:
    """A new folder for each try of a law."""

    def __enter__(self) -> Path:
        from tempfile import TemporaryDirectory

        self._folder = TemporaryDirectory()
        return Path(self._folder.__enter__())

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()


@pytest.mark.parametrize("gone", ["-wal", ".anchor"])
def test_a_file_beside_it_that_is_gone_is_missed(killed: Path, tmp_path: Path, gone: str) -> None:
    journal = copied(killed, tmp_path)
    journal.with_name(f"r.sqlite{gone}").unlink()
    refused(journal)


def test_an_anchor_of_which_one_write_was_cut_off_is_the_one_before(killed: Path, tmp_path: Path) -> None:
    journal = copied(killed, tmp_path)
    anchor = path_of(journal)
    content = anchor.read_bytes()
    for half in (slice(0, 512), slice(512, 1024)):
        torn = bytearray(content)
        torn[half] = b"\0" * 512
        anchor.write_bytes(torn)
        assert len(steps(copied(journal, fresh(tmp_path)))) == ENTRIES
    anchor.write_bytes(b"\0" * 1024)
    refused(journal)


def fresh(folder: Path) -> Path:
    folder_copy = folder / f"fresh{len(list(folder.iterdir()))}"
    folder_copy.mkdir()
    return folder_copy


EDITS: dict[str, tuple[str, str]] = {
    "a body": ("UPDATE entry SET body = CAST('{\"step\":9}' AS BLOB) WHERE seq = 3", "entry 3"),
    "an outcome": ("UPDATE entry SET outcome = 'success' WHERE seq = 3", "entry 3"),
    "a time": ("UPDATE entry SET at = at + 1 WHERE seq = 3", "entry 3"),
    "a path": ("UPDATE entry SET path = 'other' WHERE seq = 3", "entry 3"),
    "a gap": ("DELETE FROM entry WHERE seq = 3", "entry 4 follows entry 2"),
    "another order": ("UPDATE entry SET seq = 99 - seq", "held more of the run"),
    "a type": ("UPDATE entry SET body = 'text' WHERE seq = 3", "entry 3"),
    "no number": ("UPDATE entry SET head = x'00' WHERE seq = 3", "entry 3"),
    "a content": ("UPDATE content SET bytes = x'00'", "is not what it was"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_found_wherever_it_is(killed: Path, tmp_path: Path, edit: str) -> None:
    journal = copied(killed, tmp_path)
    statement, problem = EDITS[edit]
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(JournalError, match=problem):
        open_journal(journal)
    refused(journal)


def test_entries_that_were_chained_anew_are_not_those_of_the_anchor(killed: Path, tmp_path: Path) -> None:
    journal = copied(killed, tmp_path)
    with forging(journal) as connection:
        connection.execute("UPDATE entry SET body = CAST('{\"step\":9}' AS BLOB) WHERE seq = 3")
    read_journal(journal, whole=True).close()
    path_of(journal).write_bytes(path_of(killed).read_bytes())
    with pytest.raises(JournalError, match="held more of the run"):
        read_journal(journal)


@tried(150)
@given(st.integers(0, 10**9), st.integers(0, 255))
@example(at=4058, put=128)  # in the name of a table, which SQLite's message quotes
def test_whatever_byte_of_a_file_changes_it_is_refused_or_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, at: int, put: int
) -> None:
    whole = exported(tmp_path_factory)
    content = bytearray(whole.read_bytes())
    content[at % len(content)] = put
    with Scratch() as folder:
        file = folder / "r.sqlite"
        file.write_bytes(content)
        with suppress(JournalError), read_journal(file, whole=True) as journal:
            assert [entry.data["step"] for entry in journal.entries()] == list(range(1, ENTRIES + 1))
            assert journal.content(digest_of(b"x")) == b"x"


EXPORTED: list[Path] = []


def exported(factory: pytest.TempPathFactory) -> Path:
    if not EXPORTED:
        folder = factory.mktemp("exported")
        with read_journal(filled(folder)) as journal:
            journal.copy_to(folder / "r.sqlite")
        EXPORTED.append(folder / "r.sqlite")
    return EXPORTED[0]


def redact(text: bytes) -> bytes:
    return text.replace(b"secret", b"[redacted]")


def test_an_export_takes_secrets_out_and_its_chain_still_holds(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        journal.add(JournalEntry(path="main", kind="request", step=1, body=b'{"said":"a secret"}'))
        journal.add(
            JournalEntry(path="main", kind="request", step=2), {digest_of(b"my secret"): b"my secret"}
        )
        journal.commit()
        journal.copy_to(tmp_path / "copy.sqlite", without_secrets=redact)
    exported = (tmp_path / "copy.sqlite").read_bytes()
    assert b"a secret" not in exported
    assert b"my secret" not in exported
    with read_journal(tmp_path / "copy.sqlite", whole=True) as copy:
        assert (list(copy.faults()), copy.redacted()) == ([], 2)
        assert [entry.body for entry in copy.entries()] == [b'{"said":"a [redacted]"}', b"{}"]
        assert copy.get("main", "request", 2) is not None
        for needed in (lambda: copy.get("main", "request"), lambda: copy.content(digest_of(b"my secret"))):
            with pytest.raises(JournalError, match="is needed, and the export took"):
                needed()
        copy.copy_to(tmp_path / "again.sqlite", without_secrets=redact)
    with read_journal(tmp_path / "again.sqlite", whole=True) as again:
        assert again.redacted() == 2


FORCE = getattr(os, "fdatasync", os.fsync)


def test_each_hold_forces_what_it_says(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal, observed(FORCE) as forced:
        log, beside = "llmdo.journal.sqlite.store", "llmdo.journal.sqlite.anchor"
        for step, (hold, expected) in enumerate(
            [("written", []), ("forced", [log]), ("anchored", [log, beside]), ("written", [])]
        ):
            journal.add(JournalEntry(path="main", kind="request", step=step))
            journal.commit(hold)  # type: ignore[arg-type]
            assert forced == expected, hold
            forced.clear()
        journal.commit("forced")
        assert forced == [log], "what was written before is forced though nothing is new"
        journal.commit("anchored")
        journal.commit("anchored")
        assert forced == [log, beside]


def test_a_journal_is_opened_again_from_where_it_was(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    for step in (ENTRIES + 1, ENTRIES + 2):
        with open_journal(journal) as opened:
            opened.add(
                JournalEntry(path="main", kind="request", step=step, body=json.dumps({"step": step}).encode())
            )
            opened.commit()
    assert steps(journal) == list(range(1, ENTRIES + 3))


def test_a_run_taken_from_elsewhere_has_an_anchor_once_it_goes_on(tmp_path: Path) -> None:
    with read_journal(filled(tmp_path)) as journal:
        journal.copy_to(tmp_path / "copy.sqlite")
    with open_journal(tmp_path / "copy.sqlite") as copy:
        copy.add(JournalEntry(path="main", kind="request", step=99))
        copy.commit()
        assert isinstance(copy, Journal)
        assert path_of(copy.path).exists()
