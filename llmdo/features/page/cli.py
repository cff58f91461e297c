"""The command `llmdo page`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.cli import options, requests
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINE, put, say
from llmdo.features.page.subject import Subject  # noqa: TC001  # the annotations are read

if TYPE_CHECKING:
    import typer

PLACE = HelpPlace("Look", 20, is_first=True)


def page(
    subject: Subject,
    port: Annotated[int, option("The port; 0 takes any that is free.", metavar="N", least=0, most=65535)] = 0,
    host: Annotated[
        str, option("Listen where others can connect; 0.0.0.0 is everywhere.", metavar="ADDRESS")
    ] = "127.0.0.1",
    no_open: Annotated[bool, option("Print the link, and open no browser.")] = False,
    export: Annotated[
        str | None, option("Write one file instead, which needs no server.", metavar="FILE.html")
    ] = None,
    rev: Annotated[str | None, option("Two revisions that the file compares.", metavar="A..B")] = None,
    run: Annotated[
        str | None, option("A run that the file shows as well, all of it.", metavar="RUN|last")
    ] = None,
    beside: Annotated[int | None, option("The connection of `run --page`.", hidden=True)] = None,
) -> int:
    """Show in a browser what entries can reach, by which paths and behind which gates; on this machine alone."""
    if subject.project and subject.origin:
        raise LlmdoError("`--project` applies to llmdo workspaces and cannot be combined with `--from`")
    if beside is not None:
        _attach(subject, beside)
    if export is None:
        _require_file(rev, run)
        _serve(subject, host, port, opens=not no_open)
    else:
        _export(subject, export, rev, run)
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
    requests.add(app, page, also=(options.WITH_STORE,))
