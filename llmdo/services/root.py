"""The workspace of a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], None]
    """Takes a line for the person who waits."""


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
