"""The command line, for everything but the plain `llmdo check` and `llmdo runs`: the commands that there are."""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Protocol, cast

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import commands
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, put
from llmdo.services.invalid import InvalidTeamError
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager


class _Formatter(Protocol):
    """What writes the help."""

    def section(self, name: str) -> AbstractContextManager[None]:
        """A part of it."""

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Writes terms and what they are."""


class _Command(Protocol):
    """A module of `commands`."""

    PLACE: int

    def add_to(self, app: typer.Typer) -> None:
        """Makes its commands known."""


def _modules() -> list[_Command]:
    """The modules of `commands`, in the order in which `--help` lists them."""
    modules = (
        import_module(f"{commands.__name__}.{module.name}")
        for module in pkgutil.iter_modules(commands.__path__)
    )
    return sorted((cast("_Command", module) for module in modules), key=lambda module: module.PLACE)


class _Commands(typer.core.TyperGroup):
    """The commands in their order, each with its whole first sentence."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def format_commands(self, ctx: typer.Context, formatter: _Formatter) -> None:  # type: ignore[override]
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _first_sentence(command.help or "")) for name, command in commands if command]
            )


def _first_sentence(text: str) -> str:
    sentence, stop, _ = " ".join(text.split()).partition(". ")
    return sentence + stop.strip()


app = typer.Typer(
    name="llmdo",
    cls=_Commands,
    help="A compiler, lockfile and runner for teams of LLM agents.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add_all() -> tuple[str, ...]:
    """The names of all commands, which are known now, in their order."""
    names: list[str] = []
    for module in _modules():
        module.add_to(app)
        added = {group.name or "" for group in app.registered_groups}
        for command in app.registered_commands:
            added.add(command.name or str(getattr(command.callback, "__name__", "")))
        names += sorted(added.difference(names))
    return tuple(names)


ORDER = _add_all()
"""The commands as `--help` lists them: from the first file to the last run."""


def run(words: Sequence[str]) -> int:
    """Runs the command in `words` and returns its exit code; a usage error is 2."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # nothing but ours stands above a question
    try:
        code = app(args=list(words) or ["--help"], prog_name="llmdo", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except typer.TyperException as error:
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


def _command(words: Sequence[str]) -> str:
    return f"{words[0]} " if words and words[0] in ORDER else ""


def _version(value: bool) -> None:  # typer calls it so
    if value:
        put(f"llmdo {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A compiler, lockfile and runner for teams of LLM agents."""
    del version
