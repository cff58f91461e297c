"""The entry of a run of files alone, whose manifest only lists them."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import near_or_all
from llmdo.base.source import Source
from llmdo.services.invalid import InvalidTeamError
from llmdo.syntax.tree import parse
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.workspace.project import Project


def with_entry(project: Project, root: Path, manifest: Source, name: str) -> Project:
    """`project`, which is sound and whose `manifest` only lists its files, with the entry of that name.

    Raises:
        InvalidTeamError: There is no such entry, or more than one.
    """
    start = _start_of(project, name)
    if start is None:
        return project
    calls = ", ".join(json.dumps(worker) for worker in project.graph.workers)
    called = f"calls = [{calls}]\n" if calls and not start.startswith("worker") else ""
    text = f"{manifest.text}\n[entries.{json.dumps(name)}]\n{start}{called}"
    return projects.read(root, Source(manifest.path, text))


def _start_of(project: Project, name: str) -> str | None:
    """The manifest's value for starting the entry `name`; None if a worker declares it itself.

    Raises:
        InvalidTeamError: Nothing has that name, or several things have.
    """
    graph = project.graph
    starts = [f'worker = "{name}"\n'] if name in graph.workers else []
    for path, module in project.workspace.modules.items():
        if path in project.workspace.toolset_modules:
            tree = parse(module.source.text)
            if any(_is_function(node, name) for node in tree.body):
                starts.append(f'function = "{path}:{name}"\n')
    tools = [toolset.name for toolset in graph.toolsets.values() if name in toolset.tools]
    starts += [f'tool = "{toolset}.{name}"\n' for toolset in tools]
    if not starts:
        known = {*graph.workers, *(tool for toolset in graph.toolsets.values() for tool in toolset.tools)}
        raise InvalidTeamError(f"there is no entry `{name}`", hint=near_or_all(name, known, "worker or tool"))
    if len(starts) > 1:
        meanings = " and ".join(start.strip().replace(" = ", " ").replace('"', "`") for start in starts)
        raise InvalidTeamError(f"the entry `{name}` could be {meanings}", hint="rename one of them")
    return None if name in graph.entries else starts[0]


def _is_function(node: ast.stmt, name: str) -> bool:
    """Whether a statement is an async function of that name; a decorated one is a tool or something else."""
    return isinstance(node, ast.AsyncFunctionDef) and node.name == name and not node.decorator_list
