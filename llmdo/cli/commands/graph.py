"""`llmdo graph`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Optional

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINE, put, say

PLACE = 80


class GraphFormat(StrEnum):
    """How the graph is printed."""

    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


def graph(
    entry: options.EntryName = None,
    select: options.Select = None,
    to: Annotated[
        Optional[str],  # noqa: UP045  # typer reads it at run time
        typer.Option(
            metavar="CAPABILITY|TOOLSET|WORKER|TOOL",
            help="Mark the way to the gravest of it; after a stranger's words, the way in and the way out.",
        ),
    ] = None,
    format: Annotated[GraphFormat, typer.Option(help="How it is printed.")] = GraphFormat.text,  # noqa: A002
    project: options.Project = None,
    origin: options.Origin = None,
) -> int:
    """Draw who delegates to whom and which toolsets they use, with what is decided about each and its scopes."""
    from llmdo.render import graph as render
    from llmdo.services import reach as service

    request = service.ReachRequest(entry=entry, select=tuple(select or ()), project=project, origin=origin)
    outcome = service.graph(request, say, to)
    drawn = render.drawing(outcome.analysis, outcome.entries, outcome.workers, outcome.to)
    draw = {"text": render.tree, "mermaid": render.mermaid, "dot": render.dot, "json": render.to_json}
    put(draw[format.value](drawn), end="", as_json=format is GraphFormat.json)
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(graph)
