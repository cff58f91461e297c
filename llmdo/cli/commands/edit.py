"""`llmdo add` and `llmdo remove`: edits of the manifest that leave the rest as it is."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003  # the annotations are read
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from llmdo import scaffold
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field
from llmdo.cli import quick, requests
from llmdo.cli.console import FINE, put, say
from llmdo.services.root import ROOT

if TYPE_CHECKING:
    from llmdo.scaffold import WorkspaceEdit

Name = Annotated[str, argument("NAME", "")]
Alias = Annotated[str, argument("ALIAS", "What prompts say; a folder ends in /.")]
Capability = Annotated[str, argument("CAPABILITY", "Perhaps with a scope: fs.write:reports/**")]
Names = tuple[str, ...]
HELP = {
    "add": "Add something to llmdo.toml; comments and layout stay.",
    "remove": "Remove something from llmdo.toml, unless a name would be left dangling.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedWorkspace:
    """The workspace of an edit, and whether its lock stays behind."""

    root: Path = field(metadata=ROOT)
    frozen: bool = field(
        default=False, metadata=option("Leave llmdo.lock as it is. Default where CI is set.", last=True)
    )


def report(change: WorkspaceEdit, where: EditedWorkspace) -> int:
    """Prints the paths of written and removed files, and then messages; the lock follows, unless it is frozen."""
    from llmdo.services.relocking import after_edit

    for path in change.written:
        put(path)
    for path in change.removed:
        put(f"{path} (removed)")
    for line in change.lines:
        say(line)
    after_edit(where.root, say, frozen=quick.is_locked(flag=where.frozen, environ=os.environ))
    return FINE


def add_worker(
    where: EditedWorkspace,
    name: Name,
    toolset: Annotated[
        Names, option("A toolset or a worker that it may use; may be repeated.", metavar="NAME")
    ] = (),
    description: Annotated[str | None, option("What its callers' models see.", metavar="TEXT")] = None,
    entry: Annotated[bool, option("It may be started by its own name.")] = False,
    path: Annotated[str | None, option("Its file, instead of workers/NAME.worker.", metavar="FILE")] = None,
) -> int:
    """Write a worker file."""
    change = scaffold.add_worker(
        where.root, name, toolsets=toolset, description=description, entry=entry, path=path
    )
    return report(change, where)


def add_toolset(
    where: EditedWorkspace,
    name: Name,
    python: Annotated[str, option("Where it is.", metavar="FILE.py:ATTRIBUTE")],
) -> int:
    """Name a Python toolset."""
    return report(scaffold.add_toolset(where.root, name, python=python), where)


def add_mcp(
    where: EditedWorkspace,
    name: Name,
    command: Annotated[
        Names, argument("[-- COMMAND...]", "The program that is the server, and its arguments.")
    ] = (),
    url: Annotated[str | None, option("The address of a remote server, instead.", metavar="URL")] = None,
    env: Annotated[Names, option("A variable that it is given; may be repeated.", metavar="NAME")] = (),
) -> int:
    """Name an MCP server."""
    return report(scaffold.add_server(where.root, name, command=command, url=url, env=env), where)


def add_entry(
    where: EditedWorkspace,
    name: Name,
    worker: Annotated[str, option("The worker that it starts.", metavar="NAME")],
    input: Annotated[  # noqa: A002
        str | None, option("The input where a run is given none.", metavar="TEXT")
    ] = None,
) -> int:
    """Make something that `llmdo run` can start."""
    return report(scaffold.add_entry(where.root, name, worker=worker, input=input), where)


def add_path(
    where: EditedWorkspace,
    alias: Alias,
    target: Annotated[str, argument("FILE|FOLDER/", "Where it is in the workspace.")],
) -> int:
    """Map an alias to a file, or a folder to a folder."""
    return report(scaffold.add_path(where.root, alias, target), where)


def add_rule(
    where: EditedWorkspace,
    capability: Capability,
    decision: Annotated[
        Literal["allowed", "needs_approval", "blocked"], argument("allowed|needs_approval|blocked", "")
    ],
) -> int:
    """Decide about a capability."""
    return report(scaffold.add_rule(where.root, capability, decision), where)


def remove_worker(where: EditedWorkspace, name: Name) -> int:
    """Delete a worker's file, and its path in llmdo.toml."""
    return report(scaffold.remove_worker(where.root, name), where)


def remove_toolset(where: EditedWorkspace, name: Name) -> int:
    """Remove a toolset's table; its Python file stays."""
    return report(scaffold.remove_toolset(where.root, name), where)


def remove_entry(where: EditedWorkspace, name: Name) -> int:
    """Remove an entry."""
    return report(scaffold.remove_entry(where.root, name), where)


def remove_path(where: EditedWorkspace, alias: Alias) -> int:
    """Remove an alias."""
    return report(scaffold.remove_path(where.root, alias), where)


def remove_rule(where: EditedWorkspace, capability: Capability) -> int:
    """Remove a rule."""
    return report(scaffold.remove_rule(where.root, capability), where)


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    commands = {
        "add": (add_worker, add_toolset, add_mcp, add_entry, add_path, add_rule),
        "remove": (remove_worker, remove_toolset, remove_entry, remove_path, remove_rule),
    }
    for name, below in commands.items():
        group = typer.Typer(help=HELP[name])
        for command in below:
            requests.add(group, command, command.__name__.removeprefix(f"{name}_"))
        app.add_typer(group, name=name)
