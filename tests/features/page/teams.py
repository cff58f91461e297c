"""Workspaces for tests of the page: teams of any shape, written quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

MANIFEST = """schema = 1
[workspace]
name = "team"
workers = ["**/*.worker"]
max-depth = 12

[approvals.rules]
"""


def team(root: Path, workers: Mapping[str, Sequence[str]], rules: str = "") -> Path:
    """A workspace whose workers, by their paths, use what is said of each; the first one is the entry.

    A use may be `filesystem:FOLDER`, which writes there.
    """
    (root / "llmdo.toml").write_text(MANIFEST + rules, encoding="utf-8")
    for number, (path, uses) in enumerate(workers.items()):
        file = root / f"{path}.worker"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = ["---", f"name: {file.stem}", f"entry: {'true' if number == 0 else 'false'}"]
        lines += ["toolsets:", *(f"  {_use(use)}" for use in uses)] if uses else []
        file.write_text("\n".join([*lines, "---", "Go.", ""]), encoding="utf-8")
    return root


def _use(use: str) -> str:
    name, _, folder = use.partition(":")
    return f'{name}: {{ write: ["{folder}/**"] }}' if folder else f"{name}: {{}}"


def chain(root: Path, length: int, rules: str = "") -> Path:
    """A worker that calls another, and so on; the last one writes files."""
    workers = {f"w/worker_{number}": [f"worker_{number + 1}"] for number in range(length - 1)}
    return team(root, {**workers, f"w/worker_{length - 1}": ["filesystem:out"]}, rules)
