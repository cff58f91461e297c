"""`llmdo suggest`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINE, put, say

PLACE = 70


def suggest(
    entry: options.EntryName = None,
    project: options.Project = None,
    from_runs: Annotated[
        bool,
        typer.Option("--from-runs", help="Suggest what past runs needed, instead of what is declared."),
    ] = False,
) -> int:
    """Print the smallest ceiling and rules under which an entry can do all that its workers declare."""
    from llmdo.render import reach as render
    from llmdo.services import reach as service

    request = service.ReachRequest(entry=entry, project=project)
    put("\n".join(map(render.suggestion, service.suggest(request, say, from_runs=from_runs))), end="")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(suggest)
