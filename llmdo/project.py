"""A workspace with its graph and its lock: what the checks look at and what a run starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo import lock
from llmdo.resolve import resolve
from llmdo.workspace import load

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.graph import Graph
    from llmdo.lock import Locked
    from llmdo.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One reading of a workspace: its files, what they mean, and what the lock says they mean."""

    workspace: Workspace
    graph: Graph
    """Of the sources, with what the lock knows of toolsets whose source has not changed."""
    locked: Locked

    @property
    def is_current(self) -> bool:
        """Whether the lock says what the sources say."""
        return self.locked.graph == self.graph


def read(root: Path) -> Project:
    """The project at `root`. Runs nothing of it; whatever is wrong with its files is left to the checks."""
    workspace = load(root)
    locked = lock.read(workspace.lock)
    outlined = resolve(workspace)
    known = lock.facts(locked.graph, outlined)
    graph = resolve(workspace, known) if known else outlined
    return Project(workspace=workspace, graph=graph, locked=locked)
