"""The permissions of docker-agent: one block for all agents of a file, over the names and arguments of tools.

Despite it, agents in the background ask nobody, nor are people asked about what a hook allows.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean
from llmdo.base.parts import items, table
from llmdo.base.values import dataclass, replace
from llmdo.foreign.permissions import WORDS, PermissionRule, RuleTable
from llmdo.foreign.team import AgentCall
from llmdo.policy.shell.rules import EXEC, UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Agent, Grant
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

MODES = frozenset({"autonomous", "balanced", "restricted", "strict"})
_RUNNING = ("run_background_job", "shell")


def _part(capability: Capability, pattern: str) -> Capability:
    """The part of a capability for a pattern of arguments: a text that only has to begin so can go on in any way."""
    return EXEC if capability == UNLISTED and not pattern.endswith("*") else capability


RULES = RuleTable(
    order=("blocked", "allowed", "needs_approval"),
    text=re.compile(r"(?P<tool>.*?)(?::[A-Za-z_]+=(?P<what>.*))?", re.DOTALL),
    names=lambda rule, tool: fnmatchcase(tool.lower(), rule.tool.lower()),
    part=_part,
)


@dataclass(frozen=True, slots=True)
class Permissions:
    """The permissions of a file."""

    rules: tuple[PermissionRule, ...] = ()
    mode: str | None = None
    mode_at: Place | None = None

    def grants(self, line: Line, tool: str, at: Place) -> Iterator[Grant]:
        """The decisions about one tool, called `tool`: about all of it, and about milder parts."""
        for ruling in RULES.rulings(self.rules, tool, line.raised, self._by_mode(line)):
            rule = ruling.rule
            if rule and rule.pattern is not None and ruling.decision != "allowed":
                continue
            origin = f"permissions of {at.document.source.path}" if rule else self._origin
            yield ruling.grant(line, at, origin, tool=tool, otherwise_at=self.mode_at)

    def _by_mode(self, line: Line) -> Decision:
        if self.mode == "autonomous":
            return "allowed"
        if self.mode == "strict":
            return "needs_approval"
        return "blocked" if self.mode == "restricted" and line.decision != "allowed" else line.decision

    @property
    def _origin(self) -> str:
        return f"docker-agent, mode {self.mode}" if self.mode else "docker-agent, where no rule says anything"


def permissions_of(document: Document, files: Files) -> Permissions:
    """The permissions of a file; oddities are noted."""
    rules = tuple(RULES.rules_in(document, "permissions"))
    for key in table(document.data, "permissions"):
        if key not in WORDS:
            files.unknown_key(Place(document, ("permissions", key), of_key=True), key, WORDS)
    for rule in rules:
        pattern = rule.pattern or ""
        if (
            rule.decision == "allowed"
            and pattern.endswith("*")
            and any(RULES.about((rule,), tool) for tool in _RUNNING)
        ):
            start = pattern.rstrip("*")
            message = f"this allows every command that begins with `{start}`, so also `{start}; ...`"
            files.note("LDO553", rule.at, message, "allow whole commands")
    mode, mode_at = _mode(document, files)
    return Permissions(rules, mode, mode_at)


def _mode(document: Document, files: Files) -> tuple[str | None, Place | None]:
    runtime = document.data.get("runtime")
    mode = runtime.get("safety") if isinstance(runtime, dict) else None
    if not isinstance(mode, str):
        return None, None
    at = Place(document, ("runtime", "safety"))
    if mode not in MODES:
        message = f"docker-agent does not know the mode `{mode}`"
        files.note("LDO151", at, message, did_you_mean(mode, MODES))
        return None, None
    if mode == "autonomous":
        files.note("LDO554", at, "mode `autonomous` never asks for approval")
    return mode, at


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
                replace(grant, decision="allowed", origin=BACKGROUND, rule_at=None, asks_unless_reading=False)
                for grant in agent.grants
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
        if by is None or (grant.decision != "needs_approval" and not grant.asks_unless_reading):
            yield grant
        else:
            message = f"a hook may answer `allow` before anybody is asked about `{grant.tool}`"
            files.note("LDO554", by, message)
            yield replace(grant, decision="allowed", origin="a hook", rule_at=by, asks_unless_reading=False)


def _commands(entry: Mapping[str, object]) -> Iterator[str]:
    """The commands in the hooks of an entry."""
    for hook in items(entry.get("hooks")):
        command = hook.get("command") if isinstance(hook, dict) else None
        if isinstance(command, str):
            yield command


def _matching(matcher: str) -> re.Pattern[str]:
    """The tools that a matcher names: a star is all, else names with `|` between them."""
    if matcher == "*":
        return re.compile(".*", re.DOTALL)
    return re.compile("|".join(re.escape(name) for name in matcher.split("|")))
