"""The places of findings: the lines of files, and the folder that a CI service checked out."""

from __future__ import annotations

import os
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmdo.base.cache import Seen


def repository_folder(root: Path, environ: Mapping[str, str]) -> str:
    """The workspace's folder in the repository that a CI service checked out: `agents/`, empty for the top."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        if top := environ.get(name):
            folder = Path(os.path.realpath(root))
            if folder.is_relative_to(os.path.realpath(top)):
                path = folder.relative_to(os.path.realpath(top)).as_posix()
                return "" if path == "." else f"{path}/"
    return ""


def source_lines(root: Path, seen: Seen | None = None) -> Callable[[str], Sequence[str]]:
    """The lines of the workspace's files, each read once; none of a file that changed since `seen`."""

    @once
    def lines(path: str) -> Sequence[str]:
        now: Seen = {}
        source, _ = discovery.read_source(root, path, limit=16 * discovery.MAX_FILE, seen=now)
        if seen and path in seen and now.get(path) != seen[path]:
            return ()  # somebody is writing it: a finding is not shown at a line that it is not about
        return source.text.split("\n")

    return lines
