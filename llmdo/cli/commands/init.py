"""`llmdo init`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from llmdo.cli import quick
from llmdo.cli.console import put, say


class Template(StrEnum):
    """The templates of `llmdo init`."""

    minimal = "minimal"
    delegation = "delegation"
    tools = "tools"
    chat = "chat"
    service = "service"


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder; created if needed.")
    ] = Path(),
    template: Annotated[Template, typer.Option(help="What to start from.")] = Template.minimal,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Start a workspace."""
    from llmdo import scaffold
    from llmdo.services.relocking import after_init

    written = scaffold.init(directory, template.value, force=force)
    for path in written:
        put(str(path))
    _trust(directory, written)
    after_init(directory, say, frozen=quick.is_locked(flag=False, environ=os.environ))
    say(f"a workspace from the template `{template.value}`; next: llmdo check, llmdo run")


def _trust(directory: Path, written: tuple[str, ...]) -> None:
    """Answers for the new files; if that cannot be kept, a later command asks."""
    from llmdo.base.diagnostic import LlmdoError
    from llmdo.services.trust import trust_own

    try:
        trust_own(directory, written, os.environ)
    except LlmdoError as error:
        say(f"note: {error.message}: you are asked about the code when it runs")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(init)
