"""`llmdo why`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, put, say

PLACE = 100


def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A worker, an entry or a toolset.")],
    target: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPABILITY|TOOLSET|WORKER|TOOL",
            help="Such as proc.exec, fs.write:reports/**, shell or helper; as reach prints it, `elsewhere` included.",
        ),
    ],
    all_paths: Annotated[
        bool, typer.Option("--all", help="Show every path, not only a shortest one.")
    ] = False,
    project: options.Project = None,
    origin: options.Origin = None,
) -> int:
    """Show how a worker or an entry comes to a capability, a toolset or a worker: paths with the place of each edge."""
    from llmdo.render import flows
    from llmdo.render import reach as render
    from llmdo.services import reach as service

    request = service.WhyRequest(
        name=name, target=" ".join(target), all_paths=all_paths, project=project, origin=origin
    )
    outcome = service.why(request, say)
    if not outcome.reasons:
        say(f"`{name}` cannot reach `{outcome.target}`")
        return FINDINGS
    after = [flows.why(row) for reason in outcome.reasons for row in reason.after]
    put("\n".join([render.reasons(outcome), *after]), end="")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(why)
