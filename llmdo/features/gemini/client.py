"""What Gemini CLI runs by itself, by `settings.json` and by the hooks of extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text
from llmdo.foreign.events import ClientEvents, note_unheeded
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

READS = frozenset({"BeforeAgent", "SessionStart"})
"""The events whose hooks add to the conversation."""
EVENTS = READS | {
    "AfterAgent", "AfterModel", "AfterTool", "BeforeModel", "BeforeTool", "BeforeToolSelection", "Notification",
    "PreCompress", "SessionEnd",
}  # fmt: skip
_OF_CLAUDE_CODE = frozenset(
    {
        "ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged", "InstructionsLoaded",
        "PermissionDenied", "PermissionRequest", "PostCompact", "PostToolBatch", "PostToolUse", "PostToolUseFailure",
        "PreCompact", "PreToolUse", "Setup", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "TaskCompleted",
        "TaskCreated", "TeammateIdle", "UserPromptExpansion", "UserPromptSubmit", "WorktreeCreate", "WorktreeRemove",
    }
)  # fmt: skip
"""Events of Claude Code that Gemini CLI does not have."""
_PLUGIN = ".claude-plugin/plugin.json"
"""The manifest of a plugin of Claude Code, which has its hooks in the same file as an extension."""
_SETTINGS = frozenset({"disabled", "enabled", "notifications"})
"""Keys of `hooks` that are no events."""
_SECTIONS = ("hooksConfig", "hooks")
_SWITCHES = (*((section, "enabled") for section in _SECTIONS), ("tools", "enableHooks"))
"""Settings that are false where no hook runs."""
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
    switch = next((at for at in (Place(document, route) for route in _SWITCHES) if at.data is False), None)
    off = {
        name: Place(document, (section, "disabled", number))
        for section in _SECTIONS
        for number, name in enumerate(items(table(data, section).get("disabled")))
        if isinstance(name, str)
    }
    hooks = [Place(document, ("hooks",))]
    note_unheeded(files, hooks, switch, off)
    if switch is None:
        _judge_events(files, hooks)
        yield from client.hooks(hooks, reads=READS, off=off, known=EVENTS)


def hook_events(files: Files, tables: Iterable[Place], root: str) -> Iterator[Grant]:
    """The hooks of an extension in the folder `root`."""
    tables = list(tables)
    is_shared = files.tree.read(f"{root}/{_PLUGIN}".lstrip("/")) is not None
    _judge_events(files, tables, _OF_CLAUDE_CODE if is_shared else ())
    yield from ClientEvents(files, root).hooks(tables, reads=READS, known=EVENTS)


def _judge_events(files: Files, tables: Iterable[Place], others: Collection[str] = ()) -> None:
    """Notes hooks at events that Gemini CLI does not have: they never run. `others` are meant for another client."""
    for place in tables:
        for event in table(place.data):
            if event not in EVENTS | _SETTINGS and event not in others:
                at = Place(place.document, (*place.route, event), of_key=True)
                files.unknown_key(at, event, EVENTS)
