"""`llmdo init`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from llmdo.cli.console import put, say

PLACE = 10


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

    for path in scaffold.init(directory, template.value, force=force):
        put(str(path))
    say(f"a workspace from the template `{template.value}`; next: llmdo check, llmdo lock, llmdo run")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(init)
