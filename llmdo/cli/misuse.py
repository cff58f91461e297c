"""The errors of command lines that cannot be read, in words that lead on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, near_or_all, nearest
from llmdo.cli.tables import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MEANT: Mapping[str, tuple[str, ...]] = {
    "analyze": ("scan",),
    "answer": ("approve",),
    "apply": ("run",),
    "build": ("lock",),
    "ceiling": ("suggest", "reach"),
    "compile": ("lock",),
    "convert": ("import",),
    "create": ("init",),
    "deny": ("approve",),
    "exec": ("run",),
    "help": ("--help",),
    "history": ("runs",),
    "install": ("lock",),
    "lint": ("check",),
    "log": ("runs", "runs audit"),
    "logs": ("runs", "runs audit"),
    "ls": ("runs",),
    "plan": ("diff", "reach"),
    "reject": ("approve",),
    "rm": ("remove",),
    "start": ("run",),
    "status": ("inbox", "runs"),
    "ui": ("page",),
    "update": ("lock",),
    "upgrade": ("lock",),
    "validate": ("check",),
    "verify": ("check", "runs audit"),
    "version": ("--version",),
    "web": ("page",),
}
"""Words that other tools have for a command, with ours."""


def misuse(words: Sequence[str], error: Any) -> LlmdoError:
    """The error of a command line that typer refuses with `error`."""
    # A list of choices comes in lines with tabs.
    message = " ".join(error.format_message().split()).rstrip(".")
    path = _path(words, error)
    if message.startswith("No such command"):
        word = next(each for each in words[len(path) :] if f"'{each}'" in message)
        return LlmdoError(f"there is no command `{_line([*path, word])}`", hint=_meant(path, word, error))
    if message.startswith("No such option"):
        return LlmdoError(
            f"`{_line(path)}` has no option `{error.option_name}`", hint=_near_option(path, error)
        )
    if message.startswith("Missing argument"):
        wanted = error.param.make_metavar(error.ctx)
        return LlmdoError(f"`{_line(path)}` needs {wanted}", hint=_how_to_name(path, wanted))
    folder = next((word for word in words[len(path) :] if word in message and os.path.isdir(word)), None)  # noqa: PTH112  # a word may be too long
    if folder and message.startswith("Got unexpected") and "--project" in COMMANDS.get(" ".join(path), ()):
        return LlmdoError(message, hint=f"did you mean `--project {folder}`?")
    return LlmdoError(message, hint=_help(path))


def _path(words: Sequence[str], error: Any) -> list[str]:
    """The words that name a command or a group, up to the fault."""
    if error.ctx is not None:
        return str(error.ctx.command_path).split(" ")[1:]
    known = {*COMMANDS, *(name.split(" ")[0] for name in COMMANDS)}
    named = (list(words[:count]) for count in (2, 1))
    return next((path for path in named if " ".join(path) in known), [])


def _meant(path: Sequence[str], word: str, error: Any) -> str:
    """The hint about an unknown `word` below the group at `path`."""
    known: Collection[str] = error.ctx.command.list_commands(error.ctx)
    if path:
        return near_or_all(word, known, "command")
    below = [name for name in COMMANDS if name.endswith(f" {word}")]
    match = nearest(word, {*known, *MEANT})
    meant = below or ([match] if match and match in known else MEANT.get(match or "", ()))
    if not meant:
        return "`llmdo --help` lists the commands"
    *others, last = (f"`{_line([name])}`" for name in meant if name)
    return f"did you mean {', '.join(others)}{' or ' * bool(others)}{last}?"


def _near_option(path: Sequence[str], error: Any) -> str:
    return f"did you mean `{error.possibilities[0]}`?" if error.possibilities else _help(path)


def _how_to_name(path: Sequence[str], wanted: str) -> str:
    """The hint about a missing argument."""
    if "RUN" in wanted:
        return f"`llmdo runs` lists them; `{_line([*path, 'last'])}` is about the newest"
    return _help(path)


def _help(path: Sequence[str]) -> str:
    return f"`{_line([*path, '--help'])}` says what it takes"


def _line(words: Sequence[str]) -> str:
    return " ".join(("llmdo", *words))
