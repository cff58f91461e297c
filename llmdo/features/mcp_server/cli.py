"""`llmdo serve`: entries for other programs."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmdo.base.request_fields import argument, option
from llmdo.cli import options, quick, requests
from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINE, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.terminal import Terminal
from llmdo.services.root import PROJECT, root_folder

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp.server.lowlevel import Server

PLACE = HelpPlace("Operate", 30)
TOKEN = "LLMDO_SERVE_TOKEN"  # noqa: S105  # the name of a variable


def mcp(
    entries: Annotated[
        tuple[str, ...], argument("[ENTRY]...", "The entries to offer; all where none is named.")
    ] = (),
    http: Annotated[
        int | None,
        option("Serve at 127.0.0.1 instead of over stdio.", metavar="PORT", least=0, most=65535),
    ] = None,
    model: Annotated[str | None, option("The model of workers that name none.", metavar="MODEL")] = None,
    project: Annotated[str | None, PROJECT] = None,
) -> int:
    """Offer entries as the tools of an MCP server, over stdio. Whoever uses the client is asked for approvals."""
    from llmdo.features.mcp_server import serving  # which needs an extra

    is_locked = quick.is_locked(flag=False, environ=os.environ)
    request = serving.ServeRequest(entries=entries, project=project, model=model, locked=is_locked)
    host = Terminal(approvals=ApprovalOptions(reject_all=True))
    server = serving.service_for(request, host).server()
    run_interruptibly(_serving(server, http), lambda: None)
    return FINE


def commands(project: Annotated[str | None, PROJECT] = None) -> int:
    """Offer check, reach, why, diff, suggest and explain as the tools of an MCP server, over stdio. They only read."""
    from llmdo.features.mcp_server.commands import server  # which needs an extra

    run_interruptibly(_serving(server(root_folder(project)), None), lambda: None)
    return FINE


def _serving(server: Server[Any], port: int | None) -> Coroutine[object, object, None]:
    from llmdo.features.mcp_server.serving import serve_http, serve_stdio

    if port is None:
        return serve_stdio(server)
    configured = os.environ.get(TOKEN)
    token = configured or secrets.token_urlsafe(24)

    def ready(bound: int) -> None:
        secret = f"the token in {TOKEN}" if configured else f"the token {token}"
        say(f"serving at http://127.0.0.1:{bound}/mcp; clients send {secret} as `Authorization: Bearer ...`")

    return serve_http(server, port, token, ready)


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    serve = typer.Typer(
        help="Offer entries, or commands that only read, to other programs.", callback=lambda: None
    )
    requests.add(serve, mcp, also=(options.WITH_ENV_FILE, options.WITH_TRUST))
    requests.add(serve, commands)
    app.add_typer(serve, name="serve")
