"""`llmdo add` and `llmdo remove`: edits of the manifest that leave the rest as it is."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import options, quick
from llmdo.cli.console import put, say
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.scaffold import WorkspaceEdit

Name = Annotated[str, typer.Argument(metavar="NAME")]
Alias = Annotated[str, typer.Argument(metavar="ALIAS", help="What prompts say; a folder ends in /.")]
Capability = Annotated[
    str, typer.Argument(metavar="CAPABILITY", help="Perhaps with a scope: fs.write:reports/**")
]


class Decision(StrEnum):
    """The decision of a rule."""

    allowed = "allowed"
    needs_approval = "needs_approval"
    blocked = "blocked"


add = typer.Typer(help="Add something to llmdo.toml; comments and layout stay.")
remove = typer.Typer(help="Remove something from llmdo.toml, unless a name would be left dangling.")


def report(change: WorkspaceEdit, root: Path, *, frozen: bool = False) -> None:
    """Prints the paths of written and removed files, and then messages; the lock follows, unless it is `frozen`."""
    from llmdo.services.relocking import after_edit

    for path in change.written:
        put(path)
    for path in change.removed:
        put(f"{path} (removed)")
    for line in change.lines:
        say(line)
    after_edit(root, say, frozen=quick.is_locked(flag=frozen, environ=os.environ))


@add.command("worker")
def add_worker(
    name: Name,
    toolset: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--toolset", metavar="NAME", help="A toolset or a worker that it may use; may be repeated."
        ),
    ] = None,
    description: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--description", metavar="TEXT", help="What its callers' models see."),
    ] = None,
    entry: Annotated[bool, typer.Option("--entry", help="It may be started by its own name.")] = False,
    path: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--path", metavar="FILE", help="Its file, instead of workers/NAME.worker."),
    ] = None,
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Write a worker file."""
    from llmdo import scaffold

    root = root_folder(project)
    toolsets = tuple(toolset or ())
    change = scaffold.add_worker(
        root, name, toolsets=toolsets, description=description, entry=entry, path=path
    )
    report(change, root, frozen=frozen)


@add.command("toolset")
def add_toolset(
    name: Name,
    python: Annotated[str, typer.Option("--python", metavar="FILE.py:ATTRIBUTE", help="Where it is.")],
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Name a Python toolset."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.add_toolset(root, name, python=python), root, frozen=frozen)


@add.command("mcp")
def add_mcp(
    name: Name,
    command: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[-- COMMAND...]", help="The program that is the server, and its arguments."),
    ] = None,
    url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--url", metavar="URL", help="The address of a remote server, instead."),
    ] = None,
    env: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--env", metavar="NAME", help="A variable that it is given; may be repeated."),
    ] = None,
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Name an MCP server."""
    from llmdo import scaffold

    root = root_folder(project)
    report(
        scaffold.add_server(root, name, command=command or (), url=url, env=env or ()), root, frozen=frozen
    )


@add.command("entry")
def add_entry(
    name: Name,
    worker: Annotated[str, typer.Option("--worker", metavar="NAME", help="The worker that it starts.")],
    input: Annotated[  # noqa: A002
        Optional[str],  # noqa: UP045
        typer.Option("--input", metavar="TEXT", help="The input where a run is given none."),
    ] = None,
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Make something that `llmdo run` can start."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.add_entry(root, name, worker=worker, input=input), root, frozen=frozen)


@add.command("path")
def add_path(
    alias: Alias,
    target: Annotated[str, typer.Argument(metavar="FILE|FOLDER/", help="Where it is in the workspace.")],
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Map an alias to a file, or a folder to a folder."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.add_path(root, alias, target), root, frozen=frozen)


@add.command("rule")
def add_rule(
    capability: Capability,
    decision: Annotated[Decision, typer.Argument(metavar="allowed|needs_approval|blocked")],
    project: options.Project = None,
    frozen: options.Frozen = False,
) -> None:
    """Decide about a capability."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.add_rule(root, capability, decision.value), root, frozen=frozen)


@remove.command("worker")
def remove_worker(name: Name, project: options.Project = None, frozen: options.Frozen = False) -> None:
    """Delete a worker's file, and its path in llmdo.toml."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.remove_worker(root, name), root, frozen=frozen)


@remove.command("toolset")
def remove_toolset(name: Name, project: options.Project = None, frozen: options.Frozen = False) -> None:
    """Remove a toolset's table; its Python file stays."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.remove_toolset(root, name), root, frozen=frozen)


@remove.command("entry")
def remove_entry(name: Name, project: options.Project = None, frozen: options.Frozen = False) -> None:
    """Remove an entry."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.remove_entry(root, name), root, frozen=frozen)


@remove.command("path")
def remove_path(alias: Alias, project: options.Project = None, frozen: options.Frozen = False) -> None:
    """Remove an alias."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.remove_path(root, alias), root, frozen=frozen)


@remove.command("rule")
def remove_rule(
    capability: Capability, project: options.Project = None, frozen: options.Frozen = False
) -> None:
    """Remove a rule."""
    from llmdo import scaffold

    root = root_folder(project)
    report(scaffold.remove_rule(root, capability), root, frozen=frozen)


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    app.add_typer(add, name="add")
    app.add_typer(remove, name="remove")
