"""The calls that docker-agent runs unasked despite its rules: by agents in the background, and allowed by hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.team import AgentCall
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Agent, Grant
    from llmdo.syntax.document import Document

BACKGROUND = "background_agents"
"""The toolset whose agents run with every tool approved beforehand, whatever the file's rules say."""
_SUFFIX = " (in the background)"

_ALLOWS = re.compile(r'permission_decision\\*"?\s*[:=]\s*\\*"?allow')


def in_background(agents: Sequence[Agent], starts: Mapping[str, Place]) -> Iterator[Agent]:
    """The agents of a file; those in `starts` call others in the background too, which then are never asked about.

    `starts` gives for the name of such an agent the place of its toolset. A variant for the background stands
    beside the agent itself, with all that it calls from there.
    """
    by_name = {agent.name: agent for agent in agents}
    for agent in agents:
        place = starts.get(agent.name)
        background_calls = [AgentCall(name=call.name + _SUFFIX, at=place) for call in agent.calls if place]
        yield replace(agent, calls=(*agent.calls, *background_calls))
    started = [call.name for start in starts for call in by_name[start].calls]
    for name in sorted(_below(by_name, started)):
        agent = by_name[name]
        yield replace(
            agent,
            name=name + _SUFFIX,
            grants=tuple(
                replace(grant, decision="allowed", origin=BACKGROUND, rule_at=None) for grant in agent.grants
            ),
            calls=tuple(
                replace(call, name=call.name + _SUFFIX) for call in agent.calls if call.name in by_name
            ),
            is_entry=False,
            is_callable=False,
        )


def _below(agents: Mapping[str, Agent], starts: Iterable[str]) -> set[str]:
    waiting, below = list(starts), set[str]()
    while waiting:
        name = waiting.pop()
        if name in agents and name not in below:
            below.add(name)
            waiting.extend(call.name for call in agents[name].calls)
    return below


def allowed_by_hooks(
    document: Document,
    route: tuple[str | int, ...],
    hooks: object,
    grants: Sequence[Grant],
    files: Files,
) -> Iterator[Grant]:
    """The grants of an agent: calls that a hook in its file answers with `allow` are unasked, and that is noted."""
    listed = hooks.get("pre_tool_use") if isinstance(hooks, dict) else None
    allowing: list[tuple[re.Pattern[str], Place]] = []
    for number, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and any(_ALLOWS.search(command) for command in _commands(entry)):
            place = Place(document, (*route, "hooks", "pre_tool_use", number))
            matcher = entry.get("matcher")
            allowing.append((_matching(matcher if isinstance(matcher, str) else "*"), place))
    for grant in grants:
        by = next((hook for names, hook in allowing if names.fullmatch(grant.tool)), None)
        if by is None or grant.decision != "needs_approval":
            yield grant
        else:
            message = f"a hook may answer `allow` before anybody is asked about `{grant.tool}`"
            files.note("LDO554", by, message)
            yield replace(grant, decision="allowed", origin="a hook", rule_at=by)


def _commands(entry: Mapping[str, object]) -> Iterator[str]:
    """The commands in the hooks of an entry."""
    hooks = entry.get("hooks")
    for hook in hooks if isinstance(hooks, list) else ():
        command = hook.get("command") if isinstance(hook, dict) else None
        if isinstance(command, str):
            yield command


def _matching(matcher: str) -> re.Pattern[str]:
    """The tools that a matcher names: a star is all, else names with `|` between them."""
    if matcher == "*":
        return re.compile(".*", re.DOTALL)
    return re.compile("|".join(re.escape(name) for name in matcher.split("|")))
