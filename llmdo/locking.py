"""The facts that only running a workspace's own code can tell, taken from a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import lock
from llmdo.resolve import resolve
from llmdo.toolsets.isolation import inspect_toolsets

if TYPE_CHECKING:
    from llmdo.graph import Graph
    from llmdo.project import Project


def derive(project: Project, *, anew: bool = False) -> Graph:
    """The graph of `project` with facts about all its Python toolsets.

    What the lock knows of a source that has not changed is kept, so that a lock after an edit of a prompt starts
    nothing; with `anew` it is not believed.

    Raises:
        LlmdoError: a toolset module cannot be imported; all such modules are named.
    """
    workspace = project.workspace
    before = None if anew else project.locked.graph
    known = lock.facts(before, project.graph)
    references = {
        toolset.name: toolset.python
        for toolset in project.graph.toolsets.values()
        if toolset.python and toolset.python not in known
    }
    unchanged = before.modules if before else {}
    modules = [path for path, source in project.graph.modules.items() if unchanged.get(path) != source]
    if not references and not modules:
        return resolve(workspace, known)
    return resolve(workspace, {**known, **inspect_toolsets(workspace.root, modules, references)})
