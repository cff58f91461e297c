"""The permissions of opencode: of the rules that match, the last one decides."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.parts import table
from llmdo.base.values import replace
from llmdo.features.opencode.table import TABLE
from llmdo.foreign import reading, servers
from llmdo.foreign.permissions import LAST, WORDS, PermissionRule, RuleTable
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision

_LINES = {line.tool: line for line in TABLE}
_OLD_NAMES = {"write": "edit", "patch": "edit", "multiedit": "edit", "ls": "list"}
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


def rules_of(files: Files, at: Place) -> Iterator[PermissionRule]:
    """The rules in `permission` of the table at a place, and in its older `tools`, in their order."""
    declared = table(at.data)
    for name, value in table(declared, "tools").items():
        if isinstance(value, bool):
            decision: Decision = "allowed" if value else "blocked"
            yield PermissionRule(_OLD_NAMES.get(name, name), "*", decision, _within(at, "tools", name))
    permission = declared.get("permission")
    if isinstance(permission, str):
        yield from _rule(files, "*", "*", _within(at, "permission"))
    for name, value in table(permission).items():
        if not set(name) & set("*?_") and reading.misspelt(name, _LINES):
            files.unknown_key(_within(at, "permission", name, of_key=True), name, _LINES)
        tool = _OLD_NAMES.get(name, name)
        if isinstance(value, dict):
            for pattern in value:
                yield from _rule(files, tool, pattern, _within(at, "permission", name, pattern))
        else:
            yield from _rule(files, tool, "*", _within(at, "permission", name))


def _rule(files: Files, tool: str, pattern: str, at: Place) -> Iterator[PermissionRule]:
    word = at.data
    if isinstance(word, str) and word in WORDS:
        yield PermissionRule(tool, pattern, WORDS[word], at)
    else:
        files.unknown_key(at, str(word), WORDS)


def _within(at: Place, *route: str, of_key: bool = False) -> Place:
    return Place(at.document, (*at.route, *route), of_key)


def grants_by(
    rules: Sequence[PermissionRule], at: Place, known: Mapping[str, tuple[Server, Place]], toolset: str | None
) -> Iterator[Grant]:
    """The grants of an agent under these rules: the tools of opencode, as of `toolset`, and those of servers."""
    for line in TABLE:
        if line.tool.islower():
            yield from _grants(line, rules, at, toolset)
    for server, (reached, _) in known.items():
        for grant in _grants(servers.line(f"{server}_*", reached, "allowed"), rules, at):
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
