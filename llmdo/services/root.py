"""The workspace of a command, and what several requests ask for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], None]
    """Takes a line for the person who waits."""


SOURCES = option("Run the workspace, or the code that an imported run brought.")
RUN = argument("RUN", "A run's id, a unique start or end of one, or `last`.")
ENTRY = argument("[ENTRY]", "One entry; all where left out.")
SELECT = option(
    "NAME, +NAME, NAME+, 2+NAME, toolset:NAME, cap:CAPABILITY, path:GLOB, state:modified[:REV]; a comma intersects.",
    metavar="SELECTOR",
)
PROJECT = option("The workspace's folder, instead of looking upwards from here.", metavar="DIR", last=True)
ORIGIN = option(
    "A project of another tool, read as it is: claude, codex, copilot, cursor, docker-agent, fast-agent, gemini, "
    "gh-aw, github-actions, llm-do, mcp, opencode or auto.",
    "--from",
    metavar="FORMAT DIR",
    last=True,
)


def root_folder(project: str | None) -> Path:
    """The workspace's root: `project`, else `LLMDO_PROJECT`, else found by walking up from here.

    Raises:
        LlmdoError: There is none.
    """
    from llmdo.workspace.root import MANIFEST, find_root

    chosen = project or os.environ.get("LLMDO_PROJECT")
    if not chosen:
        return find_root(Path.cwd())
    folder = Path(chosen)
    if not (folder / MANIFEST).is_file():
        raise LlmdoError(f"`{chosen}` has no `{MANIFEST}`", hint="`--project` names the folder that holds it")
    return folder.absolute()


ROOT = option(PROJECT["option"].help, "--project", metavar="DIR", last=True, by=root_folder)
"""The same folder as a `Path`, found where none is named."""
