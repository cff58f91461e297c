"""The taking apart of a ZIP that somebody dropped, in the memory of the browser."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from llmdo.syntax.discovery import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_FILES = 60_000
MOST_BYTES = 64 * 1024 * 1024  # of all contents
SHOWN = 3  # names in a sentence


def unpack(archive: str, folder: str, most: int = MOST_FILES) -> str:
    """Replaces the folder by the content of the archive: `problem`, if it is none, and `sentences` of what is left out.

    The one folder at the top of archives of GitHub is left away. Files larger than llmdo reads are there with one byte
    more than that, so that they are refused for it.
    """
    target = Path(folder)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    left_out: list[str] = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for member, path in _placed(opened.infolist(), most, left_out):
                _write(opened, member, target / path, left_out)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        return json.dumps({"problem": f"this is no ZIP that can be read: {error}", "sentences": []})
    names = ", ".join(f"`{name}`" for name in left_out[:SHOWN])
    more = f" and {len(left_out) - SHOWN:,} more" if len(left_out) > SHOWN else ""
    sentences = (
        [f"Left out of the ZIP for its name, its kind or its size: {names}{more}."] if left_out else []
    )
    return json.dumps({"problem": None, "sentences": sentences})


def _placed(
    members: Sequence[zipfile.ZipInfo], most: int, left_out: list[str]
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files, with their paths below the folder that all of them share."""
    paths = [(member, PurePosixPath(member.filename)) for member in members if not member.is_dir()]
    tops = {path.parts[0] if len(path.parts) > 1 else "" for _, path in paths}
    shared = tops.pop() if len(tops) == 1 else ""
    placed = []
    size = 0
    for member, path in paths:
        size += min(member.file_size, MAX_FILE + 1)
        if _is_strange(member, path) or len(placed) >= most or size > MOST_BYTES:
            left_out.append(member.filename)
            continue
        placed.append((member, path.relative_to(shared) if shared else path))
    return placed


def _is_strange(member: zipfile.ZipInfo, path: PurePosixPath) -> bool:
    """Whether it is a link or encrypted, or its name leads elsewhere."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    return (
        kind not in (0, stat.S_IFREG)
        or bool(member.flag_bits & 1)
        or path.is_absolute()
        or ".." in path.parts
    )


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, left_out: list[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as content:
            path.write_bytes(content.read(MAX_FILE + 1))
    except (OSError, ValueError):  # a file where a folder is to be
        left_out.append(member.filename)
