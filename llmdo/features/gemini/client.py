"""What Gemini CLI runs by itself, by `settings.json` and by the hooks of extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table, text, texts
from llmdo.foreign.events import ClientEvents
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

READS = frozenset({"BeforeAgent", "SessionStart"})
"""The events whose hooks add to the conversation."""
_COMMANDS = (("tools", "discoveryCommand"), ("tools", "callCommand"), ("mcp", "serverCommand"))
"""Settings that are a command; what the first prints are tools, which models read."""


def settings_events(files: Files, document: Document) -> Iterator[Grant]:
    """What the settings of a project make it run."""
    client = ClientEvents(files)
    data = document.data
    for route in _COMMANDS:
        place = Place(document, route)
        if text(place.data).strip():
            yield client.command(".".join(route), text(place.data), place, is_read=route == _COMMANDS[0])
    telemetry = table(data, "telemetry")
    if telemetry.get("enabled") is True and (address := text(telemetry.get("otlpEndpoint"))):
        name = "telemetry.otlpEndpoint"
        yield client.receiver(name, address, Place(document, ("telemetry", "otlpEndpoint")))
    switches = (
        table(data, "hooksConfig").get("enabled"),
        table(data, "hooks").get("enabled"),
        table(data, "tools").get("enableHooks"),
    )
    if False not in switches:
        off = {
            *texts(table(data, "hooksConfig").get("disabled")),
            *texts(table(data, "hooks").get("disabled")),
        }
        yield from client.hooks([Place(document, ("hooks",))], reads=READS, off=off)


def hook_events(files: Files, tables: Iterable[Place], root: str) -> Iterator[Grant]:
    """The hooks of an extension in the folder `root`."""
    yield from ClientEvents(files, root).hooks(tables, reads=READS)
