"""`llmdo store`: the database that journals may be in."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from llmdo.cli import options, requests
from llmdo.cli.console import FINE, say

PLACE = 155


def migrate() -> int:
    """Make the tables of journals, batches and the queue of workers, or bring them up to date."""
    from llmdo.journal.opening import address_here
    from llmdo.services.queue import migrate as apply

    steps = apply(address_here(Path.cwd(), os.environ))
    say(f"applied {steps} migration{'s' if steps != 1 else ''}" if steps else "the store is up to date")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    store = typer.Typer(help="The PostgreSQL database that journals may be in.", no_args_is_help=True)
    requests.add(store, migrate, also=(options.WITH_ENV_FILE, options.WITH_STORE))
    app.add_typer(store, name="store")
