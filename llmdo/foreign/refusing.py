"""The hooks that a client asks before a call: each may refuse it, but for those that surely refuse nothing."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.foreign.silent import answers_nothing
from llmdo.foreign.warning import only_warns
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.base.source import Location
    from llmdo.extensions.spec import ForeignFormat
    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent, Grant

_BEFORE = frozenset({"beforeshellexecution", "beforetool", "pretooluse"})
"""The events of clients whose hooks may refuse a call."""

_EVERY = "*"
"""The matcher of a hook that is asked about every tool."""
_PART = re.compile(r"(?:[\w-]|\.\*){1,80}")


def refuser(project: Foreign, flow: Flow) -> Location | None:
    """The place of a hook that is asked before the way out, and may refuse it: what it answers is not known."""
    agents = project.agents
    sender = agents.get(flow.row.path[-2].name) if len(flow.row.path) > 1 else None
    if sender is None:
        return None
    spec = project.spec_of(sender)
    of_session = spec.hooks_of
    tools = _called(spec, flow.row.tool.partition("(")[0])
    asked = [
        event
        for agent in agents.values()
        if agent is sender
        or (not agent.path and project.form_of(agent) == of_session and _runs(agent, sender))
        for event in agent.events
        if event.toolset.lower().removeprefix("hook ") in _BEFORE
        and _is_about(event, tools)
        and event.refuses is not False
        and not _answers_nothing(event)
        # A step loads what its settings enable, and is nobody who loads the project itself.
        if not (spec.runs_others and event.is_of_person)
    ]
    # Whoever names the tool means it.
    asked.sort(key=lambda event: (event.refuses is not True, _matcher(event) == _EVERY))
    return asked[0].at.location if asked else None


def _called(spec: ForeignFormat, tool: str) -> tuple[str, ...]:
    """The names in small letters by which matchers of hooks mean a tool."""
    names = (each for name, each in spec.named_in_hooks.items() if fnmatchcase(tool, name))
    return tuple(name.lower() for name in next(names, (tool,)))


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


def _is_about(event: Grant, tools: tuple[str, ...]) -> bool:
    """Whether the matcher of a hook's group names a tool by one of its names, or there is none."""
    matcher = _matcher(event)
    parts = re.split(r"[|,\s]+", matcher)
    return matcher == _EVERY or any(_names(name, tool) for name in parts for tool in tools)


def _answers_nothing(event: Grant) -> bool:
    """Whether a hook is a command that surely answers nothing that a client reads, and ends well."""
    command, handler = event.at.data, event.at._replace(route=event.at.route[:-1]).data
    has_more = not isinstance(handler, dict) or event.at.route[-1:] == ("url",) or bool(handler.get("args"))
    if not isinstance(command, str) or not isinstance(handler, dict) or has_more:
        return False
    is_strict = handler.get("failClosed") is True  # a client may take what is no JSON for a refusal
    return answers_nothing(command) or (not is_strict and only_warns(command))


def _matcher(event: Grant) -> str:
    """The matcher of a hook's group in small letters."""
    numbers = [at for at, step in enumerate(event.at.route) if isinstance(step, int)]
    group = Place(event.at.document, event.at.route[: numbers[0] + 1]).data if numbers else None
    return str(group.get("matcher") or _EVERY).lower() if isinstance(group, dict) else _EVERY


def _names(name: str, tool: str) -> bool:
    """Whether a part of a matcher fits a tool: it is a regular expression, of which names and `.*` are read.

    A rule such as `Bash(git *)` is none of a tool's name, so its hook is never asked.
    """
    plain = name.removeprefix("^").removesuffix("$")
    return bool(_PART.fullmatch(plain)) and fnmatchcase(tool, plain.replace(".*", "*"))
