"""The manifest of a folder, and the nearest folder with one, from one folder upwards.

Without `pathlib`, which an answer from memory cannot afford.
"""

from __future__ import annotations

import os

MANIFEST = "llmdo.toml"

TEAM_FILES = ("team.yaml", "team.md")
"""The names of a file that is a whole team; where a folder has no `llmdo.toml`, the first of them is its manifest."""

_OPENING = 4096
"""The bytes in which the first key of such a file stands: before it come comments alone."""


def nearest(folder: str, name: str, *, is_file: bool = True) -> str | None:
    """The absolute `folder`, or the first above it, that has `name` in it; None if none has.

    With `is_file` only a file of that name counts, or a link to one.
    """
    holds = os.path.isfile if is_file else os.path.exists
    while not holds(f"{folder.rstrip('/')}/{name}"):
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above
    return folder


def nearest_workspace(folder: str) -> str | None:
    """The absolute `folder`, or the first above it, that has a manifest; None if none has."""
    while manifest_in(folder) is None:
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above
    return folder


def manifest_in(folder: str) -> str | None:
    """The name of the manifest in `folder`: `llmdo.toml`, else a team in one file; None if there is none."""
    if os.path.isfile(f"{folder.rstrip('/')}/{MANIFEST}"):  # noqa: PTH113
        return MANIFEST
    return next((name for name in TEAM_FILES if is_team_file(f"{folder.rstrip('/')}/{name}")), None)


def is_manifest(path: str) -> bool:
    """Whether the file at `path` is a manifest of ours by its name, or says that it is a team."""
    return os.path.basename(path) == MANIFEST or is_team_file(path)  # noqa: PTH119


def is_team_file(path: str) -> bool:
    """Whether the file at `path` says that it is a team of llmdo.

    Other tools have files of these names too, so the first key of ours is `team`.
    """
    if not os.path.isfile(path):  # noqa: PTH113
        return False
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return says_team(file.read(_OPENING))
    except OSError:
        return False


def says_team(opening: bytes) -> bool:
    """Whether a text begins with the key `team`, after comments and the line that opens a header."""
    for line in opening.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip() not in (b"", b"---") and not line.lstrip().startswith(b"#"):
            key, colon, _ = line.partition(b":")
            return key.rstrip() == b"team" and bool(colon)
    return False
