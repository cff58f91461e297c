"""`llmdo doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, put

DoctorFormat = Annotated[options.PlainFormat, typer.Option("--format", help="How it is printed.")]


def doctor(
    format: DoctorFormat = options.PlainFormat.text,  # noqa: A002
    project: options.Project = None,
) -> int:
    """Say what is installed and in force here, and what this workspace needs and lacks."""
    from llmdo.render import doctor as render
    from llmdo.services import doctor as service

    items = service.examine_here(project)
    if format == "json":
        put(render.to_json(items), end="", as_json=True)
    else:
        put("\n".join(render.lines(items)))
    return FINDINGS if any(item.problem for item in items) else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(doctor)
