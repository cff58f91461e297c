"""`llmdo init` and `llmdo new`: a new workspace."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from llmdo.base.request_fields import argument, option
from llmdo.cli import quick, requests
from llmdo.cli.console import FINE, put, say
from llmdo.services import new as service
from llmdo.services.root import TEAM_SUFFIXES, team_folder


def init(
    directory: Annotated[Path, argument("[DIR]", "The folder; created if needed.")] = Path(),
    template: Annotated[
        Literal["minimal", "delegation", "team", "tools", "shell", "mcp", "chat", "service"],
        option("What to start from."),
    ] = "minimal",
    force: Annotated[bool, option("Replace existing files.")] = False,
    adopted: Annotated[
        tuple[str, ...],
        option(
            "A team in one file; or adopt agents of another tool in place: a format, or auto; may be repeated.",
            "--from",
            metavar="FILE|FORMAT",
        ),
    ] = (),
) -> int:
    """Start a workspace."""
    from llmdo import scaffold

    if adopted and Path(adopted[0]).suffix in TEAM_SUFFIXES:
        return _unfold(adopted, directory, force=force)
    if adopted:
        return _adopt(directory, adopted)
    has_lock = _written(directory, scaffold.init(directory, template, force=force))
    lock_first = "" if has_lock else "llmdo lock, "
    say(f"a workspace from the template `{template}`; next: {lock_first}llmdo check, llmdo run")
    return FINE


def new(request: service.NewRequest) -> int:
    """Start a team of three that asks before it writes: five questions, then files that check and run."""
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    _written(request.directory, service.new(request, _ask if is_terminal else None, say))
    say("a team of three; next: llmdo check, llmdo run")
    return FINE


def _ask(question: str, suggestion: str) -> str:
    return str(typer.prompt(question, default=suggestion, err=True))


def _written(directory: Path, written: tuple[str, ...]) -> bool:
    """Lists new files, answers for them, and locks the workspace. Whether it has a lock now."""
    from llmdo.services.relocking import after_init

    for path in written:
        put(str(path))
    _trust(directory, written)
    return after_init(directory, say, frozen=quick.is_locked(flag=False, environ=os.environ))


def _unfold(named: tuple[str, ...], directory: Path, *, force: bool) -> int:
    """Makes a workspace of a team in one file, and locks it."""
    from llmdo.base.diagnostic import LlmdoError
    from llmdo.scaffold.unfolding import unfold
    from llmdo.services.relocking import after_init

    file = Path(named[0])
    if len(named) > 1:
        raise LlmdoError("a workspace is made of one team", hint=f"leave out `--from {named[1]}`")
    if not file.is_file():
        raise LlmdoError(f"there is no file `{file}`")
    team = team_folder(file)
    for path in unfold(team, directory, force=force):
        put(path)
    after_init(directory, say, frozen=quick.is_locked(flag=False, environ=os.environ))
    if directory.resolve() == team.resolve():
        say(f"`{file}` is not read any more: remove it")
    say("its comments and the files that its tools work on stay there; next: llmdo check, llmdo reach")
    return FINE


def _adopt(directory: Path, names: tuple[str, ...]) -> int:
    """Names the projects of other tools in a manifest, and locks them."""
    from llmdo.scaffold.adoption import adopt
    from llmdo.services.relocking import after_init

    put(adopt(directory, names))
    after_init(directory, say, frozen=quick.is_locked(flag=False, environ=os.environ))
    say("the agents stay where they are; next: llmdo check, llmdo reach")
    return FINE


def _trust(directory: Path, written: tuple[str, ...]) -> None:
    """Answers for the new files; if that cannot be kept, a later command asks."""
    from llmdo.base.diagnostic import LlmdoError
    from llmdo.services.trust import trust_own

    try:
        trust_own(directory, written, os.environ)
    except LlmdoError as error:
        say(f"note: {error.message}: you are asked about the code when it runs")


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    requests.add(app, new)
    requests.add(app, init)
