"""The root of a workspace, the names of its own files, and the manifest of one that has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST, nearest
from llmdo.base.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LOCK", "MANIFEST", "MAX_LOCK", "WORKER_ENDINGS", "find_root", "manifest_of"]

LOCK = "llmdo.lock"
MAX_LOCK = 8 * 1024 * 1024  # bytes: 10,000 workers take under 4 MB

WORKER_ENDINGS = (".worker", ".worker.md")


def find_root(start: Path) -> Path:
    """The nearest folder with an `llmdo.toml`, from `start` upwards.

    Raises:
        LlmdoError: No folder on the way has one.
    """
    if root := nearest(str(start.absolute()), MANIFEST):
        return Path(root)
    raise LlmdoError(
        f"no `{MANIFEST}` in this folder or in any above it", hint="`llmdo init` starts a workspace here"
    )


def manifest_of(files: Iterable[str]) -> Source:
    """The manifest of a workspace that consists of `files`: workers, and Python files as toolset modules.

    It says nothing else, so the built-in rules hold.
    """
    workers = [path for path in files if path.endswith(WORKER_ENDINGS)]
    modules = [path for path in files if path.endswith(".py")]
    lists = "".join(
        f"{key} = [{', '.join(json.dumps(path) for path in paths)}]\n"
        for key, paths in (("workers", workers), ("toolset-modules", modules))
    )
    return Source(MANIFEST, f'schema = 1\n\n[workspace]\nname = "files"\n{lists}')
