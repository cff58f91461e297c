"""The decisions of opencode's permissions: of the rules that match, the last one."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.features.opencode.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import commands
from llmdo.foreign.lines import Line
from llmdo.foreign.team import Grant, scope_of
from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

TASK = "task"
"""The tool that calls other agents."""


@dataclass(frozen=True, slots=True)
class OpencodeRule:
    """A line of `permission`: tools by name, a pattern of their calls, and a decision."""

    tool: str
    pattern: str
    decision: Decision
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it covers this tool."""
        return matches(self.tool, tool)


def grants_by(
    rules: Sequence[OpencodeRule], at: Place, known: Mapping[str, tuple[Server, Place]], toolset: str | None
) -> Iterator[Grant]:
    """The grants of an agent under these rules: the tools of opencode, as of `toolset`, and those of servers."""
    for line in TABLE:
        if line.tool.islower():
            yield from _grants(line, rules, at, toolset)
    for server, (reached, _) in known.items():
        default_grant = servers.grant(server, reached, at, "allowed", "")
        line = Line(f"{server}_*", tuple(map(str, default_grant.capabilities)), "allowed", "open", "")
        for grant in _grants(line, rules, at):
            yield replace(grant, toolset=server, tool=server, server=reached)


def _grants(
    line: Line, rules: Sequence[OpencodeRule], at: Place, toolset: str | None = None
) -> Iterator[Grant]:
    """The decisions about one tool: about all of it, and about milder parts."""
    if not line.capabilities or line.tool == TASK:
        return
    decision, decided = line.decision, None
    parts: list[OpencodeRule] = []
    for rule in rules:
        if not rule.names(line.tool):
            continue
        if rule.pattern in ("*", "**"):
            decision, decided, parts = rule.decision, rule, []
        else:
            parts.append(rule)
    capabilities = tuple(map(Capability, line.capabilities))
    rulings: list[tuple[tuple[Capability, ...], Decision, OpencodeRule | None]] = [
        (capabilities, decision, decided)
    ]
    rulings += [
        (tuple(_part(capability, rule.pattern) for capability in capabilities), rule.decision, rule)
        for rule in parts
        if STRICTNESS[rule.decision] < STRICTNESS[decision]
    ]
    for part, word, made_by in rulings:
        yield Grant(
            toolset=toolset or line.tool,
            tool=line.tool,
            capabilities=part,
            decision=word,
            origin="permission" if made_by else "opencode, where no rule says anything",
            at=at,
            rule_at=made_by.at if made_by else None,
            is_open=line.assurance == "open",
        )


def _part(capability: Capability, pattern: str) -> Capability:
    """The part of a capability for a pattern such as `git *` or `docs/*`."""
    if capability == UNLISTED:
        return commands(pattern)
    scope = scope_of(pattern) if capability.name.startswith("fs.") else None
    return Capability(capability.name.removesuffix(".protected"), scope) if scope else capability


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.replace("[", "[[]")))


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern with `*` and `?` is about this text."""
    return _pattern(pattern).fullmatch(text) is not None
