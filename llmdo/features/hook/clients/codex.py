"""Codex: https://developers.openai.com/codex/hooks.

A hook cannot ask there, and cannot allow: what a person is to be asked by llmdo is denied, unless Codex asks by itself.
Nothing printed is no opinion. Only exit code 2 with a text, and `deny`, stop a call: any other failure of a hook, and
one that takes too long, lets the call through. Hooks of a project count once the person has trusted them.

A command is shown before it runs, but not whether it leaves the sandbox. One that does so after a question is shown
once more as `PermissionRequest`; where settings let commands leave it without one, every command counts as such. The
search of its provider is shown to no hook.
"""

from __future__ import annotations

import json

from llmdo.features.hook.events import (
    ANY_SERVER,
    MAIN_CONTEXT,
    Access,
    ClientEvent,
    patched_files,
    text,
    tool_input,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

FORMAT = "codex"
PRODUCT = "Codex"
MAIN = "codex"
IDENTIFIES = True
"""Whether events say which agent calls."""
CAN_ASK = False
UNASKED: frozenset[str] = frozenset()
FORWARDS = frozenset({"send_input"})
STAND_INS = dict.fromkeys(("awaiter", "default", "explorer", "worker"), MAIN)
"""Its built-in roles have the settings of the session."""
SETTINGS = ".codex/hooks.json"
EVENTS = {"SessionStart": None, "PreToolUse": None, "PermissionRequest": None}
"""The events that it reports, each with the tools that it is about; None for all."""
SECOND = 1
"""A second as its settings write it."""
FAILING = (
    "any other exit code of a hook than 2, and one that takes longer than its time limit, lets the call through: the "
    "command in the settings turns every failure into 2, and ends before the limit"
)
TRUSTING = (
    "it runs the hooks of a project once you have trusted each of them: start it, and review them in `/hooks`"
)

_NAMESPACE = "multi_agent_v1"
_FREELY = ("shell", "unsandboxed shell")
_READING = ("shell, reading",)
_LISTED = ("unsandboxed shell, by a rule",)
_RESOURCES = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")


def event(data: Mapping[str, object]) -> ClientEvent:
    """The event in its JSON.

    Raises:
        UnreadableEventError: A part of it is missing or of another type.
    """
    name = data.get("hook_event_name")
    session, folder = text(data.get("session_id"), "session_id"), text(data.get("cwd"), "cwd")
    if name == "SessionStart":
        resumed = data.get("source") not in ("startup", "clear")
        return ClientEvent(kind="start", session=session, folder=folder, is_resumed=resumed)
    if name not in ("PreToolUse", "PermissionRequest"):
        return ClientEvent(kind="other", session=session, folder=folder)
    is_agent = data.get("agent_id") is not None
    return ClientEvent(
        kind="call" if name == "PreToolUse" else "question",
        session=session,
        folder=folder,
        context=text(data["agent_id"], "agent_id") if is_agent else MAIN_CONTEXT,
        agent=text(data.get("agent_type"), "agent_type") if is_agent else None,
        tool=text(data.get("tool_name"), "tool_name").removeprefix(_NAMESPACE),
        arguments=tool_input(data.get("tool_input")),
    )


def access(event: ClientEvent) -> Access:
    """The access of a call.

    Raises:
        UnreadableEventError: An argument that says what it does is missing or of another type.
    """
    tool, arguments, asks = event.tool, event.arguments, event.kind == "question"
    if tool in ("Bash", "write_stdin"):
        command = text(arguments.get("command"), "command") if tool == "Bash" else ""
        if asks:
            return Access(lines=("unsandboxed shell",), command=command)
        return Access(lines=(), freely=_FREELY, command=command, reading=_READING, listed=_LISTED)
    if tool == "apply_patch":
        patch = text(arguments.get("command"), "command")
        line = "apply_patch, elsewhere" if asks else "apply_patch"
        return Access(lines=(line,), files=patched_files(patch))
    if tool == "view_image":
        return Access(lines=(tool,), files=(text(arguments.get("path"), "path"),))
    if tool == "spawn_agent":
        agent = arguments.get("agent_type")
        return Access(lines=(tool,), starts="default" if agent is None else text(agent, "agent_type"))
    if tool in _RESOURCES:
        server = arguments.get("server")
        lists_all = server is None and tool != "read_mcp_resource"
        return Access(lines=(), server=ANY_SERVER if lists_all else text(server, "server"))
    if tool.startswith("mcp__"):
        return Access(lines=(), server=tool.removeprefix("mcp__"))
    return Access(lines=(tool,))


def answer(decision: Literal["ask", "deny"], reason: str, *, is_question: bool) -> tuple[str, int]:
    """What is printed for a decision, and the exit code."""
    if is_question:
        own: dict[str, object] = {"behavior": decision, "message": reason}
        return json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": own}}), 0
    own = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": own}), 0
