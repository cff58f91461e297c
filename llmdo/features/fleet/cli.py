"""The commands of `llmdo fleet`: its workers, and the database that they share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from llmdo.base.request_fields import argument, option
from llmdo.cli import options, requests
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINE, put, say, screen
from llmdo.features.batch import fleets  # noqa: TC001
from llmdo.services.root import ROOT

PLACE = HelpPlace("Operate", 10, is_first=True)
FORMER = {"worker": ("fleet", "worker"), "store": ("fleet", "store")}
SCHEDULES = option(
    "Start entries at the times of [schedules] as well, and remove what llmdo.toml no longer keeps."
)
Address = Annotated[str | None, argument("[URL]", "The PostgreSQL database; without it, LLMDO_STORE.")]


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


def status(
    address: Address = None,
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
) -> int:
    """Show the workers, what each has, what waits and since when, and what no worker can take."""
    from llmdo.features.fleet import rendering as render
    from llmdo.features.fleet.opening import require

    named = require(address)
    from llmdo.features.fleet.status import status as ask  # which needs the extra `fleet`

    outcome = ask(named)
    if format == "json":
        put(render.as_json(outcome), end="", as_json=True)
    else:
        put(render.as_text(outcome, screen()), end="", is_drawn=True)
    return FINE


def migrate() -> int:
    """Make the tables of journals, batches and the queue of workers, or bring them up to date."""
    from llmdo.journal.opening import address_here
    from llmdo.services.queue import migrate as apply

    steps = apply(address_here(Path.cwd(), os.environ))
    say(f"applied {steps} migration{'s' if steps != 1 else ''}" if steps else "the store is up to date")
    return FINE


def restored(address: Address = None) -> int:
    """Say that the database was put back to an earlier backup: what is open in it is unsure from now on."""
    from llmdo.features.fleet.opening import require

    named = require(address)
    from llmdo.journal.opening import declare_restored

    items, runs = declare_restored(named)
    say(f"{items} item{'' if items == 1 else 's'} and {runs} run{'' if runs == 1 else 's'} are unsure now")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    fleet = typer.Typer(
        help="Workers on many machines that take items from one database, and this database.",
        no_args_is_help=True,
    )
    store = typer.Typer(help="The database of a fleet.", no_args_is_help=True)
    requests.add(fleet, worker, also=(options.WITH_ENV_FILE, options.WITH_TRUST))
    requests.add(fleet, status, also=(options.WITH_ENV_FILE,))
    requests.add(store, migrate, also=(options.WITH_ENV_FILE, options.WITH_STORE))
    requests.add(store, restored, also=(options.WITH_ENV_FILE,))
    fleet.add_typer(store, name="store")
    app.add_typer(fleet, name="fleet")
