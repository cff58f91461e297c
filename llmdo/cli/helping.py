"""The output of `--help`: texts that `tabulate` made of the commands; neither they nor their library are imported."""

from __future__ import annotations

import os

from llmdo.cli.tables import FEATURES
from llmdo.extensions.registry import folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 80  # columns: the library makes no line longer, however wide the terminal
FLAGS = ("-h", "--help")
TOPICS = {"all": "all", "dev": "Develop"}
"""What `llmdo help` takes that is no command, to the groups that it lists."""

_FOLDER = os.path.join(os.path.dirname(__file__), "help")  # noqa: PTH118, PTH120


def file_name(command: Sequence[str]) -> str:
    """The name of the file with the help of a command or of a topic; of the first help if `command` is empty."""
    return f"{'.'.join(('llmdo', *command))}.txt"


def asked(words: Sequence[str]) -> list[str]:
    """The words of a command line, with `llmdo help COMMAND` as the option of the command."""
    if words[:1] != ["help"] or " ".join(words[1:]) in TOPICS:
        return [*words] or ["--help"]
    return [*words[1:], "--help"]


def topic(words: Sequence[str]) -> str | None:
    """The commands that the first help is to list, as `app.command_line` takes it; None for no help of all."""
    if words[:1] == ["help"]:
        return TOPICS.get(words[1])
    return "" if [*words] in (["-h"], ["--help"]) else None


def text(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The help that `words` ask for, as `asked` has them; None if they ask for something else, or lines are short."""
    command = words if words[:1] == ["help"] else words[:-1]
    if command is not words and words[-1] not in FLAGS:
        return None
    # A word that is no name of a command is not made part of a path.
    if not all(word.isalpha() for word in command) or _columns(environ) < WIDTH:
        return None
    if not {*FEATURES} <= {*folders()}:  # they list what is not there
        return None
    try:
        with open(f"{_FOLDER}/{file_name(command)}", encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return None


def _columns(environ: Mapping[str, str]) -> int:
    """The width of the terminal as `shutil` reports it, whose import would cost more than all the rest."""
    if (columns := environ.get("COLUMNS", "")).isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or WIDTH
    except OSError:
        return WIDTH
