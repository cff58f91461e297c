"""A file that anybody may have written is read within bounds, as it was when it was opened."""

from __future__ import annotations

from pathlib import Path

from llmdo.journal.line_file import MOST_BYTES, LineFile


def test_a_line_that_is_being_written_stays_half_of_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"whole\nha")
    file = LineFile(str(path))
    lines = file.lines()
    assert [next(lines), next(lines)] == [b"whole", b"ha"]
    with path.open("ab") as more:
        more.write(b"lf\nlater\n")
    assert ([*lines], file.is_open, file.faults) == ([], True, [])


def test_of_a_line_that_is_too_long_there_is_a_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 100 + b"\nb\n" + b"c" * 10)
    file = LineFile(str(path), 10)
    assert [*file.lines()] == [b"x" * 10, b"b", b"c" * 10]
    assert (file.is_open, file.faults) == (True, [])


def test_a_file_that_is_too_long_is_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x\n" + b"y" * MOST_BYTES)
    file = LineFile(str(path), 10)
    assert ([*file.lines()], file.is_open) == ([b"x", b"y" * 10], False)
    assert file.faults == ["only its first 64 MiB were read"]
    few = LineFile(str(path), 10, 1)
    assert ([*few.lines()], few.faults) == ([b"x"], ["only its first 1 lines were read"])
