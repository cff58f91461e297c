"""Completion knows the commands and options that there are."""

from __future__ import annotations

from typing import get_args

from llmdo.cli.tables import ARGUMENTS, COMMANDS
from llmdo.cli.tabulate import TARGET, tables
from llmdo.render.formats import Format


def test_the_tables_of_completion_are_those_of_the_commands() -> None:
    assert TARGET.read_text(encoding="utf-8") == tables(), "run `python -m llmdo.cli.tabulate`"


def test_the_tables_hold_what_the_commands_take() -> None:
    assert COMMANDS["check"]["--format"] == get_args(Format)
    assert COMMANDS["run"]["--entry"] == ()
    assert COMMANDS["add worker"]["--entry"] is None
    assert COMMANDS["run"]["--verbose"] is None
    assert ARGUMENTS["add rule"] == ((), ("allowed", "needs_approval", "blocked"))
