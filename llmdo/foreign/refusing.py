"""The hooks that a client asks before a call: what they answer is not known, so each of them may refuse it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.foreign.building import named
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent, Grant

_BEFORE = frozenset({"beforeshellexecution", "beforetool", "pretooluse"})
"""The events of clients whose hooks may refuse a call."""

_PART = re.compile(r"(?:[\w-]|\.\*){1,80}")


def refuser(project: Foreign, flow: Flow) -> Location | None:
    """The place of a hook that is asked before the way out, and may refuse it: what it answers is not known."""
    agents = named(project.team.agents)
    sender = agents.get(flow.row.path[-2].name) if len(flow.row.path) > 1 else None
    if sender is None:
        return None
    of_session = project.spec_of(sender).hooks_of
    tool = flow.row.tool.partition("(")[0].lower()
    asked = [
        event
        for agent in agents.values()
        if agent is sender
        or (not agent.path and project.form_of(agent) == of_session and _runs(agent, sender))
        for event in agent.events
        if event.toolset.lower().removeprefix("hook ") in _BEFORE and _is_about(event, tool)
    ]
    return asked[0].at.location if asked else None


def _runs(session: Agent, sender: Agent) -> bool:
    """Whether a session runs a sender: one of its own folder, as settings hold in no folder below, or of its plugin."""
    plugin = session.name.rpartition("/")[2].partition(" with ")[2]
    if plugin:
        return sender.name.rpartition("/")[2].startswith(f"{plugin}:")
    return _folder(session) == _folder(sender)


def _folder(agent: Agent) -> str:
    """The folder of an agent of Claude Code or of a session, which is in its name; empty for the project's own."""
    if not agent.path:
        return agent.name.removeprefix(f"{agent.format}/").rpartition("/")[0]
    above, own, _ = f"/{agent.path}".rpartition("/.claude/")
    return above.removeprefix("/") if own else ""


def _is_about(event: Grant, tool: str) -> bool:
    """Whether the matcher of a hook's group names a tool, or there is none."""
    numbers = [at for at, step in enumerate(event.at.route) if isinstance(step, int)]
    group = Place(event.at.document, event.at.route[: numbers[0] + 1]).data if numbers else None
    matcher = str(group.get("matcher") or "*").lower() if isinstance(group, dict) else "*"
    return matcher == "*" or any(_names(name, tool) for name in re.split(r"[|,\s]+", matcher))


def _names(name: str, tool: str) -> bool:
    """Whether a part of a matcher fits a tool: it is a regular expression, of which names and `.*` are read.

    A rule such as `Bash(git *)` is none of a tool's name, so its hook is never asked.
    """
    plain = name.removeprefix("^").removesuffix("$")
    return bool(_PART.fullmatch(plain)) and fnmatchcase(tool, plain.replace(".*", "*"))
