"""`llmdo check`, for words that need the command-line library."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from llmdo.cli.check import CheckOptions


class CheckFormat(StrEnum):
    """How findings are printed."""

    text = "text"
    concise = "concise"
    json = "json"
    github = "github"
    gitlab = "gitlab"
    junit = "junit"
    sarif = "sarif"


def check(
    project: options.Projects = None,
    everything: options.AllProjects = False,
    locked: Annotated[
        bool, typer.Option("--locked", help="Require a current lock. Default where CI is set.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail as well.")] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Fix misspelt keys and names, and a stale lock, which imports toolset modules."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither use nor keep what the last clean check saw.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print the findings anew whenever a file changes, until Ctrl-C.")
    ] = False,
    select: options.Select = None,
    format: Annotated[CheckFormat, typer.Option(help="How findings are printed.")] = CheckFormat.text,  # noqa: A002
    origin: options.Origin = None,
) -> int:
    """Prove from files alone that the workspace is sound. Runs nothing of it, but for --fix and a stale lock."""
    from llmdo.cli import check as checking
    from llmdo.cli import foreign, rechecking, workspaces

    if origin:
        own = {"--project": project, "--all": everything, "--locked": locked, "--fix": fix}
        _require_none({**own, "--select": select, "--watch": watch})
        return foreign.check(foreign.ForeignOptions(origin=origin, format=format.value, strict=strict))
    first = project[0] if project else None
    chosen = checking.CheckOptions(first, locked, format.value, strict, fix, no_cache, tuple(select or ()))
    if roots := options.several(project, everything=everything):
        return _unwatched(workspaces.check, chosen, roots, watch=watch)
    return rechecking.watch(chosen) if watch else checking.run(chosen)


def _unwatched(
    check_all: Callable[[CheckOptions, Sequence[Path]], int],
    chosen: CheckOptions,
    roots: Sequence[Path],
    *,
    watch: bool,
) -> int:
    if watch:
        raise LlmdoError("`--watch` is for one workspace", hint="start it once for each")
    return check_all(chosen, roots)


def _require_none(values: dict[str, object]) -> None:
    for name, value in values.items():
        if value:
            raise LlmdoError(f"`{name}` applies to llmdo workspaces and cannot be combined with `--from`")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(check)
