"""`llmdo reach`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINE, put, say, screen

PLACE = 90


class ReachFormat(StrEnum):
    """How reach is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


def reach(
    entry: options.EntryName = None,
    select: options.Select = None,
    format: Annotated[ReachFormat, typer.Option(help="How it is printed.")] = ReachFormat.text,  # noqa: A002
    project: options.Project = None,
    origin: options.Origin = None,
) -> int:
    """Show what each entry can reach through delegation, by which path and behind which gate."""
    from llmdo.render import reached as render
    from llmdo.services import reach as service

    request = service.ReachRequest(entry=entry, select=tuple(select or ()), project=project, origin=origin)
    outcome = service.reach(request, say)
    drawn = format is ReachFormat.text and outcome.foreign is None
    text = render.rendered(outcome, format.value, screen())
    put(text, end="", as_json=format is ReachFormat.json, is_drawn=drawn)
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(reach)
