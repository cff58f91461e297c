"""`llmdo serve`: entries for other programs."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli.auditing import auditing
from llmdo.cli.console import FINE, root_folder, say
from llmdo.cli.edit import Project  # noqa: TC001  # typer reads the annotations
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.quick import is_locked
from llmdo.workspace.reading import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.services.serving import Service

TOKEN = "LLMDO_SERVE_TOKEN"  # noqa: S105  # the name of a variable

serve = typer.Typer(help="Offer entries to other programs.", callback=lambda: None)


@serve.command("mcp")
def serve_mcp(
    entries: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads annotations at run time
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
    project: Project = None,
) -> int:
    """Offer entries as the tools of an MCP server, over stdio. Whoever uses the client is asked for approvals."""
    from llmdo.cli.approving import ApprovalOptions, approving
    from llmdo.cli.run import graph_of, hindered
    from llmdo.runtime import ModelChoice, RunOptions
    from llmdo.services.serving import Service, offers_of
    from llmdo.toolsets.processes import hide_from_children
    from llmdo.workspace import project as projects

    root = root_folder(project)
    read = projects.read(root)
    locked = is_locked(flag=False, environ=os.environ) and read.workspace.has_lock
    if (code := hindered(read, root, locked=locked)) is not None:
        return code
    hide_from_children()
    graph = graph_of(read)
    answering = approving(ApprovalOptions(reject_all=True), graph, os.environ)
    service = Service(
        graph=graph,
        root=root,
        prompts=read.prompts,
        offers=offers_of(graph, root, entries or ()),
        options=RunOptions(
            models=ModelChoice(default=model, environment=os.environ.get("LLMDO_MODEL") or None),
            locked=locked,
            mode="client",
            tightening=answering.tightening,
        ),
        watched=partial(_watched, root),
    )
    run_interruptibly(_serve(service, http), lambda: None)
    return FINE


def _serve(service: Service, port: int | None) -> Coroutine[object, object, None]:
    from llmdo.services.serving import serve_http, serve_stdio

    if port is None:
        return serve_stdio(service)
    given = os.environ.get(TOKEN)
    token = given or secrets.token_urlsafe(24)

    def ready(bound: int) -> None:
        secret = f"the token in {TOKEN}" if given else f"the token {token}"
        say(f"serving at http://127.0.0.1:{bound}/mcp; clients send {secret} as `Authorization: Bearer ...`")

    return serve_http(service, port, token, ready)


@contextmanager
def _watched(root: Path, run: str) -> Iterator[Recorder | None]:
    from llmdo.runtime.recording.keeping import keeping

    keeps = (root / MANIFEST).is_file()
    with keeping(root, run, os.environ) if keeps else nullcontext() as recorder, auditing(recorder):
        yield recorder
