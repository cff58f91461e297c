"""The command `llmdo lsp`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.cli import requests
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINE, say

if TYPE_CHECKING:
    import typer

PLACE = HelpPlace("Develop", 20)


def lsp() -> int:
    """Show an editor what `check` finds while you type, and what names mean: the language server, over stdio."""
    try:
        from llmdo.features.editor.serving import serve
    except ModuleNotFoundError as error:
        hint = installing("lsp")
        raise LlmdoError("the language server needs a library that is not installed", hint=hint) from error
    if sys.stdin.isatty():
        say("waiting for an editor, which starts this itself; Ctrl-C ends it")
    serve()
    return FINE


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    requests.add(app, lsp)
