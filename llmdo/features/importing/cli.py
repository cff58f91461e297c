"""The command `llmdo import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import argument, option
from llmdo.cli import requests
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINDINGS, FINE, put, say

if TYPE_CHECKING:
    import typer

PLACE = HelpPlace("Begin", 40)


def import_project(
    form: Annotated[str, argument("FORMAT", "claude, docker-agent, gh-aw, ... or auto.")],
    directory: Annotated[
        Path,
        argument("DIR|FILE", "The project, which is only read; or a file of mcpServers, for mcp."),
    ],
    to: Annotated[Path, option("A new or empty folder.", metavar="DIR")] = Path("llmdo-import"),
) -> int:
    """Write a project of another tool as a workspace, and say what it could not carry over.

    A single file with mcpServers becomes toolsets of the workspace that is here: llmdo import mcp FILE.
    """
    from llmdo.features.importing.stubs import MODULE
    from llmdo.features.importing.workspace import import_project as write
    from llmdo.features.importing.workspace import report
    from llmdo.services import foreign

    if form == "mcp" and directory.is_file():
        return _import_servers(directory)
    imported = write(foreign.opened((form, str(directory)), say), to)
    put(report(imported, to.as_posix()), end="")
    stubs = f", write what {MODULE} stands for" if MODULE in imported.paths else ""
    say(f"next: read {to.as_posix()}/llmdo.toml{stubs}, then `llmdo lock`")
    return FINDINGS if any(finding.severity == "error" for finding in imported.findings) else FINE


def _import_servers(file: Path) -> int:
    """Names the servers of a client's file in the workspace that is here, and returns the exit code."""
    from llmdo import scaffold
    from llmdo.cli.commands.edit import EditedWorkspace, report
    from llmdo.services.root import root_folder

    root = root_folder(None)
    return report(scaffold.import_servers(root, file.absolute()), EditedWorkspace(root=root))


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    requests.add(app, import_project, "import")
