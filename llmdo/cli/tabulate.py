"""Writes `tables.py` and `help/` from the commands, and `base/codes.py` from the checks. A test finds stale ones.

`python -m llmdo.cli.tabulate` writes them. Completion and `--help` read these instead of the commands, whose
library takes longer than a person waits for a key, and what finds something needs its code without the checks.
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from llmdo import checks
from llmdo.cli import commands, helping
from llmdo.cli.app import command_line
from llmdo.extensions.registry import features, folders
from llmdo.foreign import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command, Context

    from llmdo.base.checking import Check

TARGET = Path(__file__).with_name("tables.py")
CODES = Path(__file__).parents[1] / "base/codes.py"
HELP = Path(__file__).with_name("help")
WIDTH = 110  # characters, as the rest of the code

_HEAD = '''"""What completion knows of the commands.

Made by `python -m llmdo.cli.tabulate`: change the commands.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

'''

_CODES = '''"""The codes of findings.

Made by `python -m llmdo.cli.tabulate`: change the checks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    Severity: TypeAlias = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Every severity, the worst first."""

CODES: Mapping[str, tuple[str, Severity]] = {
%s}
"""Every code, its name and its severity. A code never changes its meaning and is never used again."""
'''


def codes() -> str:
    """The text of the module of the codes."""
    every: list[Check[Any]] = [*checks.ALL, *findings.ALL]
    every.sort(key=lambda check: check.code)
    return _CODES % "".join(f'    "{each.code}": ("{each.name}", "{each.severity}"),\n' for each in every)


def tables() -> str:
    """The text of the module."""
    options: dict[str, dict[str, tuple[str, ...] | None]] = {}
    arguments: dict[str, tuple[tuple[str, ...], ...]] = {}
    parts = {name: import_module(f"llmdo.features.{name}").EXTENSION for name in folders()}
    needed = {name for part in parts.values() if part.commands for name in part.needs}
    features = {name: tuple(part.commands) for name, part in parts.items() if part.commands or name in needed}
    for name, command in _commands(typer.main.get_command(command_line()), ()):
        options[name] = {}
        positions = []
        for parameter in command.params:
            choices = tuple(getattr(parameter.type, "choices", ()))
            if parameter.param_type_name == "argument":
                positions.append(choices)
                continue
            takes_value = not (getattr(parameter, "is_flag", False) or getattr(parameter, "count", False))
            for spelling in parameter.opts:
                if spelling.startswith("--"):
                    options[name][spelling] = choices if takes_value else None
        if any(positions):
            arguments[name] = tuple(positions)
    return (
        f"{_HEAD}COMMANDS: Mapping[str, Mapping[str, tuple[str, ...] | None]] = {_written(options)}\n"
        '"""Every command with its long options but `--help`, and what each may be; None where it takes no value."""'
        f"\n\nARGUMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {_written(arguments)}\n"
        '"""What the arguments of a command may be, by their positions, where it is one of a few words."""\n'
        f"\nFEATURES: Mapping[str, tuple[str, ...]] = {_written(features)}\n"
        '"""The folders of features that have commands, or that such a one needs, and these commands."""\n'
        f"\nFORMER: Mapping[str, tuple[str, ...]] = {_written(_former())}\n"
        '"""Former names of commands, to the words that stand for them now."""\n'
    )


def _former() -> dict[str, tuple[str, ...]]:
    modules = {import_module(module) for each in features() for module in each.commands.values()}
    of_features = (getattr(module, "FORMER", {}) for module in modules)
    return dict(
        sorted({**commands.FORMER, **dict(chain.from_iterable(map(dict.items, of_features)))}.items())
    )


def helps() -> dict[str, str]:
    """The help of every command and of every group of them, by the name of its file."""
    of_topics = {
        helping.file_name(("help", name)): dict(_helps(*_root(topic)))[helping.file_name(())]
        for name, topic in helping.TOPICS.items()
    }
    return dict(_helps(*_root(""))) | of_topics


def _root(topic: str) -> tuple[Command, tuple[str, ...], Context]:
    """All commands, no words, and their context."""
    command = typer.main.get_command(command_line(topic=topic))
    width = helping.WIDTH - 2  # the library keeps two columns free where it asks the terminal
    return (
        command,
        (),
        typer.Context(command, info_name="llmdo", terminal_width=width, **command.context_settings),
    )


def _helps(command: Command, path: tuple[str, ...], context: Context) -> Iterator[tuple[str, str]]:
    yield helping.file_name(path), f"{command.get_help(context)}\n"
    for name, inner in getattr(command, "commands", {}).items():
        yield from _helps(inner, (*path, name), typer.Context(inner, info_name=name, parent=context))


def _commands(command: Command, path: tuple[str, ...]) -> Iterator[tuple[str, Command]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), command
        return
    for name, inner in below.items():
        yield from _commands(inner, (*path, name))


def _written(value: object, indent: str = "", before: int = 0) -> str:
    """A value as Python: a line for each key, or one for all if they fit after `before` characters."""
    if isinstance(value, dict):
        inner = indent + "    "
        pairs = [(_written(key), each) for key, each in value.items()]
        short = f"{{{', '.join(f'{key}: {_written(each)}' for key, each in pairs)}}}"
        if "\n" not in short and len(indent) + before + len(f"{short},") <= WIDTH:
            return short
        lines = (f"{inner}{key}: {_written(each, inner, len(f'{key}: '))},\n" for key, each in pairs)
        return f"{{\n{''.join(lines)}{indent}}}"
    if isinstance(value, tuple):
        words = ", ".join(map(_written, value))
        return f"({words},)" if len(value) == 1 else f"({words})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    CODES.write_text(codes(), encoding="utf-8", newline="\n")
    TARGET.write_text(tables(), encoding="utf-8", newline="\n")
    HELP.mkdir(exist_ok=True)
    texts = helps()
    for stale in {path.name for path in HELP.iterdir()} - texts.keys():
        (HELP / stale).unlink()
    for file, text in texts.items():
        (HELP / file).write_text(text, encoding="utf-8", newline="\n")
