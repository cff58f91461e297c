"""What Copilot runs by itself in a project: hooks in files of their own and in settings, and extensions in code."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.features.copilot import EXTENSIONS, HOOKS, SETTINGS, SHARED
from llmdo.foreign.events import OWN_HOOK, ClientEvents, hooks_in, note_unheeded
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant

_READS = frozenset(
    {
        "SessionStart", "SubagentStart", "UserPromptSubmit", "sessionStart", "subagentStart", "userPromptSubmit",
        "userPromptSubmitted",
    }
)  # fmt: skip
"""The events whose hooks may add to the conversation, as the command line and VS Code write them."""
_SWITCH = "disableAllHooks"


def hook_events(files: Files, *tables: Place) -> tuple[Grant, ...]:
    """The hooks in tables."""
    return tuple(ClientEvents(files).hooks(tables, reads=_READS))


def session_events(files: Files) -> tuple[tuple[Grant, ...], Place | None]:
    """What runs in a session, and the first place that is about one; None without any."""
    own = [each for path in files.named([HOOKS]) if (each := files.json(path))]
    settings = [each for path in files.named(SETTINGS) if (each := files.json(path))]
    if (own or settings) and not files.tree.only:
        settings = [*(each for path in SHARED if (each := files.json(path))), *settings]
    tables = [Place(document, ("hooks",), of_key=True) for document in (*own, *settings)]
    switches = [at for each in reversed(settings) if isinstance((at := Place(each, (_SWITCH,))).data, bool)]
    switch = switches[0] if switches and switches[0].data is True else None
    note_unheeded(files, tables, switch)
    for document in own if switch is None else ():
        at = Place(document, (_SWITCH,))
        note_unheeded(files, [Place(document, ("hooks",))], at if at.data is True else None)
    events = (*(() if switch else hook_events(files, *tables)), *_extensions(files))
    asked = (hook.at for place in tables for hook in hooks_in(place) if OWN_HOOK.fullmatch(hook.command))
    return events, next(iter([*(event.at for event in events), *asked]), None)


def _extensions(files: Files) -> Iterator[Grant]:
    """The extensions of its command line, each of which is a program that it starts with the session."""
    for path in files.named([EXTENSIONS]):
        if source := files.source(path):
            name = f"extension {PurePosixPath(path).parent.name}"
            yield ClientEvents(files).module(name, path, Place(Document(source, {}, dict), ()), path)
