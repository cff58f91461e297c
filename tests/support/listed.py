"""The Python files of a folder as a reading of its workspace lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.workspace.modules import text_digests
from llmdo.workspace.reading import read_modules

if TYPE_CHECKING:
    from pathlib import Path


_read: dict[tuple[tuple[str, bytes], ...], dict[str, str]] = {}
"""What was read of folders of the same content: to look through the code takes most of many a test."""


def listed(root: Path) -> dict[str, str]:
    """Every Python file below `root`, to the digest of its text."""
    files = [path for path in sorted(root.rglob("*.py")) if path.is_file() and not path.is_symlink()]
    content = tuple((path.relative_to(root).as_posix(), path.read_bytes()) for path in files)
    if content not in _read:
        _read[content] = text_digests(read_modules(root, [path for path, _ in content]))
    return {**_read[content]}
