"""The command `llmdo page`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import options  # noqa: TC001  # typer reads the annotations
from llmdo.cli.console import FINE, put, say

if TYPE_CHECKING:
    from llmdo.features.page.subject import Subject

PLACE = 85


def page(
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes any that is free.")
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="Listen where others can connect; 0.0.0.0 is everywhere."
        ),
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
    export: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--export", metavar="FILE.html", help="Write one file instead, which needs no server."),
    ] = None,
    revisions: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--rev", metavar="A..B", help="Two revisions that the file compares."),
    ] = None,
    run: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--run", metavar="RUN|last", help="A run that the file shows as well, all of it."),
    ] = None,
    project: options.Project = None,
    origin: options.Origin = None,
    store: options.Store = None,  # noqa: ARG001  # its callback reads it
    beside: Annotated[Optional[int], typer.Option("--beside", hidden=True)] = None,  # noqa: UP045  # `run --page`
) -> int:
    """Show in a browser what entries can reach, by which paths and behind which gates; on this machine alone."""
    from llmdo.features.page.subject import Subject

    if project and origin:
        raise LlmdoError("`--project` applies to llmdo workspaces and cannot be combined with `--from`")
    subject = Subject(project=project, origin=origin)
    if beside is not None:
        _attach(subject, beside)
    if export is None:
        _require_file(revisions, run)
        _serve(subject, host, port, opens=not no_open)
    else:
        _export(subject, export, revisions, run)
    return FINE


def _attach(subject: Subject, descriptor: int) -> None:
    """Attaches the page to a run at the other end of a connection."""
    import socket

    from llmdo.services.run_processes import LiveRun

    subject.desk.live_run = LiveRun(socket.socket(fileno=descriptor))


def _require_file(revisions: str | None, run: str | None) -> None:
    """Requires that no option is given that only a file has.

    Raises:
        LlmdoError: One is.
    """
    if revisions is not None:
        raise LlmdoError(
            "`--rev` is for `--export`", hint="the page that is served compares any two: #/diff/A..B"
        )
    if run is not None:
        raise LlmdoError("`--run` is for `--export`", hint="the page that is served shows every run: #/runs")


def _export(subject: Subject, path: str, revisions: str | None, run: str | None) -> None:
    from llmdo.features.page.export import PageExport
    from llmdo.features.page.export import export as write

    size = write(PageExport(subject=subject, path=path, revisions=revisions, run=run))
    say(f"wrote {path}, {size / 1000:,.0f} kB")


def _serve(subject: Subject, host: str, port: int, *, opens: bool) -> None:
    from llmdo.cli.interruption import run_interruptibly
    from llmdo.features.page.opening import show
    from llmdo.features.page.server import ServerRequest

    request = ServerRequest(subject=subject, host=host, port=port)
    run_interruptibly(show(request, _put_at_once, say, opens=opens), lambda: None)


def _put_at_once(link: str) -> None:
    put(link)
    sys.stdout.flush()  # whoever reads it from a pipe waits for it


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(page)
