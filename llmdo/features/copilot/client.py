"""What Copilot runs by itself in a project: hooks in files of their own and in settings, and extensions in code."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table, text, texts
from llmdo.features.copilot import EXTENSIONS, HOOKS, LANGUAGE_SERVERS, SETTINGS, SHARED
from llmdo.foreign.events import OWN_HOOK, ClientEvents, hooks_in, note_unheeded
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def session_events(files: Files, *, has_agents: bool) -> tuple[tuple[Grant, ...], Place | None]:
    """What runs in a session, and the first place that is about one; None without any.

    Settings of Claude Code count where the project has others for the command line, or `has_agents` for it.
    """
    own = [each for path in files.named([HOOKS]) if (each := files.json(path))]
    settings = [each for path in files.named(SETTINGS) if (each := files.json(path))]
    if (own or settings or has_agents) and not files.tree.only:
        settings = [*(each for path in SHARED if (each := files.json(path))), *settings]
    tables = [Place(document, ("hooks",), of_key=True) for document in (*own, *settings)]
    switches = [at for each in reversed(settings) if isinstance((at := Place(each, (_SWITCH,))).data, bool)]
    switch = switches[0] if switches and switches[0].data is True else None
    note_unheeded(files, tables, switch)
    for document in own if switch is None else ():
        at = Place(document, (_SWITCH,))
        note_unheeded(files, [Place(document, ("hooks",))], at if at.data is True else None)
    started = (*_extensions(files), *_plugins(files, settings), *_language_servers(files))
    events = (*(() if switch else hook_events(files, *tables)), *started)
    asked = (hook.at for place in tables for hook in hooks_in(place) if OWN_HOOK.fullmatch(hook.command))
    return events, next(iter([*(event.at for event in events), *asked]), None)


def _plugins(files: Files, settings: Iterable[Document]) -> Iterator[Grant]:
    """The plugins that settings enable, which come from elsewhere."""
    for document in settings:
        for name, is_on in table(document.data, "enabledPlugins").items():
            if is_on is True and document.source.path in SETTINGS:
                shown = excerpt(name.partition("@")[0], MAX_NAME)
                at = Place(document, ("enabledPlugins", name), of_key=True)
                yield ClientEvents(files).module(f"plugin {shown}", excerpt(name, MAX_NAME), at, None)


def _language_servers(files: Files) -> Iterator[Grant]:
    for path in files.named([LANGUAGE_SERVERS]):
        if document := files.json(path):
            for name, server in table(document.data, "lspServers").items():
                command = " ".join([text(table(server).get("command")), *texts(table(server).get("args"))])
                at = Place(document, ("lspServers", name, "command"))
                if command.strip():
                    yield ClientEvents(files).command(
                        f"language server {excerpt(name, MAX_NAME)}", command, at
                    )


def _extensions(files: Files) -> Iterator[Grant]:
    """The extensions of its command line, each of which is a program that it starts with the session."""
    for path in files.named([EXTENSIONS]):
        if source := files.source(path):
            name = f"extension {PurePosixPath(path).parent.name}"
            yield ClientEvents(files).module(name, path, Place(Document(source, {}, dict), ()), path)
