"""Toolsets of Python: what is written about one that its text shows, or that its text does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, did_you_mean, finding
from llmdo.graph.code_calls import uses_named
from llmdo.workspace.references import class_path, located, module_files, python_file
from llmdo.workspace.toolset_names import names_of_paths, toolset_references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Entry
    from llmdo.graph.toolset import Toolset
    from llmdo.syntax.document import Place
    from llmdo.workspace.project import Project


def without_meaning(project: Project) -> Iterator[Diagnostic]:
    """Configuration of what takes none, an instance that all workers share; and toolsets that are named twice."""
    yield from _named_twice(project)
    graph = project.graph
    codes: tuple[Entry | Toolset, ...] = (*graph.entries.values(), *graph.toolsets.values())
    called = [tuple(uses_named(code).values()) for code in codes if code.configure]
    for uses in (*(worker.uses for worker in graph.workers.values()), *called):
        for use in uses:
            toolset = graph.toolsets.get(use.name)
            if use.config and toolset is not None and _is_instance(project, toolset):
                yield finding(
                    "LDO103",
                    use.at.location,
                    f"`{use.name}` is one instance that all workers share, so it takes no configuration",
                    hint="leave the configuration out, or let the module offer a class",
                )


def _named_twice(project: Project) -> Iterator[Diagnostic]:
    """The lines of headers that name a toolset which another line names as well, one of them by a path."""
    names = names_of_paths(project.workspace)
    for file in project.workspace.workers if names else ():
        first: dict[str, tuple[str, Place]] = {}
        for written, place in file.toolsets:
            toolset = names.get(written, written)
            before, other = first.setdefault(toolset, (written, place))
            if place != other and (before in names or written in names):
                yield finding(
                    "LDO103",
                    place.location,
                    f"`{file.name}` names the toolset `{toolset}` twice",
                    hint="leave one of the lines out",
                    related=[Related(other.location, "it is named here as well")],
                )


def _is_instance(project: Project, toolset: Toolset) -> bool:
    """Whether the toolset is known to be made once, by its module, rather than for each call."""
    if toolset.python is None or toolset.is_class:
        return False
    locked = project.locked.graph.toolsets.get(toolset.name) if project.locked.graph else None
    if locked is not None and locked.python == toolset.python and locked.source == toolset.source:
        return True
    attribute = toolset.python.rpartition(":")[2]
    modules = [project.workspace.modules.get(path) for path in module_files(toolset.python)]
    return any(module is not None and attribute in module.outline.toolsets for module in modules)


def unread(project: Project, name: str) -> tuple[str, str] | None:
    """What is known of a toolset that the text of no module shows, and how it is shown; None where nothing is."""
    workspace = project.workspace
    locked = project.locked.graph.toolsets.get(name) if project.locked.graph else None
    if locked is not None and locked.python and locked.python.rpartition(":")[0] in workspace.modules:
        path, _, attribute = locked.python.rpartition(":")
        known = f"is locked as `{locked.python}` and cannot be read from the text of `{path}`"
    else:
        path, attribute = (
            next(
                (
                    toolset_module
                    for toolset_module in workspace.toolset_modules
                    if _binds(project, toolset_module, name)
                ),
                "",
            ),
            name,
        )
        known = f"is bound in `{path}`, whose text does not show that it is a toolset"
    if not path:
        return None
    hint = (
        f'annotate it, `{attribute}: FunctionToolset = ...`, or write `python = "{path}:{attribute}"` in '
        f"[toolsets.{name}] of llmdo.toml; `llmdo lock` imports it"
    )
    return known, hint


def unreadable_paths(project: Project) -> set[str]:
    """The paths of classes, as headers write them, whose module there is a finding about already."""
    workspace = project.workspace
    return {
        written
        for written, reference, _ in workspace.class_paths
        if not workspace.unread.isdisjoint(module_files(reference))
    }


def unresolved(project: Project, name: str) -> tuple[str, str | None] | None:
    """What keeps the path of a class from being a toolset, and what to do; None where `name` is no path."""
    reference = class_path(name)
    if reference is None:
        return None
    workspace = project.workspace
    same = located(reference, workspace.modules)
    named = {
        toolset
        for toolset, python, _ in toolset_references(workspace)
        if located(python, workspace.modules) == same
    }
    if named:
        listed = " and ".join(f"`{toolset}`" for toolset in sorted(named))
        return f"is both {listed} in llmdo.toml", "name the one that is meant"
    attribute = reference.rpartition(":")[2]
    places = " nor ".join(f"`{path}`" for path in module_files(reference))
    known = [python for toolset in project.graph.toolsets.values() if (python := toolset.python)]
    paths = {_dotted(python) for python in known if python_file(python)}
    declared = f'declare an installed class in llmdo.toml: [toolsets.{attribute}] python = "{reference}"'
    return f"is not a class of the workspace: there is neither {places}", did_you_mean(
        name, paths
    ) or declared


def _dotted(python: str) -> str:
    """FILE.py:NAME as a dotted path."""
    path, _, attribute = python.rpartition(":")
    return f"{path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{attribute}"


def _binds(project: Project, path: str, name: str) -> bool:
    return name in project.workspace.modules[path].outline.names and not name.startswith("_")
