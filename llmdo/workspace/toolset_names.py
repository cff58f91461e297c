"""The names of Python toolsets in a workspace, and those that a header names by the path of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import text
from llmdo.graph.worker import own_toolset
from llmdo.syntax.document import Place
from llmdo.workspace.references import located, python_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.workspace.workspace import Workspace


def toolset_references(workspace: Workspace) -> Iterator[tuple[str, str, Place]]:
    """Name, reference and place of every Python toolset that the files name, once for each time it is named.

    Attributes of listed modules, and those that headers name by a path, keep their own names, unless the manifest
    gives another. Code outside the workspace is a toolset only if the manifest says so.
    """
    named: set[str] = set()
    for name, table in workspace.tables("toolsets").items():
        if python := text(table.get("python")):
            named.update((python, located(python, workspace.modules)))
            yield name, python, Place(workspace.document, ("toolsets", name), of_key=True)
    for file in workspace.workers:
        if file.agent:
            name = file.name
            yield own_toolset(name), file.agent, Place(workspace.document, ("workers", name), of_key=True)
    for path in workspace.toolset_modules:
        for attribute in workspace.modules[path].outline.toolsets:
            if (python := f"{path}:{attribute}") not in named:
                named.add(python)
                yield attribute, python, workspace.modules[path].place(attribute)
    for _, reference, place in workspace.class_paths:
        python = located(reference, workspace.modules)
        if python not in named and python_file(python):
            named.add(python)
            yield python.rpartition(":")[2], python, place


def names_of_paths(workspace: Workspace) -> Mapping[str, str]:
    """Each path of a class that a header names, as written, to the name of that toolset.

    A path that no toolset has, or more than one, is left out.
    """
    paths = {written: reference for written, reference, _ in workspace.class_paths}
    if not paths:
        return {}
    names: dict[str, set[str]] = {}
    own = {own_toolset(file.name) for file in workspace.workers if file.agent}
    for name, python, _ in toolset_references(workspace):
        if name not in own:
            names.setdefault(located(python, workspace.modules), set()).add(name)
    meant = {
        written: names.get(located(reference, workspace.modules), set())
        for written, reference in paths.items()
        if written not in own
    }
    return {written: next(iter(several)) for written, several in meant.items() if len(several) == 1}
