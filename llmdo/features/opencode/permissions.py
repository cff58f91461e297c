"""The permissions of opencode: of the rules that match, the last one decides."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.features.opencode.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.lines import Line
from llmdo.foreign.permissions import LAST, PermissionRule, RuleTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Place

TASK = "task"
"""The tool that calls other agents."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern with `*` and `?` is about this text."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


RULES = RuleTable(
    order=LAST,
    names=lambda rule, tool: matches(rule.tool, tool),
    whole=lambda rule, _tool: rule.pattern in ("*", "**"),
)


def grants_by(
    rules: Sequence[PermissionRule], at: Place, known: Mapping[str, tuple[Server, Place]], toolset: str | None
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
    line: Line, rules: Sequence[PermissionRule], at: Place, toolset: str | None = None
) -> Iterator[Grant]:
    """The decisions about one tool: about all of it, and about milder parts."""
    if not line.capabilities or line.tool == TASK:
        return
    for ruling in RULES.rulings(rules, line.tool, line.raised, line.decision):
        origin = "permission" if ruling.rule else "opencode, where no rule says anything"
        yield ruling.grant(line, at, origin, toolset=toolset)
