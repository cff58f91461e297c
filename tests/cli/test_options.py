"""Completion knows the commands and options that there are."""

from __future__ import annotations

import typer

from llmdo.cli.app import app
from llmdo.cli.completion import COMMANDS


def commands() -> dict[str, set[str]]:
    """Every command with its long options, as the command line itself has them."""
    found: dict[str, set[str]] = {}

    def visit(command: object, path: tuple[str, ...]) -> None:
        below = getattr(command, "commands", None)
        for name, one in (below or {}).items():
            visit(one, (*path, name))
        if below is None:
            options = {opt for one in command.params for opt in one.opts if opt.startswith("--")}
            found[" ".join(path)] = options

    visit(typer.main.get_command(app), ())
    return found


def test_completion_knows_every_command_and_every_long_option() -> None:
    assert {name: set(options) for name, options in COMMANDS.items()} == commands()
