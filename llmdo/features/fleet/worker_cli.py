"""The command `llmdo worker`: a process of a fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.features.batch import fleets  # noqa: TC001  # typer reads the annotations
from llmdo.services.root import root_folder

PLACE = 116


def worker(
    fleet: fleets.Fleet = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, max=1000, help="How many items it works on at a time.")
    ] = 8,
    schedules: Annotated[
        bool,
        typer.Option(
            "--schedules",
            help="Start entries at the times of [schedules] as well, and remove what llmdo.toml no longer keeps.",
        ),
    ] = False,
    project: options.Project = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
) -> int:
    """Take items of batches from a fleet's database until told to stop, or until the code here changes."""
    from llmdo.features.fleet import terminal as working
    from llmdo.features.fleet import worker as service
    from llmdo.features.fleet.opening import require

    request = service.WorkerRequest(
        root=root_folder(project), address=require(fleet), jobs=jobs, schedules=schedules
    )
    return working.report(service.work(request, working.WorkerTerminal()))


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(worker)
