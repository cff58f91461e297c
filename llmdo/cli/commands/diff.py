"""`llmdo diff`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, put, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llmdo.services.diff import DiffOutcome, DiffRequest
    from llmdo.services.root import Tell


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
    before: Annotated[
        str, typer.Argument(metavar="[REV]", help="A git revision; REV..REV2 names both.")
    ] = "HEAD",
    after: Annotated[
        str,
        typer.Argument(metavar="[REV2|worktree]", help="Another one, or the sources as they are on disk."),
    ] = "worktree",
    locks: Annotated[
        Optional[tuple[str, str]],  # noqa: UP045
        typer.Option("--locks", metavar="A B", help="Compare two files, without git."),
    ] = None,
    fail_on: Annotated[
        Optional[FailOn],  # noqa: UP045
        typer.Option(
            "--fail-on",
            help="Exit 1 where something widened that nobody accepted, or changed; 2 where that is unknown.",
        ),
    ] = None,
    lock_checked: Annotated[
        bool,
        typer.Option("--lock-checked", help="`lock --check` has passed, so nobody edited the lock by hand."),
    ] = False,
    format: Annotated[DiffFormat, typer.Option(help="How it is printed.")] = DiffFormat.text,  # noqa: A002
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every item that changed.")] = False,
    project: options.Projects = None,
    everything: options.AllProjects = False,
    origin: options.Origin = None,
) -> int:
    """Say what a change lets each entry do that it could not do before."""
    from llmdo.services import diff as service

    first = project[0] if project else None
    if ".." in before and after == service.WORKTREE:
        before, after = service.sides_of(before)
    request = service.DiffRequest(
        before=before, after=after, locks=locks, lock_checked=lock_checked, project=first, origin=origin
    )
    if (roots := options.several(project, everything=everything)) and (locks or origin):
        raise LlmdoError("several workspaces conflict with `--locks` and `--from`")
    return _compared(request, roots, fail_on, format, verbose=verbose)


def _compared(
    request: DiffRequest,
    roots: Sequence[Path],
    fail_on: FailOn | None,
    form: DiffFormat,
    *,
    verbose: bool,
) -> int:
    """Prints the differences, in one workspace or in several, and returns the exit code."""
    from llmdo.cli import workspaces
    from llmdo.render import diff as render
    from llmdo.services import diff as service

    def compare(root: Path | None, tell: Tell) -> tuple[DiffOutcome, int]:
        outcome = service.diff(replace(request, project=str(root)) if root else request, tell)
        if outcome.difference.fails(fail_on.value if fail_on else None):
            return outcome, FINDINGS
        return outcome, CANNOT_GO_ON if fail_on and outcome.difference.is_unknown else FINE

    if roots:
        return workspaces.diff(roots, form.value, compare, verbose=verbose)
    try:
        outcome, code = compare(None, say)
    except LlmdoError as error:
        if form is not DiffFormat.json:
            raise
        put(render.error_json(error), end="", as_json=True)
        return CANNOT_GO_ON
    put(render.rendered(outcome, form.value, verbose=verbose), end="", as_json=form is DiffFormat.json)
    return code


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(diff)
