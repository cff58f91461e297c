"""The commands of `llmdo fleet`: the workers that share a store."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.base.request_fields import argument
from llmdo.cli import options, requests
from llmdo.cli.console import FINE, put, say, screen

PLACE = 118
Address = Annotated[str | None, argument("[URL]", "The PostgreSQL database; without it, LLMDO_STORE.")]


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
        help="Workers on many machines that take items from one database.", no_args_is_help=True
    )
    store = typer.Typer(help="The database of a fleet.", no_args_is_help=True)
    requests.add(fleet, status, also=(options.WITH_ENV_FILE,))
    requests.add(store, restored, also=(options.WITH_ENV_FILE,))
    fleet.add_typer(store, name="store")
    app.add_typer(fleet, name="fleet")
