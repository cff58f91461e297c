"""`llmdo resume`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.cli import options, outcome, requests
from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.terminal import Terminal
from llmdo.cli.watch import WatchOptions  # noqa: TC001  # the annotations are read
from llmdo.services import resume_replay as service
from llmdo.services.plan import ResumeRequest  # noqa: TC001

if TYPE_CHECKING:
    import typer


def resume(
    request: ResumeRequest,
    answers: ApprovalOptions,
    watch: WatchOptions,
    limit: Annotated[
        tuple[str, ...],
        option("A new limit for the rest of the run; may be repeated.", metavar="NAME=N"),
    ] = (),
    approvals: Annotated[options.ApprovalTime, options.APPROVALS] = "prompt",
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
) -> int:
    """Go on with a run where it stopped; nothing recorded is asked or executed again."""
    request = replace(request, limits=service.limits_of(limit))
    answers = replace(answers, later=approvals == "later")
    watch = replace(watch, as_text=format == "text")
    host = Terminal(approvals=_later_without_terminal(answers), watch=watch)
    return outcome.report(service.resume(request, host), as_json=format == "json", detail=watch.detail)


def _later_without_terminal(answers: ApprovalOptions) -> ApprovalOptions:
    """The options, with questions left waiting without a terminal.

    A no that nobody gave would be in the journal for good.
    """
    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if answers.approve_all or answers.reject_all or has_terminal:
        return answers
    return ApprovalOptions(approve=answers.approve, later=True)


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    also = (options.WITH_ENV_FILE, options.WITH_STORE, options.WITH_TRUST)
    requests.add(app, resume, also=also, without=("trace_content", "trace_binary"))
