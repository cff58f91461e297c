"""Completion knows the commands and options that there are."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from llmdo.cli import app
from llmdo.cli.tables import ARGUMENTS, COMMANDS
from llmdo.cli.tabulate import CODES, HELP, TARGET, codes, helps, tables
from llmdo.render.formats import Format
from tests.support.commands import llmdo


def test_the_tables_of_completion_are_those_of_the_commands() -> None:
    assert TARGET.read_text(encoding="utf-8") == tables(), "run `python -m llmdo.cli.tabulate`"
    assert CODES.read_text(encoding="utf-8") == codes(), "run `python -m llmdo.cli.tabulate`"


def test_the_tables_hold_what_the_commands_take() -> None:
    assert COMMANDS["check"]["--format"] == get_args(Format)
    assert COMMANDS["run"]["--entry"] == ()
    assert COMMANDS["add worker"]["--entry"] is None
    assert COMMANDS["run"]["--verbose"] is None
    assert ARGUMENTS["add rule"] == ((), ("allowed", "needs_approval", "blocked"))


def test_the_texts_of_help_are_those_of_the_commands() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in HELP.iterdir()}
    assert written == helps(), "run `python -m llmdo.cli.tabulate`"


@pytest.mark.few(13)
@pytest.mark.parametrize("name", sorted(path.name for path in HELP.iterdir()))
def test_help_prints_what_the_library_would(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = name.split(".")[1:-1]
    words = command if command[:1] == ["help"] else [*command, "--help"]
    monkeypatch.setenv("COLUMNS", "100")
    quick = llmdo(tmp_path, *words)
    assert app.run(words) == quick.returncode == 0
    assert quick.stdout == capsys.readouterr().out


@pytest.mark.long
def test_help_is_the_librarys_on_a_narrow_terminal_and_of_what_is_no_command(tmp_path: Path) -> None:
    narrow = llmdo(tmp_path, "--help", environ={"COLUMNS": "60"}).stdout
    assert max(map(len, narrow.split("\n"))) < 60
    assert llmdo(tmp_path).stdout == llmdo(tmp_path, "-h").stdout == llmdo(tmp_path, "--help").stdout
    for words in (["rnu", "--help"], ["add.worker", "--help"], ["add", "nothing", "-h"]):
        assert llmdo(tmp_path, *words).returncode == 2
