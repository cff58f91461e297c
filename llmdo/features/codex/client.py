"""What Codex runs by itself, and where it sends the conversation, by `config.toml` and `hooks.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table, text, texts
from llmdo.features.codex.hooks import note_unrun
from llmdo.features.codex.types import EVENTS
from llmdo.foreign.events import ClientEvents, note_unheeded
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.codex.settings import ConfigLayer, ConfigLayers
    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

READS = frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"})
"""The events whose hooks add what they print to the conversation."""
_ADDRESSES = ("openai_base_url", "chatgpt_base_url", "experimental_realtime_ws_base_url")


def events_of(files: Files, layers: ConfigLayers, hooks: Document | None) -> Iterator[Grant]:
    """What a session runs by itself; `hooks` is the file of the project with nothing else, if it counts."""
    client = ClientEvents(files)
    notify, at = layers.get("notify")
    if at and (command := " ".join([text(notify), *texts(notify)]).strip()):
        yield client.command("notify", command, at)
    for layer in layers.layers:
        yield from _addresses(files, layer)
    tables = [layer.place("hooks") for layer in layers.layers]
    tables += [Place(hooks, ("hooks",))] if hooks else []
    switches = (layers.get("features", key) for key in ("hooks", "codex_hooks"))
    switch = next((at for is_on, at in switches if is_on is False), None)
    note_unheeded(files, tables, switch)
    for each in tables:
        note_unrun(files, each)
    if switch is None:
        yield from client.hooks(tables, reads=READS, known=EVENTS, are_grouped=True)


def _addresses(files: Files, layer: ConfigLayer) -> Iterator[Grant]:
    """The addresses of models, which Codex took from a project before version 0.130, and commands for their keys."""
    client = ClientEvents(files)
    routes: list[tuple[str, ...]] = [(key,) for key in _ADDRESSES]
    providers = table(layer.place("model_providers").data)
    routes += [("model_providers", name, "base_url") for name in providers]
    for route in routes:
        place, name = layer.place(*route), ".".join(route)
        if address := text(place.data):
            message = f"Codex ignores `{name}` in a project from version 0.130 on, so it is only heeded by older ones"
            files.note("LDO151", place, message, "leave it to each person's own `config.toml`")
            yield client.receiver(name, address, place)
    for provider in providers:
        place = layer.place("model_providers", provider, "auth", "command")
        words = [*texts(layer.place("model_providers", provider, "auth", "args").data)]
        if command := text(place.data):
            yield client.command(f"model_providers.{provider}.auth", " ".join([command, *words]), place)
