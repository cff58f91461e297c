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

_FOLDER = os.path.join(os.path.dirname(__file__), "help")  # noqa: PTH118, PTH120


def file_name(command: Sequence[str]) -> str:
    """The name of the file with the help of a command, or of all if `command` is empty."""
    return f"{'.'.join(('llmdo', *command))}.txt"


def text(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The help that `words` ask for; None if they ask for something else, or lines have to be shorter."""
    *command, flag = words or FLAGS[:1]
    # A word that is no name of a command is not made part of a path.
    if flag not in FLAGS or not all(word.isalpha() for word in command) or _columns(environ) < WIDTH:
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
