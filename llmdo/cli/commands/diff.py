"""`llmdo diff`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, put, say

PLACE = 50


class DiffFormat(StrEnum):
    """How a difference is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


class FailOn(StrEnum):
    """By which verdict `llmdo diff` fails."""

    widened = "widened"
    changed = "changed"


def diff(
    before: Annotated[str, typer.Argument(metavar="[REV]", help="A git revision.")] = "HEAD",
    after: Annotated[
        str, typer.Argument(metavar="[REV2|worktree]", help="Another one, or the lock as it is on disk.")
    ] = "worktree",
    locks: Annotated[
        Optional[tuple[str, str]],  # noqa: UP045
        typer.Option("--locks", metavar="A B", help="Compare two files, without git."),
    ] = None,
    fail_on: Annotated[
        Optional[FailOn],  # noqa: UP045
        typer.Option("--fail-on", help="Exit 1 where something widened that nobody accepted; or changed."),
    ] = None,
    lock_checked: Annotated[
        bool,
        typer.Option("--lock-checked", help="`lock --check` has passed, so nobody edited the lock by hand."),
    ] = False,
    format: Annotated[DiffFormat, typer.Option(help="How it is printed.")] = DiffFormat.text,  # noqa: A002
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every item that changed.")] = False,
    project: options.Project = None,
    origin: options.Origin = None,
) -> int:
    """Say what a change lets each entry do that it could not do before."""
    from llmdo.render import diff as render
    from llmdo.services import diff as service

    request = service.DiffRequest(
        before=before, after=after, locks=locks, lock_checked=lock_checked, project=project, origin=origin
    )
    try:
        outcome = service.diff(request, say)
    except LlmdoError as error:
        if format is not DiffFormat.json:
            raise
        put(render.error_json(error), end="", as_json=True)
        return CANNOT_GO_ON
    put(render.rendered(outcome, format.value, verbose=verbose), end="", as_json=format is DiffFormat.json)
    return FINDINGS if outcome.difference.fails(fail_on.value if fail_on else None) else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(diff)
