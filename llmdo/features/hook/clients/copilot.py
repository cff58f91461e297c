"""Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-reference.

Nothing printed is no opinion; `ask` puts the call before a person at a terminal, and stops it in an editor, `deny`
stops it. A hook that fails in any way stops the call, but for one that takes too long, so the command in the settings
ends in time. Hooks are in a file apart.

Its events do not carry their own name. Those of an agent have a session of their own, the name of the agent and the
id of the session or agent that started it, since 1.0.102 at the latest. Until that was seen of an agent, it may be the
one that calls in the session, as in versions that do not say it: while a `task` works that is in sync, and others until
the session ends, a call of the session is decided for all of them as well, and the strictest counts.
"""

from __future__ import annotations

import json

from llmdo.features.hook.events import (
    MAIN_CONTEXT,
    Access,
    ClientEvent,
    UnreadableEventError,
    named,
    searched_folders,
    text,
    tool_input,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

FORMAT = "copilot"
PRODUCT = "Copilot CLI"
MAIN = "main-session"
IDENTIFIES = False
"""Whether all events say which agent calls."""
CAN_ASK = True
UNASKED: frozenset[str] = frozenset()
FORWARDS = frozenset({"write_agent"})
STAND_INS = dict.fromkeys(
    ("code-review", "explore", "general-purpose", "research", "rubber-duck", "security-review", "task"), MAIN
)
"""Its built-in agents have tools of the session."""
SETTINGS = ".github/hooks/llmdo.json"
EVENTS = {"sessionStart": None, "preToolUse": None, "postToolUse": "task", "postToolUseFailure": None}
"""The events that it reports, each with the tools that it is about; None for all."""
SECOND = 1
"""A second as its settings write it."""
FAILING = "a hook that takes longer than its time limit lets the call through: llmdo answers before"
TRUSTING = (
    "it runs the hooks of a project once you have trusted its folder, and none with `disableAllHooks` in settings of "
    "the repository; some versions, 1.0.37 among them, run none for the calls of agents"
)

_READS = {"view": "path"}
_CHANGES = {"create": "path", "edit": "path", "str_replace_editor": "path"}
_FOLDERS = ("glob", "grep", "rg")
_SHELLS = {"bash": "command", "powershell": "command", "write_bash": "input", "write_powershell": "input"}
_TALKS = frozenset(
    {
        "ask_user", "exit_plan_mode", "list_agents", "list_bash", "list_powershell", "read_agent", "read_bash",
        "read_powershell", "report_intent", "skill", "stop_bash", "stop_powershell", "update_todo",
    }
)  # fmt: skip
"""Tools that do nothing to the world that another call did not."""
_STARTS = "task"


def event(data: Mapping[str, object]) -> ClientEvent:
    """The event in its JSON, which its parts tell from others.

    Raises:
        UnreadableEventError: A part of it is missing or of another type.
    """
    session, folder = text(data.get("sessionId"), "sessionId"), text(data.get("cwd"), "cwd")
    if "toolName" not in data and "source" in data:
        resumed = data["source"] not in ("new", "startup")
        return ClientEvent(kind="start", session=session, folder=folder, is_resumed=resumed)
    tool = text(data.get("toolName"), "toolName")
    arguments = _arguments(data.get("toolArgs"))
    if "toolResult" in data or "error" in data:
        is_over = tool == _STARTS and arguments.get("mode") == "sync"
        agent = text(arguments.get("agent_type"), "agent_type") if is_over else None
        kind: Literal["end", "other"] = "end" if agent else "other"
        return ClientEvent(kind=kind, session=session, folder=folder, agent=agent, parent=_parent(data))
    is_agent = data.get("agentId") is not None
    return ClientEvent(
        kind="call",
        session=session,
        folder=folder,
        context=text(data["agentId"], "agentId") if is_agent else MAIN_CONTEXT,
        agent=text(data.get("agentType"), "agentType") if is_agent else None,
        parent=_parent(data),
        tool=tool,
        arguments=arguments,
    )


def _parent(data: Mapping[str, object]) -> str | None:
    """The id of the session or agent that started the agent; None for a session."""
    return None if data.get("agentId") is None else text(data.get("parentAgentId"), "parentAgentId")


def _arguments(given: object) -> Mapping[str, object]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise UnreadableEventError("`toolArgs` is not JSON") from error
    return tool_input(given)


def access(event: ClientEvent) -> Access:
    """The access of a call.

    Raises:
        UnreadableEventError: An argument that says what it does is missing or of another type.
    """
    tool, arguments = event.tool, event.arguments
    for line, names in (("read", _READS), ("edit", _CHANGES)):
        if tool in names:
            return Access(lines=(line,), files=(text(arguments.get(names[tool]), names[tool]),))
    if tool in _FOLDERS:
        patterns = (arguments.get("glob"), arguments.get("pattern") if tool == "glob" else None)
        folders = searched_folders(arguments.get("path"), "path", *patterns)
        return Access(lines=("search",), folders=folders, names=named(*patterns) if tool != "glob" else None)
    if tool in _SHELLS:
        return Access(lines=("execute",), command=text(arguments.get(_SHELLS[tool]), _SHELLS[tool]))
    if tool == "web_fetch":
        return Access(lines=("web/fetch",), host=text(arguments.get("url"), "url"))
    if tool == _STARTS:
        return Access(lines=("agent",), starts=text(arguments.get("agent_type"), "agent_type"))
    if tool == "write_agent":
        return Access(lines=("agent",))
    if tool in _TALKS:
        return Access(lines=("todo/todos",))
    # It asks about no tool that only reads, as its server says.
    return Access(lines=(), server=tool, joint="-", is_asked_about=False)


def answer(decision: Literal["ask", "deny"], reason: str, *, is_question: bool) -> tuple[str, int]:  # noqa: ARG001
    """What is printed for a decision, and the exit code."""
    return json.dumps({"permissionDecision": decision, "permissionDecisionReason": reason}), 0


def own_file(command: str, seconds: int) -> str:
    """The file of hooks."""
    hook = {"type": "command", "bash": command, "timeoutSec": SECOND * seconds}
    hooks = {
        name: [{**({"matcher": matcher} if matcher else {}), **hook}] for name, matcher in EVENTS.items()
    }
    return json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
