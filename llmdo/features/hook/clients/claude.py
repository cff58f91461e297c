"""Claude Code: https://code.claude.com/docs/en/hooks.

Nothing printed is no opinion: its own rules, modes and questions decide as if there were no hook. `ask` and `deny` are
stricter than all of those. Only exit code 2 and `deny` stop a call: any other failure of a hook, and one that takes too
long, lets the call through, so the command in the settings turns every other exit code into 2, and ends in time.
"""

from __future__ import annotations

import json

from llmdo.features.hook.events import (
    ANY_AGENT,
    MAIN_CONTEXT,
    Access,
    ClientEvent,
    named,
    searched_folders,
    text,
    tool_input,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

FORMAT = "claude"
PRODUCT = "Claude Code"
MAIN = "main-session"
IDENTIFIES = True
"""Whether events say which agent calls."""
FORWARDS = frozenset({"SendMessage"})
"""Tools that hand an agent more words after its start."""
STAND_INS = {
    **dict.fromkeys(
        ("claude", "claude-code-guide", "Explore", "Plan", "fork", "statusline-setup"), "general-purpose"
    )
}
"""Built-in agents with no more tools than another one, which stands for them."""
CAN_ASK = True
UNASKED: frozenset[str] = frozenset()
SETTINGS = ".claude/settings.json"
EVENTS = {"SessionStart": None, "PreToolUse": None}
"""The events that it reports, each with the tools that it is about; None for all."""
SECOND = 1
"""A second as its settings write it."""
FAILING = (
    "any other exit code of a hook than 2, and one that takes longer than its time limit, lets the call through: the "
    "command in the settings turns every failure into 2, and ends before the limit"
)
TRUSTING = "it reads the hooks of a project once you have trusted its folder"

_FILES = {
    "Read": "file_path", "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path",
    "NotebookRead": "notebook_path", "NotebookEdit": "notebook_path", "LSP": "filePath",
}  # fmt: skip
_FOLDERS = ("Grep", "Glob", "LS")
_SHELLS = ("Bash", "Monitor", "PowerShell")
_STARTS = ("Agent", "Task")
_STARTS_ANY = ("Skill", "SlashCommand", "TeamCreate", "Workflow")


def event(data: Mapping[str, object]) -> ClientEvent:
    """The event in its JSON.

    Raises:
        UnreadableEventError: A part of it is missing or of another type.
    """
    name = data.get("hook_event_name")
    session, folder = text(data.get("session_id"), "session_id"), text(data.get("cwd"), "cwd")
    agent = None if data.get("agent_type") is None else text(data["agent_type"], "agent_type")
    if name == "SessionStart":
        resumed = data.get("source") not in ("startup", "clear")
        return ClientEvent(kind="start", session=session, folder=folder, agent=agent, is_resumed=resumed)
    if name != "PreToolUse":
        return ClientEvent(kind="other", session=session, folder=folder)
    context = MAIN_CONTEXT if data.get("agent_id") is None else text(data["agent_id"], "agent_id")
    tool = text(data.get("tool_name"), "tool_name")
    return ClientEvent(
        kind="call",
        session=session,
        folder=folder,
        context=context,
        agent=agent,
        tool=tool,
        arguments=tool_input(data.get("tool_input")),
    )


def access(event: ClientEvent) -> Access:
    """The access of a call.

    Raises:
        UnreadableEventError: An argument that says what it does is missing or of another type.
    """
    tool, arguments = event.tool, event.arguments
    if tool in _FILES:
        return Access(lines=(tool,), files=(text(arguments.get(_FILES[tool]), _FILES[tool]),))
    if tool in _FOLDERS:
        names = named(arguments.get("glob")) if tool == "Grep" else None
        return Access(lines=(tool,), folders=_folders(tool, arguments), names=names)
    if tool in _SHELLS:
        command = text(arguments.get("command"), "command")
        reading = ("Bash (only reads)",) if tool == "Bash" else ()
        return Access(lines=(tool,), command=command, reading=reading)
    if tool == "WebFetch":
        return Access(lines=(tool,), host=text(arguments.get("url"), "url"))
    if tool in _STARTS:
        agent = arguments.get("subagent_type")
        return Access(
            lines=(tool,), starts="general-purpose" if agent is None else text(agent, "subagent_type")
        )
    if tool in _STARTS_ANY:
        return Access(lines=(tool,), starts=ANY_AGENT)
    if tool.startswith("mcp__"):
        return Access(lines=(), server=tool)
    return Access(lines=(tool,))


def _folders(tool: str, arguments: Mapping[str, object]) -> tuple[str, ...]:
    given = arguments.get("path")
    base = "." if given is None else text(given, "path")
    if tool != "Glob":
        return (base,)
    pattern = text(arguments.get("pattern"), "pattern")
    start = pattern[: min((pattern.find(each) for each in "*?[{@(" if each in pattern), default=len(pattern))]
    folder = start.rpartition("/")[0]
    if searched_folders(base, "path", pattern[len(folder) :].removeprefix("/")) != (base,) or ".." in pattern:
        return ("/",)
    return (folder or "/" if start.startswith("/") else f"{base}/{folder}",)


def answer(decision: Literal["ask", "deny"], reason: str, *, is_question: bool) -> tuple[str, int]:  # noqa: ARG001
    """What is printed for a decision, and the exit code."""
    own = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": own}), 0
