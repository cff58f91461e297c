"""A workspace with its graph and its lock: what the checks look at and what a run starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import lock
from llmdo.reach import Analysis
from llmdo.resolve import resolve, with_facts
from llmdo.values import dataclass, field, replace
from llmdo.workspace import load, read_lock

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.cache import Seen
    from llmdo.graph import Graph
    from llmdo.lock import Locked
    from llmdo.source import Source
    from llmdo.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One reading of a workspace: its files, what they mean, and what the lock says they mean."""

    workspace: Workspace
    graph: Graph
    """Of the sources, with what the lock knows of toolsets whose source has not changed."""
    locked: Locked
    analysis: Analysis = field(compare=False)
    """The graph prepared for questions about reach."""

    @property
    def is_current(self) -> bool:
        """Whether the lock says what the sources say."""
        return self.locked.graph == self.graph

    @property
    def prompts(self) -> dict[str, str]:
        """Each worker's prompt by its name; those that code makes are left out."""
        return {
            file.header["name"]: file.prompt
            for file in reversed(self.workspace.workers)
            if file.prompt is not None
        }


def read(root: Path, manifest: Source | None = None, seen: Seen | None = None) -> Project:
    """The project at `root`. Runs nothing of it; whatever is wrong with its files is left to the checks.

    With a `manifest` that text stands for the one in `root`, as `workspace.load` has it; what is looked at is noted
    in `seen`.
    """
    workspace = load(root, manifest, seen)
    sketch = lock.sketch(workspace.lock) if workspace.lock else None
    # Its text may be the largest of all, and mostly a sketch of it will do.
    workspace = replace(workspace, lock=None)
    outlined = resolve(workspace)
    # Mostly the lock is current: then writing it once more is all the reading that it needs.
    graph = with_facts(outlined, workspace, lock.supposed_facts(sketch, outlined))
    if lock.says(sketch, graph):
        locked = lock.Locked("read", graph)
    else:
        locked = lock.read(read_lock(root, seen)[0] if sketch else None)
        known = lock.facts(locked.graph, outlined)
        graph = with_facts(outlined, workspace, known) if known else outlined
    return Project(workspace=workspace, graph=graph, locked=locked, analysis=Analysis(graph))
