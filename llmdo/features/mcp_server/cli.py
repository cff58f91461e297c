"""`llmdo serve`: entries for other programs."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import options, quick  # typer reads the annotations
from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.console import FINE, say

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from llmdo.features.mcp_server.serving import Service

PLACE = 210
TOKEN = "LLMDO_SERVE_TOKEN"  # noqa: S105  # the name of a variable

serve = typer.Typer(help="Offer entries to other programs.", callback=lambda: None)


@serve.command("mcp")
def serve_mcp(
    entries: Annotated[
        options.Texts,
        typer.Argument(metavar="[ENTRY]...", help="The entries to offer; all where none is named."),
    ] = None,
    http: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--http", metavar="PORT", min=0, max=65535, help="Serve at 127.0.0.1 instead of over stdio."
        ),
    ] = None,
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--model", metavar="MODEL", help="The model of workers that name none."),
    ] = None,
    project: options.Project = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
) -> int:
    """Offer entries as the tools of an MCP server, over stdio. Whoever uses the client is asked for approvals."""
    from llmdo.cli.interruption import run_interruptibly
    from llmdo.cli.terminal import Terminal
    from llmdo.features.mcp_server import serving

    is_locked = quick.is_locked(flag=False, environ=os.environ)
    request = serving.ServeRequest(
        entries=tuple(entries or ()), project=project, model=model, locked=is_locked
    )
    host = Terminal(approvals=ApprovalOptions(reject_all=True))
    run_interruptibly(_serving(serving.service_for(request, host), http), lambda: None)
    return FINE


def _serving(service: Service, port: int | None) -> Coroutine[object, object, None]:
    from llmdo.features.mcp_server.serving import serve_http, serve_stdio

    if port is None:
        return serve_stdio(service)
    configured = os.environ.get(TOKEN)
    token = configured or secrets.token_urlsafe(24)

    def ready(bound: int) -> None:
        secret = f"the token in {TOKEN}" if configured else f"the token {token}"
        say(f"serving at http://127.0.0.1:{bound}/mcp; clients send {secret} as `Authorization: Bearer ...`")

    return serve_http(service, port, token, ready)


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    app.add_typer(serve, name="serve")
