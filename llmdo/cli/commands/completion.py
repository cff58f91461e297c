"""`llmdo completion`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdo.cli.console import put


class Shell(StrEnum):
    """The shells that completion exists for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print a completion script for your shell."""
    from llmdo.cli.completion import script

    put(script(shell.value), end="")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(completion)
