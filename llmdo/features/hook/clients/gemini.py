"""Gemini CLI: https://geminicli.com/docs/hooks/reference.

Nothing printed is no opinion; `ask` puts the call before a person whatever the rules say, `deny` stops it. Of failures
only exit code 2 stops a call, so the command in the settings turns every other one into it, and ends in time. Hooks of
a project count where its folder is trusted, and never for the session of an editor.

Events do not say which agent calls. Agents work while `invoke_agent` does: then a call is decided for the session and
for all agents at work, and the strictest counts.
"""

from __future__ import annotations

import json

from llmdo.features.hook.events import Access, ClientEvent, named, searched_folders, text, tool_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

FORMAT = "gemini"
PRODUCT = "Gemini CLI"
MAIN = "main-session"
IDENTIFIES = False
"""Whether events say which agent calls."""
CAN_ASK = True
UNASKED = frozenset({"invoke_agent"})
"""Tools that it runs without a question where a hook asks: what the hook says is shown, and no more."""
FORWARDS: frozenset[str] = frozenset()
STAND_INS = dict.fromkeys(("cli_help", "codebase_investigator", "generalist", "generalist_agent"), MAIN)
"""Its built-in agents have tools of the session."""
SETTINGS = ".gemini/settings.json"
EVENTS = {"SessionStart": None, "BeforeTool": None, "AfterTool": "invoke_agent"}
"""The events that it reports, each with the tools that it is about; None for all."""
SECOND = 1000
"""A second as its settings write it."""
FAILING = (
    "any other exit code of a hook than 2, and one that takes longer than its time limit, lets the call through: the "
    "command in the settings turns every failure into 2, and ends before the limit"
)
TRUSTING = (
    "it reads the hooks of a project once you have trusted its folder; over its protocol for editors (`--acp`) the "
    "session calls none, as of 0.61"
)

_STARTS = "invoke_agent"
_FILES = {"read_file": "file_path", "write_file": "file_path", "replace": "file_path"}
_FOLDERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "list_directory": ("dir_path", ()),
    "glob": ("dir_path", ("pattern",)),
    "grep_search": ("dir_path", ("include_pattern", "include")),
}
"""The argument with the folder, and those with patterns of names."""


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
    if name not in ("BeforeTool", "AfterTool"):
        return ClientEvent(kind="other", session=session, folder=folder)
    tool = text(data.get("tool_name"), "tool_name")
    if name == "AfterTool":
        ended = tool_input(data.get("tool_input")) if tool == _STARTS else {}
        agent = text(ended.get("agent_name"), "agent_name") if ended else None
        return ClientEvent(kind="end" if agent else "other", session=session, folder=folder, agent=agent)
    mcp = data.get("mcp_context")
    return ClientEvent(
        kind="call",
        session=session,
        folder=folder,
        tool=tool,
        arguments=tool_input(data.get("tool_input")),
        server=text(mcp.get("server_name"), "server_name") if isinstance(mcp, dict) else None,
    )


def access(event: ClientEvent) -> Access:
    """The access of a call.

    Raises:
        UnreadableEventError: An argument that says what it does is missing or of another type.
    """
    tool, arguments = event.tool, event.arguments
    if event.server is not None:
        return Access(lines=(), server=event.server)
    if tool in _FILES:
        return Access(lines=(tool,), files=(text(arguments.get(_FILES[tool]), _FILES[tool]),))
    if tool in _FOLDERS:
        key, names = _FOLDERS[tool]
        folders = searched_folders(arguments.get(key), key, *map(arguments.get, names))
        given = named(*map(arguments.get, names)) if tool == "grep_search" else None
        return Access(
            lines=(tool,), folders=folders, names=given, heeds_ignores=arguments.get("no_ignore") is not True
        )
    if tool == "read_many_files" and (given := named(arguments.get("include"), arguments.get("paths"))):
        folders = searched_folders(None, "dir_path", *given)
        return Access(lines=(tool,), folders=folders, names=given, heeds_ignores=False)
    if tool == "run_shell_command":
        return Access(lines=(tool,), command=text(arguments.get("command"), "command"))
    if tool == "web_fetch":
        return Access(lines=(tool,), host=_only_address(text(arguments.get("prompt"), "prompt")))
    if tool == _STARTS:
        return Access(lines=(tool,), starts=text(arguments.get("agent_name"), "agent_name"))
    return Access(lines=(tool,))


def _only_address(prompt: str) -> str | None:
    """The address in a prompt to fetch it, if no other word can be one."""
    words = [word for word in prompt.split() if "://" in word or "." in word.strip(".,;:!?")]
    return words[0] if len(words) == 1 and "://" in words[0] else None


def answer(decision: Literal["ask", "deny"], reason: str, *, is_question: bool) -> tuple[str, int]:  # noqa: ARG001
    """What is printed for a decision, and the exit code."""
    return json.dumps({"decision": decision, "reason": reason, "systemMessage": reason}), 0
