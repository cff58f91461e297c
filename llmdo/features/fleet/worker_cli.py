"""The command `llmdo worker`: a process of a fleet."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # the annotations are read
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.cli import options, requests
from llmdo.features.batch import fleets  # noqa: TC001
from llmdo.services.root import ROOT

if TYPE_CHECKING:
    import typer

PLACE = 116
SCHEDULES = option(
    "Start entries at the times of [schedules] as well, and remove what llmdo.toml no longer keeps."
)


def worker(
    root: Annotated[Path, ROOT],
    fleet: fleets.Fleet = None,
    jobs: Annotated[int, option("How many items it works on at a time.", least=1, most=1000)] = 8,
    schedules: Annotated[bool, SCHEDULES] = False,
) -> int:
    """Take items of batches from a fleet's database until told to stop, or until the code here changes."""
    from llmdo.features.fleet import terminal as working
    from llmdo.features.fleet import worker as service
    from llmdo.features.fleet.opening import require

    request = service.WorkerRequest(root=root, address=require(fleet), jobs=jobs, schedules=schedules)
    return working.report(service.work(request, working.WorkerTerminal()))


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    requests.add(app, worker, also=(options.WITH_ENV_FILE, options.WITH_TRUST))
