"""`llmdo run`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import option
from llmdo.cli import options, outcome, quick, requests
from llmdo.cli.approving import ApprovalOptions  # noqa: TC001  # the annotations are read
from llmdo.cli.console import FINE, put, say
from llmdo.cli.paged import paged
from llmdo.cli.terminal import Terminal
from llmdo.cli.watch import WatchOptions  # noqa: TC001
from llmdo.services import run as service
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    import typer


def run(
    start: service.EntryRequest,
    request: service.RunRequest,
    answers: ApprovalOptions,
    watch: WatchOptions,
    approvals: Annotated[options.ApprovalTime, options.APPROVALS] = "prompt",
    all_tools: Annotated[bool, option("List every tool that the run could call, and run nothing.")] = False,
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
) -> int:
    """Run an entry: exactly what was checked."""
    is_locked = quick.is_locked(flag=start.locked, environ=os.environ)
    start = replace(start, of_files=not start.locked, locked=is_locked)
    if all_tools:
        return _list_tools(start)
    later = approvals == "later"
    request = replace(request, start=start, later=later)
    watch = replace(watch, as_text=format == "text")
    terminal = Terminal(approvals=replace(answers, later=later), watch=watch)
    with paged(terminal, root_folder(start.project)) if request.paged else nullcontext(terminal) as host:
        return outcome.report(service.run(request, host), as_json=format == "json", detail=watch.detail)


def _list_tools(start: service.EntryRequest) -> int:
    """Prints every tool that a run could call."""
    from llmdo.cli.trusting import consent_here

    for offer in service.list_tools(start, say, consent_here()):
        capabilities = ", ".join(map(str, offer.capabilities)) or "nothing"
        put(f"{offer.worker} > {offer.toolset} > {offer.tool}: {capabilities}")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    requests.add(app, run, also=(options.WITH_ENV_FILE, options.WITH_STORE, options.WITH_TRUST))
