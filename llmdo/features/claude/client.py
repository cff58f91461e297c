"""What Claude Code runs by itself, and where it sends the conversation, by its settings and by hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table, text
from llmdo.features.claude.hooks import ALL_EVENTS, never_runs
from llmdo.features.claude.rules import COMMAND_KEYS
from llmdo.foreign.events import MODELS_ADDRESSES, ClientEvents
from llmdo.foreign.team import MAX_NAME, Grant, capability_of
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

READS = frozenset({"SessionStart", "Setup", "SubagentStart", "UserPromptExpansion", "UserPromptSubmit"})
"""The events whose hooks add what they print to the conversation."""

_HELPERS = (
    "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper",
)  # fmt: skip
"""Settings that are a command."""
_DRAWING = ("statusLine", "subagentStatusLine")
"""Settings with a command that are switched off together with hooks."""
_SUGGESTS = "fileSuggestion"
_PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
"""The variable with a program that is given every command."""
_ADDRESSES = sorted(name for name in MODELS_ADDRESSES if name.startswith("ANTHROPIC_"))
"""The variables with the address of its model."""
_OWN = ("amazonaws.com", "anthropic.com", "azure.com", "claude.com", "googleapis.com")
"""Hosts of those who offer its models."""


def settings_events(files: Files, documents: Sequence[Document], *, no_hooks: bool) -> Iterator[Grant]:
    """What settings make it run, without hooks; of a setting in several files the last counts."""
    client = ClientEvents(files)
    for key in _HELPERS:
        if at := _last(documents, key):
            yield client.command(key, text(at.data), at)
    for key in (_SUGGESTS, *(() if no_hooks else _DRAWING)):
        if at := _last(documents, key, "command"):
            yield client.command(key, text(at.data), at)
    if at := _last(documents, "env", _PREFIX):
        yield client.command(f"env {_PREFIX}", text(at.data), at)
    for key in _ADDRESSES:
        if at := _last(documents, "env", key):
            yield client.address(f"env {key}", text(at.data), at, own=_OWN)


def _last(documents: Sequence[Document], *route: str) -> Place | None:
    """The last place with a text at `route`."""
    places = (Place(document, route) for document in reversed(documents))
    return next((at for at in places if text(at.data).strip()), None)


def hook_events(files: Files, tables: Iterable[Place], root: str = "") -> Iterator[Grant]:
    """The hooks in tables; `root` is the folder of their plugin."""
    yield from ClientEvents(files, root, refuses_by_two=True).hooks(
        tables, reads=READS, known=ALL_EVENTS, never=never_runs, are_grouped=True
    )


def command_events(files: Files, paths: Iterable[str], root: str = "") -> Iterator[Grant]:
    """The hooks that run while a command or a skill does; `root` is the folder of its plugin."""
    for path in paths:
        source = files.source(path)
        header = files.header(path, COMMAND_KEYS) if source and "hooks:" in source.text else None
        if header and table(header.document.data, "hooks"):
            yield from hook_events(files, [Place(header.document, ("hooks",))], root)


def external_plugin(name: str, at: Place) -> Grant:
    """A plugin that settings enable and the project does not have: its hooks, servers and commands are unknown."""
    path = at.document.source.path
    return Grant(
        toolset=f"plugin {excerpt(name, MAX_NAME)}",
        tool=excerpt(str(at.route[-1]), MAX_NAME),
        capabilities=(Capability.parse(capability_of(name)),),
        decision="allowed",
        origin=f"{path}: enabledPlugins",
        at=at,
        rule_at=at,
        is_open=True,
    )


def server_events(files: Files, servers: Mapping[str, tuple[Server, Place]]) -> Iterator[Grant]:
    """The commands that print the headers for servers."""
    for name, (_, at) in servers.items():
        place = Place(at.document, (*at.route, "headersHelper"))
        if text(place.data).strip():
            yield ClientEvents(files).command(f"headersHelper of {name}", text(place.data), place)
