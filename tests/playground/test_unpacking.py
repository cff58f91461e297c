"""A ZIP that somebody drops: files below its one folder, and nothing that leads elsewhere."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from playground.unpacking import unpack


def unpacked(
    tmp_path: Path, files: dict[str, bytes | zipfile.ZipInfo]
) -> tuple[dict[str, object], dict[str, bytes]]:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            if isinstance(content, zipfile.ZipInfo):
                archive.writestr(content, b"target")
            else:
                archive.writestr(name, content)
    outcome = json.loads(unpack(str(tmp_path / "a.zip"), str(tmp_path / "out")))
    there = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    return outcome, there


def test_the_folder_that_all_share_is_left_away(tmp_path: Path) -> None:
    outcome, there = unpacked(tmp_path, {"shop-1/a.md": b"a", "shop-1/b/c.md": b"c"})
    assert outcome == {"problem": None, "sentences": []}
    assert there == {"a.md": b"a", "b/c.md": b"c"}
    assert unpacked(tmp_path, {"a.md": b"a", "b/c.md": b"c"})[1] == {"a.md": b"a", "b/c.md": b"c"}


def test_what_leads_elsewhere_is_left_out_and_named(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    outcome, there = unpacked(tmp_path, {"a.md": b"a", "x/../../b.md": b"b", "/c.md": b"c", "link.md": link})
    assert there == {"a.md": b"a"}
    assert not (tmp_path / "b.md").exists()
    assert [name in str(outcome["sentences"]) for name in ("b.md", "c.md", "link.md")] == [True] * 3


def test_a_bomb_is_read_no_further_than_llmdo_reads(tmp_path: Path) -> None:
    _, there = unpacked(tmp_path, {"a/bomb.md": b"0" * 40_000_000, "a/b.md": b"b"})
    assert len(there["bomb.md"]) == 1024 * 1024 + 1


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 broken"])
def test_what_is_no_zip_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    outcome = json.loads(unpack(str(tmp_path / "a.zip"), str(tmp_path / "out")))
    assert str(outcome["problem"]).startswith("this is no ZIP")


def test_more_files_than_are_kept_are_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(25):
            archive.writestr(f"a/{number}", b"")
    outcome = json.loads(unpack(str(tmp_path / "a.zip"), str(tmp_path / "out"), most=20))
    assert "`a/20`, `a/21`, `a/22` and 2 more" in outcome["sentences"][0]
