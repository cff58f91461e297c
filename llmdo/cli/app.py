"""The command line, except for the plain `llmdo check` and `llmdo runs`: all commands."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import commands, helping
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, put
from llmdo.cli.tables import COMMANDS, FEATURES
from llmdo.extensions.registry import features
from llmdo.services.invalid import InvalidTeamError
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    from llmdo.cli.commands import HelpPlace

MORE = "`llmdo help all` lists all commands, `llmdo help dev` those for tools; `llmdo help COMMAND` explains one."


class _Formatter(Protocol):
    """The writer of the help."""

    def section(self, name: str) -> AbstractContextManager[None]:
        """A part of it."""

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Writes terms and their meanings."""


def _modules(word: str) -> dict[str, str]:
    """The commands of the module with the command that `word` names, each with that; if there is none, all."""
    known = {name: f"{commands.__name__}.{module}" for name, (_, module) in commands.REGISTER.items()}
    if word not in known:  # no extension is imported for a command of ours
        known |= {name: module for each in features() for name, module in each.commands.items()}
    return {name: module for name, module in known.items() if word not in known or module == known[word]}


def _place(name: str, module: ModuleType) -> HelpPlace:
    """The place of a command in the help."""
    place: HelpPlace = commands.REGISTER[name][0] if name in commands.REGISTER else module.PLACE
    return place


def _group(places: Mapping[str, HelpPlace], topic: str) -> type[typer.core.TyperGroup]:
    """A group that lists its commands by these places, each with its whole first sentence.

    The topic is `all`, a group's name, or empty for those of the first help.
    """

    class Commands(typer.core.TyperGroup):
        def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
            return sorted(super().list_commands(ctx), key=[*places].index)

        def format_commands(self, ctx: typer.Context, formatter: _Formatter) -> None:  # type: ignore[override]
            for group in commands.GROUPS:
                listed = [
                    (name, _first_sentence(command.help or ""))
                    for name in self.list_commands(ctx)
                    if places[name].group == group
                    and (places[name].is_first if not topic else topic in ("all", group))
                    and (command := self.get_command(ctx, name))
                ]
                if listed:
                    with formatter.section(group):
                        formatter.write_dl(listed)

    return Commands


def _first_sentence(text: str) -> str:
    sentence, stop, _ = " ".join(text.split()).partition(". ")
    return sentence + stop.strip()


@cache
def command_line(word: str = "", topic: str = "") -> typer.Typer:
    """All commands, or only those of the module that `word` names: others are not imported for it.

    The help lists those of a topic: `all`, a group of the help, or, where it is empty, those to begin with.
    """
    known = {name: import_module(module) for name, module in _modules(word).items()}
    places = {name: _place(name, module) for name, module in known.items()}
    order = sorted(places, key=lambda name: (commands.GROUPS.index(places[name].group), places[name].order))
    app = typer.Typer(
        name="llmdo",
        cls=_group({name: places[name] for name in order}, topic),
        callback=main,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=None if topic else MORE,
    )
    for module in dict.fromkeys(known[name] for name in order):
        module.add_to(app)
    return app


def parameters_of(name: str) -> tuple[str, dict[str, Any]]:
    """The help of the command of that name, and what it takes, by the names of its request's fields."""
    command: Any = typer.main.get_command(command_line(name))
    command = getattr(command, "commands", {name: command})[name]
    return command.help or "", {parameter.name: parameter for parameter in command.params}


def run(words: Sequence[str]) -> int:
    """Runs the command in `words` and returns its exit code; a usage error is 2."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # nothing but ours stands above a question
    topic = helping.topic(words)
    try:
        app = command_line("" if topic else words[0], topic or "")
        code = app(
            args=["--help"] if topic is not None else list(words), prog_name="llmdo", standalone_mode=False
        )
    except typer.Abort:
        return INTERRUPTED
    except typer.TyperException as error:
        if lacking := _lacking(words):
            raise lacking from error
        # A list of choices comes in lines with tabs.
        message = " ".join(error.format_message().split()).rstrip(".")
        raise LlmdoError(message, hint=f"llmdo {_command(words)}--help says what it takes") from error
    except InvalidTeamError as error:
        if error.root is None:
            raise
        from llmdo.cli.check import show_findings

        show_findings(error.findings, error.root, sys.stderr)
        return FINDINGS
    return code if isinstance(code, int) else FINE


def _lacking(words: Sequence[str]) -> LlmdoError | None:
    """The error of a command whose feature is missing or lacks another one."""
    there = {name for each in features() for name in each.commands}
    for feature, names in FEATURES.items():
        if words[:1] and words[0] in names and words[0] not in there:
            hint = "install llmdo with all its features"
            return LlmdoError(
                f"this installation of llmdo is without `{feature}`, or what that needs", hint=hint
            )
    return None


def _command(words: Sequence[str]) -> str:
    known = {name.split(" ")[0] for name in COMMANDS}
    return f"{words[0]} " if words and words[0] in known else ""


def _version(value: bool) -> None:  # typer calls it so
    if value:
        put(f"llmdo {__version__}")
        raise typer.Exit


def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A compiler, lockfile and runner for teams of LLM agents."""
    del version
