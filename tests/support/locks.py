"""Locks of the workspaces that many tests start from."""

from __future__ import annotations

from pathlib import Path

from llmdo.services import locking
from llmdo.workspace import lock, project

_made: dict[tuple[tuple[str, bytes], ...], bytes] = {}


def locked(root: Path) -> Path:
    """`root` with its lock: made once for all workspaces of these files, as a process has to import them."""
    files = [
        path for path in sorted(root.rglob("*")) if path.suffix in (".toml", ".worker", ".py", ".md", ".yaml")
    ]
    content = tuple((path.relative_to(root).as_posix(), path.read_bytes()) for path in files)
    if content not in _made:
        lock.write(root, locking.derive(project.read(root)))
        _made[content] = (root / "llmdo.lock").read_bytes()
    (root / "llmdo.lock").write_bytes(_made[content])
    return root
