"""The Python files of a folder as a reading of its workspace lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.workspace.modules import text_digests
from llmdo.workspace.reading import read_modules

if TYPE_CHECKING:
    from pathlib import Path


def listed(root: Path) -> dict[str, str]:
    """Every Python file below `root`, to the digest of its text."""
    paths = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.py")) if path.is_file()]
    return text_digests(read_modules(root, [path for path in paths if not (root / path).is_symlink()]))
