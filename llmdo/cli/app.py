"""The commands, for everything but the plain `llmdo check`."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import click
import typer

from llmdo.cli import check as check_command
from llmdo.cli.console import (
    CANNOT_GO_ON,
    FINDINGS,
    FINE,
    has_colour,
    is_locked,
    root_folder,
    say,
)
from llmdo.diagnostic import CODES, LlmdoError, did_you_mean
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.scaffold import Change

app = typer.Typer(
    name="llmdo",
    help="A compiler, lockfile and runner for teams of LLM agents.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_app = typer.Typer(help="Add something to llmdo.toml; comments and layout stay.", no_args_is_help=True)
remove_app = typer.Typer(
    help="Remove something from llmdo.toml, unless a name would be left dangling.", no_args_is_help=True
)
app.add_typer(add_app, name="add")
app.add_typer(remove_app, name="remove")

Project = Annotated[
    Optional[str],  # noqa: UP045  # typer reads annotations at run time
    typer.Option("--project", metavar="DIR", help="The workspace's folder, instead of looking upwards from here."),
]


class Template(StrEnum):
    """The templates of `llmdo init`."""

    minimal = "minimal"
    delegation = "delegation"
    tools = "tools"


class CheckFormat(StrEnum):
    """How findings are printed."""

    text = "text"
    concise = "concise"
    json = "json"


class SchemaName(StrEnum):
    """The file formats."""

    manifest = "manifest"
    worker = "worker"
    lock = "lock"


class Shell(StrEnum):
    """The shells that completion exists for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def run(words: Sequence[str]) -> int:
    """Runs the command in `words` and returns its exit code; a usage error is 2."""
    try:
        code = app(args=list(words), prog_name="llmdo", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())
        return CANNOT_GO_ON
    except click.ClickException as error:
        error.show()
        return CANNOT_GO_ON
    return code if isinstance(code, int) else FINE


def _version(value: bool) -> None:  # noqa: FBT001  # typer calls it so
    if value:
        print(f"llmdo {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A compiler, lockfile and runner for teams of LLM agents."""
    del version


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where; it is made if needed.")] = Path(),
    template: Annotated[Template, typer.Option(help="What to start from.")] = Template.minimal,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are in the way.")] = False,
) -> None:
    """Start a workspace."""
    from llmdo import scaffold

    for path in scaffold.init(directory, template.value, force=force):
        print(path)
    say(f"a workspace from the template `{template.value}`; next: llmdo check, llmdo lock, llmdo run")


@app.command()
def check(
    project: Project = None,
    locked: Annotated[
        bool, typer.Option("--locked", help="The lock has to be there and current. Default where CI is set.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail as well.")] = False,
    format: Annotated[CheckFormat, typer.Option(help="How findings are printed.")] = CheckFormat.text,  # noqa: A002
) -> int:
    """Prove from files alone that the workspace is sound. Runs nothing of it."""
    return check_command.run(
        check_command.Options(project=project, locked=locked, format=format.value, strict=strict)
    )


@app.command()
def lock(
    project: Project = None,
    check: Annotated[
        bool, typer.Option("--check", help="Derive everything anew and compare; write nothing.")
    ] = False,
) -> int:
    """Write llmdo.lock: the resolved graph. Imports toolset modules in a child process."""
    from llmdo import checks, locking
    from llmdo import lock as lockfile
    from llmdo import project as projects
    from llmdo.checks.lock import OVERWRITTEN

    root = root_folder(project)
    read = projects.read(root)
    found = checks.check(read, locked=True)
    hindering = [one for one in found if one.severity == "error" and one.code not in OVERWRITTEN]
    if hindering:
        sys.stderr.write(check_command.rendered(hindering, root, "text"))
        return FINDINGS if all(one.code != "LDO404" for one in hindering) else CANNOT_GO_ON
    derived = locking.derive(read, anew=check)
    if read.locked.graph == derived:
        say("llmdo.lock is up to date")
        return FINE
    changes = lockfile.drift(read.locked.graph, derived) if read.locked.graph else ()
    if check:
        problems = [change.problem for change in changes] or [
            one for one in found if one.code in OVERWRITTEN
        ]
        sys.stdout.write(check_command.rendered(problems, root, "text"))
        return FINDINGS
    lockfile.write(root, derived)
    for change in changes:
        say(f"{change.kind} {change.name}: {', '.join(change.changes)}".replace(" :", ":"))
    say("wrote llmdo.lock")
    return FINE


@app.command()
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code such as LDO301, or its name.")],
) -> None:
    """Say what a finding means, why it matters and how it is mended."""
    from llmdo.checks import explanation

    text = explanation(code)
    if text is None:
        known = [*CODES, *(name for name, _ in CODES.values())]
        raise LlmdoError(f"there is no check `{code}`", hint=did_you_mean(code.upper(), known) or "see the README")
    print(text, end="")


@app.command()
def schema(
    name: Annotated[SchemaName, typer.Argument(metavar="manifest|worker|lock", help="The file format.")],
) -> None:
    """Print the JSON Schema of a file format."""
    from llmdo import resources

    print(resources.read("schemas", f"{name.value}.json"), end="")


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print a completion script for your shell."""
    from llmdo.completion import script

    print(script(shell.value), end="")
