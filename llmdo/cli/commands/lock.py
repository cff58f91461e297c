"""`llmdo lock`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, say

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.services.lock import LockOutcome


def lock(
    project: options.Projects = None,
    everything: options.AllProjects = False,
    check: Annotated[
        bool, typer.Option("--check", help="Derive everything again and compare; write nothing.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Import every toolset module again: its libraries may have changed."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no MCP server; keep what the lock knows of them.")
    ] = False,
    allow_downgrade: Annotated[
        bool, typer.Option("--allow-downgrade", help="Overwrite even a lock that a newer llmdo wrote.")
    ] = False,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every item that changed.")] = False,
) -> int:
    """Write llmdo.lock: the resolved graph. Imports toolset modules and asks MCP servers, in child processes."""
    from llmdo.base.values import replace
    from llmdo.cli import workspaces
    from llmdo.cli.trusting import consent_here
    from llmdo.services import lock as service

    first = project[0] if project else None
    request = service.LockRequest(
        project=first, check=check, refresh=refresh, offline=offline, allow_downgrade=allow_downgrade
    )

    def work(root: Path | None = None) -> int:
        located = replace(request, project=str(root)) if root else request
        return _report(service.lock(located, say, consent_here()), verbose=verbose)

    roots = options.several(project, everything=everything)
    return workspaces.each(roots, work) if roots else work()


def _report(outcome: LockOutcome, *, verbose: bool) -> int:
    """Prints the result of locking, and returns the exit code."""
    from llmdo.cli.check import show_findings
    from llmdo.render import drift

    if outcome.status == "hindered":
        show_findings(outcome.findings, outcome.root, sys.stderr)
        return CANNOT_GO_ON if outcome.is_newer else FINDINGS
    if outcome.status == "differs":
        show_findings(outcome.findings, outcome.root, sys.stdout)
        return FINDINGS
    for line in drift.lines(outcome.changes, whole=verbose):
        say(line)
    say("wrote llmdo.lock" if outcome.status == "written" else "llmdo.lock is up to date")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(lock)
