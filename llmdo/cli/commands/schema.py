"""`llmdo schema`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdo.cli.console import put


class SchemaName(StrEnum):
    """The file formats."""

    manifest = "manifest"
    worker = "worker"
    lock = "lock"
    policy = "policy"
    eval = "eval"


def schema(
    name: Annotated[
        SchemaName, typer.Argument(metavar="manifest|worker|lock|policy|eval", help="The file format.")
    ],
) -> None:
    """Print the JSON Schema of a file format."""
    from llmdo.base import resources

    put(resources.read("schemas", f"{name.value}.json"), end="", as_json=True)


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(schema)
