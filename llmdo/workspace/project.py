"""A workspace with its graph and its lock: the subject of the checks and the start of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.codes import CODES
from llmdo.base.values import dataclass, field, replace
from llmdo.graph.toolkit import unseen
from llmdo.reach import Analysis
from llmdo.workspace import lock
from llmdo.workspace.extensions import REFUSED
from llmdo.workspace.modules import imports_of
from llmdo.workspace.reading import load, read_lock
from llmdo.workspace.references import package_files, python_file
from llmdo.workspace.resolve import resolve, with_facts
from llmdo.workspace.root import LOCK
from llmdo.workspace.workspace import Gaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.codes import Severity
    from llmdo.base.source import Source
    from llmdo.extensions.spec import Extension
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset
    from llmdo.workspace.lock import Locked
    from llmdo.workspace.lock.layout import Sketch
    from llmdo.workspace.source_files import Memory
    from llmdo.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One reading of a workspace: its files, their graph, and the graph of the lock."""

    workspace: Workspace
    graph: Graph
    """Of the sources, with the lock's facts about toolsets whose source has not changed."""
    locked: Locked
    analysis: Analysis = field(compare=False)
    """The graph prepared for questions about reach."""
    locked_analysis: Analysis | None = field(default=None, compare=False)
    """The same for the lock; None if it cannot be read."""
    gaps: Gaps = field(default_factory=Gaps, compare=False)
    """The parts that are unknown because files could not be read."""
    unseen: frozenset[str] = field(default=frozenset(), compare=False)
    """The toolsets of `graph` whose tools only an import or a start shows."""

    @property
    def is_current(self) -> bool:
        """Whether the lock matches the sources."""
        return self.locked.graph == self.graph

    @property
    def extensions(self) -> tuple[Extension, ...]:
        """The usable installed extensions that the manifest names, in its order."""
        return tuple(each.extension for each in self.workspace.extensions)

    @property
    def codes(self) -> Mapping[str, tuple[str, Severity]]:
        """Every code that a finding may have, its name and its severity: ours, and those of its extensions."""
        own = {
            code: (own.name, own.severity) for each in self.extensions for code, own in each.checks.items()
        }
        return {**CODES, **own} if own else CODES

    @property
    def prompts(self) -> dict[str, str]:
        """Each worker's prompt by its name, except those made by code."""
        return {
            file.name: file.prompt for file in reversed(self.workspace.workers) if file.prompt is not None
        }


def read(
    root: Path,
    manifest: Source | None = None,
    seen: Seen | None = None,
    memory: Memory | None = None,
    *,
    copy_of: Path | None = None,
) -> Project:
    """The project at `root`. Runs nothing of it; faults of its files are left to the checks.

    A `manifest` replaces the one in `root`, as in `workspace.load`; `seen` collects the examined files. A `memory`
    has the results of unchanged files. `copy_of` is the workspace of which `root` holds another revision.
    """
    seen = {} if seen is None and memory else seen
    workspace = load(root, manifest, seen, memory, copy_of)
    sketch = lock.sketch(workspace.lock) if workspace.lock else None
    # Its text may be the largest of all, and mostly a sketch of it will do.
    workspace = replace(workspace, lock=None)
    outlined = resolve(workspace, known=memory.workers if memory else None)
    # Mostly the lock is current: then writing it once more is all the reading that it needs.
    known = lock.supposed_facts(sketch, outlined)
    graph = with_facts(outlined, workspace, known)
    if lock.says(sketch, graph, memory.pieces if memory else None):
        locked = lock.Locked("read", graph)
    else:
        locked = _locked(root, sketch, graph, seen, memory)
        known = lock.facts(locked.graph, outlined)
        graph = with_facts(outlined, workspace, known) if known else outlined
    analysis = Analysis(graph)
    return Project(
        workspace=workspace,
        graph=graph,
        locked=locked,
        analysis=analysis,
        locked_analysis=analysis if locked.graph is graph else _analysis(locked.graph, memory),
        gaps=_gaps(workspace, graph, locked),
        unseen=unseen(graph, known, _readable(workspace)),
    )


def _readable(workspace: Workspace) -> frozenset[str]:
    """The toolsets of the workspace's modules, as `FILE.py:ATTRIBUTE`, whose text tells all."""
    return frozenset(
        f"{path}:{name}"
        for path, module in workspace.modules.items()
        for name, outline in module.outline.toolsets.items()
        if outline.tells_all
    )


def _locked(
    root: Path, sketch: Sketch | None, graph: Graph, seen: Seen | None, memory: Memory | None
) -> Locked:
    """The lock, which differs from `graph`."""
    if sketch is None:
        return lock.read(None)
    known = memory.locked.of(LOCK, sketch.blocks) if memory else None
    if known is None:
        known = lock.read_beside(read_lock(root, seen)[0], graph, memory.pieces if memory else None)
        if memory:
            memory.locked.keep(LOCK, sketch.blocks, known)
    return known


def _analysis(graph: Graph | None, memory: Memory | None) -> Analysis | None:
    if graph is None:
        return None
    known = memory.analyses.of(LOCK, graph) if memory else None
    if known is None:
        known = Analysis(graph)
        if memory:
            memory.analyses.keep(LOCK, graph, known)
    return known


def _gaps(workspace: Workspace, graph: Graph, locked: Locked) -> Gaps:
    """The unknown parts of `graph`, which was made of `workspace` and the facts of `locked`."""
    is_lock_lost = LOCK in workspace.unread or locked.state not in ("missing", "read")
    is_refused = any(problem.code == REFUSED for problem in workspace.problems)
    if not (workspace.unread or workspace.lacks or is_lock_lost or is_refused):
        return Gaps()
    sources = workspace.unread - {LOCK}
    unknown = set(_touched(workspace, graph, sources))
    if is_lock_lost:
        unknown |= {name for name, toolset in graph.toolsets.items() if _needs_lock(toolset)}
    return Gaps(
        files=workspace.unread | ({LOCK} if is_lock_lost else set()),
        names="names" in workspace.lacks,
        aliases="aliases" in workspace.lacks,
        extensions=is_refused,
        contents=bool(workspace.lacks) or is_refused,
        toolsets=frozenset(unknown),
    )


def _touched(workspace: Workspace, graph: Graph, unread: Set[str]) -> Iterator[str]:
    """The toolsets whose module is among `unread`, or imports one of those, near or far."""
    imports = imports_of(workspace.modules)
    for name, toolset in graph.toolsets.items():
        if toolset.python:
            path = python_file(toolset.python)
            starts = (path,) if path else package_files(toolset.python)
            if not unread.isdisjoint(_imported(imports, starts)):
                yield name


def _imported(imports: Mapping[str, Iterable[str]], starts: Iterable[str]) -> set[str]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(imports.get(waiting.pop(), ())) - reached
        reached |= new
        waiting.extend(new)
    return reached


def _needs_lock(toolset: Toolset) -> bool:
    """Whether the capabilities of its tools are missing from the text of the workspace."""
    undeclared = f"x.{toolset.name}.any"
    declared = (capability.name for tool in toolset.tools.values() for capability in tool.capabilities)
    return toolset.dynamic or undeclared in declared
