"""`llmdo lock`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.base.values import replace
from llmdo.cli import options, requests
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, say
from llmdo.services import lock as service
from llmdo.services.root import Workspaces  # noqa: TC001  # the annotations are read

if TYPE_CHECKING:
    from pathlib import Path

    import typer


def lock(
    request: service.LockRequest,
    where: Workspaces,
    verbose: Annotated[bool, option("Name every item that changed.", "-v", "--verbose")] = False,
) -> int:
    """Write llmdo.lock: the resolved graph. Imports toolset modules and asks MCP servers, in child processes."""
    from llmdo.cli import workspaces
    from llmdo.cli.trusting import consent_here

    def work(root: str | Path | None) -> int:
        located = replace(request, project=str(root) if root else None)
        return _report(service.lock(located, say, consent_here()), verbose=verbose)

    roots = where.roots
    return workspaces.each(roots, work) if roots else work(where.first)


def _report(outcome: service.LockOutcome, *, verbose: bool) -> int:
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
    requests.add(app, lock, also=(options.WITH_TRUST,))
