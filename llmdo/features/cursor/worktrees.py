"""The commands that Cursor runs in each worktree that it makes, before an agent works there."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from llmdo.base.parts import items, text
from llmdo.foreign.events import ClientEvents
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

_ANYWHERE = "setup-worktree"
_OF_SYSTEMS = ("setup-worktree-unix", "setup-worktree-windows")
"""The keys of systems: each counts there in place of the one for all (https://cursor.com/docs/configuration/worktrees)."""
_UNDOCUMENTED = frozenset({f"cleanup-worktree{each}" for each in ("", "-unix", "-windows")})
"""Keys that people write, and that are no misspelt ones."""


def worktree_events(files: Files, document: Document) -> Iterator[Grant]:
    """The commands, of whatever system: a list of them, or the path of a script."""
    files.misspelt_keys(document, {_ANYWHERE, *_OF_SYSTEMS, *_UNDOCUMENTED})
    is_for_all = any(document.data.get(key) is None for key in _OF_SYSTEMS)
    client = ClientEvents(files)
    for key in (*((_ANYWHERE,) if is_for_all else ()), *_OF_SYSTEMS):
        at = Place(document, (key,))
        if script := text(at.data):
            yield client.command(key, _in_project(files, document, script), at)
        for number, command in enumerate(items(at.data)):
            if text(command):
                yield client.command(key, text(command), Place(document, (key, number)))


def _in_project(files: Files, document: Document, script: str) -> str:
    """The path of a script, which is written from the folder of the file that names it; what is none stays."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document.source.path), script))
    return path if files.source(path) else script
