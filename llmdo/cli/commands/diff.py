"""`llmdo diff`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.cli import requests
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, put, say
from llmdo.services import diff as service
from llmdo.services.root import Workspaces  # noqa: TC001  # the annotations are read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import typer

    from llmdo.diff import Difference
    from llmdo.services.root import Tell

    Compare = Callable[[Path | None, Tell], tuple[service.DiffOutcome, int]]

Form = Literal["text", "json", "markdown"]


def diff(
    where: Workspaces,
    request: service.DiffRequest,
    fail_on: Annotated[
        Literal["widened", "changed"] | None,
        option("Exit 1 where something widened that nobody accepted, or changed; 2 where that is unknown."),
    ] = None,
    format: Annotated[Form, option("How it is printed.")] = "text",  # noqa: A002
    verbose: Annotated[bool, option("Name every item that changed.", "-v", "--verbose")] = False,
) -> int:
    """Say what a change lets each entry do that it could not do before."""
    if ".." in request.before and request.after == service.WORKTREE:
        before, after = service.sides_of(request.before)
        request = replace(request, before=before, after=after)
    if (roots := where.roots) and (request.locks or request.origin):
        raise LlmdoError("several workspaces conflict with `--locks` and `--from`")

    def compare(root: Path | None, tell: Tell) -> tuple[service.DiffOutcome, int]:
        outcome = service.diff(replace(request, project=str(root) if root else where.first), tell)
        return outcome, exit_code(outcome.difference, fail_on)

    return _compared(compare, roots, format, verbose=verbose)


def exit_code(difference: Difference, fail_on: Literal["widened", "changed"] | None) -> int:
    """The exit code for a difference, if it is to fail on some."""
    if difference.fails(fail_on):
        return FINDINGS
    return CANNOT_GO_ON if fail_on and difference.is_unknown else FINE


def _compared(compare: Compare, roots: Sequence[Path], form: Form, *, verbose: bool) -> int:
    """Prints the differences, in one workspace or in several, and returns the exit code."""
    from llmdo.cli import workspaces
    from llmdo.render import diff as render

    if roots:
        return workspaces.diff(roots, form, compare, verbose=verbose)
    try:
        outcome, code = compare(None, say)
    except LlmdoError as error:
        if form != "json":
            raise
        put(render.error_json(error), end="", as_json=True)
        return CANNOT_GO_ON
    put(render.rendered(outcome, form, verbose=verbose), end="", as_json=form == "json")
    return code


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    requests.add(app, diff)
