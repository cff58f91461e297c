"""`llmdo replay`."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, say
from llmdo.journal import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.cli.watch import WatchOptions
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.plan import EndedRun
    from llmdo.services.resume_replay import Watching


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN|FILE", help="A run's id, or an exported run.")],
    project: options.Project = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--until", metavar="STEP", help="Stop before a tool's PATH, or before PATH@N, a request."
        ),
    ] = None,
    rerun_tools: Annotated[
        bool, typer.Option("--rerun-tools", help="Run the tools that only read, and compare.")
    ] = False,
    sources: options.Sources = options.SourceOrigin.workspace,
    verbose: options.Verbose = 0,
    log_events: options.LogEvents = None,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """Repeat a run from its journal alone: no key, no network, no effects."""
    from llmdo.cli.trusting import consent_here
    from llmdo.services import resume_replay as service
    from llmdo.services.root import root_folder

    root = Path.cwd() if run.endswith(SUFFIX) else root_folder(project)
    request = service.ReplayRequest(
        run=run, root=root, until=until, rerun_tools=rerun_tools, sources=sources.value
    )
    watch = _watching(options.watched(verbose, log_events))
    replayed = service.replay(request, watch, say, consent_here())
    if replayed.is_there:
        say(f"stopped before {until}, as asked")
        return FINE
    return _report(replayed, as_json=format == "json")


def _watching(watch: WatchOptions) -> Watching:
    from llmdo.cli.watch import watching

    @contextmanager
    def watched(run: str, entry: str) -> Iterator[Sink]:
        with watching(watch, run=run, entry=entry, approvals="recorded", environ=os.environ) as watching_it:
            yield watching_it.sink

    return watched


def _report(replayed: EndedRun, *, as_json: bool) -> int:
    """Prints the tools that did not end as recorded, and how the run ended; returns the exit code."""
    from llmdo.cli import outcome

    for difference in replayed.differences:
        say(f"error: {difference}")
    code = outcome.report(replayed, as_json=as_json)
    return FINDINGS if replayed.differences else code


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(replay)
