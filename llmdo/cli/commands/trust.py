"""`llmdo trust`."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003  # the annotations are read
from typing import TYPE_CHECKING, Annotated

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.cli import requests
from llmdo.cli.console import FINE, put, say
from llmdo.services import trust as service

if TYPE_CHECKING:
    import typer


def trust(
    request: service.TrustRequest,
    directory: Annotated[
        Path | None, argument("[DIR]", "With --forget: a folder, also one that is gone.")
    ] = None,
    listed: Annotated[bool, option("List the recorded answers.", "--list")] = False,
    forget: Annotated[bool, option("Take back the answers for a workspace.")] = False,
    whole: Annotated[bool, option("Show all of long files.", "-v", "--verbose")] = False,
) -> int:
    """Show what a workspace would run on this machine, its code, MCP servers and shell rules, and trust it as it is."""
    from llmdo.render import trust as render

    if listed + forget + request.folder > 1 or (directory and not forget):
        raise LlmdoError("`--list`, `--forget [DIR]` and `--folder` cannot be combined")
    if listed:
        put("\n".join(render.listed(service.answers(os.environ))) or "no answers are recorded")
    elif forget:
        say(f"{service.forget(directory, request.project, os.environ)} forgotten")
    else:
        _report(service.give(request), is_folder=request.folder, whole=whole)
    return FINE


def _report(outcome: service.TrustOutcome, *, is_folder: bool, whole: bool) -> None:
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
    requests.add(app, trust)
