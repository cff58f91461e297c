"""The extensions of the workspace around a command that is about something else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.nearest import MANIFEST, nearest
from llmdo.services.invalid import require_extensions
from llmdo.syntax import discovery, toml
from llmdo.workspace.extensions import read_extensions

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension


def extensions_here() -> tuple[Extension, ...]:
    """The extensions that the nearest manifest names, from the current folder upwards; none without a manifest.

    Raises:
        LlmdoError: One of them is not loaded, or the person's own policy cannot be used.
    """
    root = nearest(str(Path.cwd()), MANIFEST)
    if not root:
        return ()
    source, unread = discovery.read_source(Path(root), MANIFEST)
    if unread or "extensions" not in source.text:
        return ()
    problems: list[Diagnostic] = []
    loaded = read_extensions(Path(root), toml.parse(source), problems)
    require_extensions(problems)
    return tuple(each.extension for each in loaded)
