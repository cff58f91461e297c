"""`llmdo trust`."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINE, put, say

if TYPE_CHECKING:
    from llmdo.services.trust import TrustOutcome


def trust(
    directory: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="[DIR]", help="With --forget: a folder, also one that is gone."),
    ] = None,
    folder: Annotated[
        bool, typer.Option("--folder", help="Trust the folder whatever becomes of it, until --forget.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the recorded answers.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Take back the answers for a workspace.")] = False,
    whole: Annotated[bool, typer.Option("-v", "--verbose", help="Show all of long files.")] = False,
    project: options.Project = None,
) -> int:
    """Show what a workspace would run on this machine, its code, MCP servers and shell rules, and trust it as it is."""
    from llmdo.render import trust as render
    from llmdo.services import trust as service

    if listed + forget + folder > 1 or (directory and not forget):
        raise LlmdoError("`--list`, `--forget [DIR]` and `--folder` cannot be combined")
    if listed:
        put("\n".join(render.listed(service.answers(os.environ))) or "no answers are recorded")
    elif forget:
        say(f"{service.forget(directory, project, os.environ)} forgotten")
    else:
        request = service.TrustRequest(project=project, kind="folder" if folder else "content")
        _report(service.give(request), is_folder=folder, whole=whole)
    return FINE


def _report(outcome: TrustOutcome, *, is_folder: bool, whole: bool) -> None:
    """Prints the trusted code."""
    from llmdo.render import trust as render

    question = outcome.question
    for each in outcome.refused:
        say(f"warning: nothing runs before this: {each.message} [{each.code}]")
        say(f"hint: {each.hint}")
    if not question.items and not is_folder:
        say("nothing to trust: this workspace has no code, no MCP servers and no shell rules")
        return
    put("\n".join(render.described(question, 100, folded=not whole, unfolding="llmdo trust -v")))
    scope = "this folder, until `llmdo trust --forget`" if is_folder else "this content, until it changes"
    say(f"trusted: {scope}" if outcome.is_new else f"was trusted already: {scope}")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(trust)
