"""`llmdo audit`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Optional

import typer

from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, put, say


class AuditFormat(StrEnum):
    """How an audit is printed."""

    text = "text"
    json = "json"
    jsonl = "jsonl"


def audit(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN|FILE", help="A run's id, the start or end of one, or `last`; or a copy."),
    ],
    verify: Annotated[bool, typer.Option("--verify", help="Verify the chain of records.")] = False,
    head: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--head", metavar="HASH", help="Verify that the chain ends with what the run printed."),
    ] = None,
    format: Annotated[  # noqa: A002
        AuditFormat, typer.Option(help="How it is printed; jsonl: the records as they are chained.")
    ] = AuditFormat.text,
    project: options.Project = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
) -> int:
    """Show every decision of a run: who let what through, by which rule or answer."""
    from llmdo.render import audit as render
    from llmdo.services import runs as service

    request = service.AuditRequest(run=run, project=project, verify=verify, head=head)
    outcome = service.audit(request)
    for line in render.rendered(outcome, format.value, verified=request.verifies):
        put(line, as_json=format is not AuditFormat.text)
    if outcome.audit.faults and not request.verifies:
        say("warning: the chain does not hold; `--verify` says where")
    return FINDINGS if request.verifies and outcome.audit.faults else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(audit)
