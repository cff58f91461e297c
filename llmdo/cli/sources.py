"""Where findings are: the lines of files, and the folder that a CI service checked out."""

from __future__ import annotations

import os
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def repository_folder(root: Path, environ: Mapping[str, str]) -> str:
    """Where the workspace is in the repository that a CI service checked out: `agents/`, empty for the top."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        if top := environ.get(name):
            folder = Path(os.path.realpath(root))
            if folder.is_relative_to(os.path.realpath(top)):
                path = folder.relative_to(os.path.realpath(top)).as_posix()
                return "" if path == "." else f"{path}/"
    return ""


def source_lines(root: Path) -> Callable[[str], Sequence[str]]:
    """The lines of the workspace's files, each read once."""

    @once
    def lines(path: str) -> Sequence[str]:
        return discovery.read_source(root, path, limit=16 * discovery.MAX_FILE)[0].text.split("\n")

    return lines
