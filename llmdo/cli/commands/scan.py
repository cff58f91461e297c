"""`llmdo scan`, for words that need the command-line library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.cli import requests, scanning
from llmdo.render.scan import Form  # noqa: TC001  # the annotations are read
from llmdo.services.foreign import ScanRequest  # noqa: TC001

if TYPE_CHECKING:
    import typer


def scan(request: ScanRequest, format: Annotated[Form, option("How it is printed.")] = "text") -> int:  # noqa: A002
    """Look for agents of other tools, of all formats at once, and say what they can reach. Runs nothing of them."""
    return scanning.scan(scanning.ScanOptions(request=request, format=format))


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    requests.add(app, scan)
