"""`llmdo scan`, for words that need the command-line library."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations


class ScanFormat(StrEnum):
    """How a scan is printed."""

    text = "text"
    markdown = "markdown"
    json = "json"


def scan(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="A folder, or one file.")] = ".",
    format: Annotated[ScanFormat, typer.Option(help="How it is printed.")] = ScanFormat.text,  # noqa: A002
    fail_on: Annotated[
        options.Texts,
        typer.Option(
            "--fail-on",
            metavar="SEVERITY|CODE",
            help="Exit 1 on a finding of this code, or of this severity or a graver one; may be repeated.",
        ),
    ] = None,
) -> int:
    """Look for agents of other tools, of all formats at once, and say what they can reach. Runs nothing of them."""
    from llmdo.cli import scanning
    from llmdo.services.scan import ScanRequest

    request = ScanRequest(folder=folder, fail_on=tuple(fail_on or ()))
    return scanning.scan(scanning.ScanOptions(request=request, format=format.value))


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(scan)
