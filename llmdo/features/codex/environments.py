"""The scripts that the Codex app runs in each worktree that it makes, and before it takes one away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import text
from llmdo.foreign.events import ClientEvents
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

_STAGES = ("setup", "cleanup")
_SYSTEMS = ("darwin", "linux", "win32")
"""The tables of systems: each counts there in place of what is said for all
(https://developers.openai.com/codex/app/local-environments)."""
_KEYS = frozenset({*_STAGES, "actions", "name", "version"})
_SCRIPT = "script"


def environment_events(files: Files, document: Document) -> Iterator[Grant]:
    """The scripts, of whatever system; its `actions` are buttons, which a person presses."""
    files.misspelt_keys(document, _KEYS)
    client = ClientEvents(files)
    for stage in _STAGES:
        files.misspelt_keys(document, {_SCRIPT, *_SYSTEMS}, stage)
        routes = [(stage, system) for system in _SYSTEMS]
        of_systems = [(route, Place(document, (*route, _SCRIPT))) for route in routes]
        is_for_all = not all(text(at.data).strip() for _, at in of_systems)
        for_all = [((stage,), Place(document, (stage, _SCRIPT)))] if is_for_all else []
        for route, at in (*for_all, *of_systems):
            if script := text(at.data).strip():
                yield client.command(".".join(route), script, at)
