"""What an agent of Kiro does unasked: its lists of allowed tools, settings of tools and rules about capabilities."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.kiro.expressions import ANOTHER, CommandExpression, globs_of, goes_on, part_of
from llmdo.features.kiro.table import NAMES, TABLE
from llmdo.foreign import servers
from llmdo.foreign.instead import ASKED, ASKED_BUT_TO_READ, LONGEST
from llmdo.foreign.permissions import STRICTEST, WORDS, PermissionRule, RuleTable
from llmdo.foreign.server_words import in_words, says_reading
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

LINES = {line.tool: line for line in TABLE if line.tool.islower()}
ORIGIN = "Kiro, where no rule says anything"
SHELL = "execute_bash"
BUILT_IN = "@builtin"
MANY = 20  # rules of one list that an edit names
ALL_SERVERS = "@*"
RULE_KEYS = frozenset({"capability", "effect", "exclude", "match"})
_CAPABILITIES = {
    "all": ("*", ALL_SERVERS),
    "fs_read": ("fs_read", "glob", "grep", "code"),
    "fs_write": ("fs_write", "code"),
    "mcp": (ALL_SERVERS,),
    "shell": (SHELL,),
    "subagent": ("subagent",),
    "web_fetch": ("web_fetch",),
    "web_search": ("web_search",),
}
"""By what a rule is about, the tools."""
_LISTS = {
    "allowedCommands": "allowed", "allowedPaths": "allowed", "allowedServices": "allowed", "trusted": "allowed",
}  # fmt: skip
"""The settings of a tool that let a part of it go unasked. What a part is denied takes nothing from the rest."""
_READS = "proc.exec.read"
_EVERYTHING = frozenset({"*", "**", "**/*", ".*"})


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern with `*` and `?` is about this name; one longer than any name is about itself alone."""
    if len(pattern) > 2 * MAX_NAME:
        return pattern == name
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def tools_named(name: str) -> tuple[str, ...]:
    """The built-in tools that a name, a tag or a pattern is about."""
    return tuple(tool for tool in LINES if _is_about(name, tool))


def _is_about(name: str, tool: str) -> bool:
    plain = name.removeprefix(f"{BUILT_IN}/")
    if plain in (BUILT_IN, "*"):
        return True
    return any(matches(plain, each) for each in (tool, *NAMES.get(tool, ())))


def _names(rule: PermissionRule, tool: str) -> bool:
    if tool.startswith("@") != (rule.tool.startswith("@") and not rule.tool.startswith(BUILT_IN)):
        return False
    return matches(rule.tool, tool) if tool.startswith("@") else _is_about(rule.tool, tool)


RULES = RuleTable(
    order=STRICTEST,
    names=_names,
    whole=lambda rule, _tool: rule.pattern is None or rule.pattern.strip() in _EVERYTHING,
    part=part_of,
    globs=globs_of,
)


@dataclass(frozen=True, slots=True)
class KiroPermissions:
    """The rules about one agent."""

    rules: tuple[PermissionRule, ...] = ()
    is_closed: bool = False
    """Whether commands that no rule allows are denied."""
    reads_at: Place | None = None
    """The setting that lets commands which only read go unasked."""
    reads_by_default: bool = False
    """Whether such commands go unasked without a setting, as they do in Kiro's own session."""

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decisions about one built-in tool: about all of it, and about milder parts."""
        default: Decision = "blocked" if line.tool == SHELL and self.is_closed else line.decision
        alike = _as_wide(self.rules, line)
        for ruling in RULES.rulings(self.rules, line.tool, line.raised, default):
            grant = ruling.grant(line, at, _origin(ruling.rule), toolset=toolset)
            if line.tool == SHELL and ruling.rule and goes_on(ruling.rule.pattern or ""):
                grant = replace(grant, words=ANOTHER)
            if ruling.rule is None or ruling.rule not in alike:
                if ruling.decision != "blocked":
                    yield grant
            elif ruling.decision == "allowed" and (
                RULES.whole(ruling.rule, line.tool)
                or ruling.rule is alike[0]
                or not {*ruling.capabilities} <= {*line.raised}  # it brings words as well
            ):
                loss = ASKED_BUT_TO_READ if line.tool == SHELL and self.reads_at else ASKED
                grant = _with_others(grant, ruling.rule, alike, loss)
                yield replace(grant, left_by=self._left_by(line, alike))
        if line.tool == SHELL and (self.reads_at or self.reads_by_default):
            reads = replace(line, capabilities=(_READS,), decision="allowed")
            place = self.reads_at
            origin = place.document.source.path if place else ORIGIN
            yield reads.grant(at, origin, toolset=toolset or line.tool, rule_at=place)

    def _left_by(
        self, line: Line, alike: Sequence[PermissionRule]
    ) -> tuple[tuple[str, tuple[Capability, ...]], ...]:
        """The rules that still let parts of a tool go unasked when those that let all of it are gone."""
        left = (
            (rule.pattern or rule.tool, RULES.parted(line.raised, rule))
            for rule in RULES.about(self.rules, line.tool)
            if rule.decision == "allowed" and rule not in alike
        )
        return tuple(dict.fromkeys(left))

    def server(self, name: str, server: Server, at: Place, only: str | None = None) -> Iterator[Grant]:
        """The decisions about the tools of a server; `only` is the one that the agent has.

        One that goes unasked is enough for all, unless those are named and their names say that they change nothing.
        """
        mine = RULES.about(self.rules, f"@{name}")
        if (rule := RULES.decided_whole(mine, "")) and rule.decision == "blocked":
            return
        unasked = [
            each
            for each in mine
            if each.decision == "allowed" and (only is None or matches(each.pattern or "*", only))
        ]
        whole = servers.grant(name, server, at, "needs_approval", ORIGIN)
        if rule is None and only is None and unasked and all(_is_reading(each) for each in unasked):
            yield whole
            for each in unasked:
                yield replace(
                    whole, tool=str(each.pattern), decision="allowed", origin=each.origin, rule_at=each.at
                )
            return
        if rule is None or rule.decision == "allowed":
            # The example of them is no tool that only reads, as what counts most is what goes out unasked.
            rule = min(unasked, key=_is_reading, default=rule)
        if rule:
            whole = replace(whole, decision=rule.decision, origin=_origin(rule), rule_at=rule.at)
        yield whole


def _is_reading(rule: PermissionRule) -> bool:
    """Whether a rule about a server is one about a tool whose name says that it changes nothing."""
    return bool(rule.pattern) and says_reading(in_words(rule.pattern or ""))


def _as_wide(rules: Iterable[PermissionRule], line: Line) -> list[PermissionRule]:
    """The rules of which each alone lets as much of a tool go unasked as all of it."""
    return [
        rule
        for rule in RULES.about(rules, line.tool)
        if rule.decision == "allowed"
        and (RULES.whole(rule, line.tool) or {*line.raised} <= {*RULES.parted(line.raised, rule)})
    ]


def _list_of(rule: PermissionRule) -> str:
    """The list that a rule is in."""
    return ".".join(step for step in rule.at.route if isinstance(step, str))


def _by_list(rules: Iterable[PermissionRule]) -> dict[str, list[PermissionRule]]:
    """The rules, by the list that they are in."""
    by_list: dict[str, list[PermissionRule]] = {}
    for rule in rules:
        by_list.setdefault(_list_of(rule), []).append(rule)
    return by_list


def _out_of(name: str, rules: Sequence[PermissionRule]) -> str:
    """An edit that takes rules out of a list; many are all of it."""
    names = [f"`{excerpt(each.pattern or each.tool, LONGEST)}`" for each in rules]
    is_named = len(names) <= MANY and name.startswith(("allowedTools", "toolsSettings."))
    return f"{', '.join(names) if is_named else 'every rule about it'} out of `{name}`"


def _with_others(grant: Grant, rule: PermissionRule, alike: Sequence[PermissionRule], loss: str) -> Grant:
    """The grant, with all rules that have to go before a person is asked, and what is lost then."""
    by_list = _by_list(alike)
    name = _list_of(rule)
    own = tuple(dict.fromkeys(each.pattern or each.tool for each in by_list.pop(name)))
    is_named = name.startswith("toolsSettings.") or (name == "allowedTools" and len(own) > 1)
    return replace(
        grant,
        unasked_by=own if is_named else (),
        unasked_also=tuple(_out_of(*each) for each in by_list.items()),
        loss=loss if is_named or name == "allowedTools" else "",
    )


def _origin(rule: PermissionRule | None) -> str:
    return rule.origin if rule else ORIGIN


def permissions_of(
    files: Files, document: Document, shared: Document | None, *, has_commands: bool
) -> KiroPermissions:
    """The rules of an agent's file, and of the servers that the project shares.

    Those that allow every command are noted for an agent that has commands.
    """
    rules: list[PermissionRule] = []
    for key, decision in (("allowedTools", "allowed"), ("excludedTools", "blocked")):
        for name, at in files.texts(document, key):
            if name == "*" and decision == "allowed":
                message = f"`{key}` knows no `*`, so it does nothing"
                files.note("LDO151", at, message, "name the tools that may go unasked")
            else:
                rules.append(_of_tool(name, "blocked" if decision == "blocked" else "allowed", at))
    for each in (document, shared):
        rules += of_servers(each) if each else ()
    rules += _of_settings(document)
    rules += _of_capabilities(files, document)
    for rule in rules if has_commands else ():
        if rule.decision == "allowed" and RULES.whole(rule, SHELL) and _names(rule, SHELL):
            message = "this allows every command without a question"
            files.note("LDO554", rule.at, message, _fewer_commands(rule, rules))
    settings = [(name, table(document.data, "toolsSettings", name)) for name in (SHELL, *NAMES[SHELL])]
    reads = next((name for name, each in settings if each.get("autoAllowReadonly") is True), None)
    return KiroPermissions(
        tuple(rules),
        any(each.get("denyByDefault") is True for _, each in settings),
        Place(document, ("toolsSettings", reads, "autoAllowReadonly")) if reads else None,
    )


def _fewer_commands(rule: PermissionRule, rules: Sequence[PermissionRule]) -> str:
    """The hint for a rule that allows every command."""
    alike = _as_wide(rules, LINES[SHELL])
    lists = dict.fromkeys(
        f"`{_list_of(each)}`"
        for each in RULES.about(rules, SHELL)
        if each.pattern and each.decision == "allowed" and each not in alike
    )
    others = [each for each in alike if each is not rule]
    wide = " and ".join(_out_of(name, each) for name, each in _by_list(others).items())
    as_much = f"{wide}, which allow{'' if len(others) > 1 else 's'} as much" if wide else ""
    if lists:
        allow = f"{' and '.join(lists)} allow{'' if len(lists) > 1 else 's'} commands by name"
        return f"take this out, as {allow}{f', and take {as_much}' if wide else ''}"
    name_them = f"name the commands that ask too often, in `{_commands_of(rule.at.document)}`"
    return f"take this out, and take {as_much}; {name_them}" if wide else f"take this out, and {name_them}"


def _commands_of(document: Document) -> str:
    """The list of allowed commands in the settings of the shell, by the name of it that the document has."""
    settings = table(document.data, "toolsSettings")
    name = next((each for each in ("shell", SHELL, *NAMES[SHELL]) if each in settings), "shell")
    return f"toolsSettings.{name}.allowedCommands"


def _of_tool(name: str, decision: Decision, at: Place) -> PermissionRule:
    """The rule about `read`, `@SERVER` or `@SERVER/TOOL`."""
    server, slash, tool = name.partition("/")
    if not server.startswith("@") or server == BUILT_IN:
        return PermissionRule(name, None, decision, at)
    return PermissionRule(server, tool if slash and tool != "*" else None, decision, at)


def of_servers(document: Document) -> Iterator[PermissionRule]:
    """The rules that the servers of a file bring: the tools that go unasked."""
    for name in table(document.data, "mcpServers"):
        for number, tool in enumerate(items(table(document.data, "mcpServers", name).get("autoApprove"))):
            at = Place(document, ("mcpServers", name, "autoApprove", number))
            yield PermissionRule(f"@{name}", None if tool == "*" else str(tool), "allowed", at)


def _of_settings(document: Document) -> Iterator[PermissionRule]:
    for name in table(document.data, "toolsSettings"):
        for key in _LISTS if not name.startswith("@") else ():
            for number, pattern in enumerate(items(table(document.data, "toolsSettings", name).get(key))):
                if isinstance(pattern, str):
                    at = Place(document, ("toolsSettings", name, key, number))
                    read = CommandExpression(pattern) if key == "allowedCommands" else pattern
                    yield PermissionRule(name, read, "allowed", at)


def _of_capabilities(files: Files, document: Document) -> Iterator[PermissionRule]:
    """The rules of `permissions`, a list or a table with one."""
    route: tuple[str, ...] = ("permissions",)
    if isinstance(document.data.get("permissions"), dict):
        route = ("permissions", "rules")
    for number, rule in enumerate(items(Place(document, route).data)):
        files.misspelt_keys(document, RULE_KEYS, *route, number)
        at = Place(document, (*route, number))
        if not isinstance(rule, dict):
            files.note("LDO151", at, "a rule of Kiro is a table, so this does nothing")
            continue
        capability, effect = text(table(rule).get("capability")), text(table(rule).get("effect"))
        for key, value, known in (("capability", capability, _CAPABILITIES), ("effect", effect, WORDS)):
            if value not in known:
                place = Place(document, (*at.route, key)) if key in table(rule) else at
                files.note(
                    "LDO151", place, f"a rule of Kiro has no {key} `{excerpt(value)}`, so it does nothing"
                )
        if capability not in _CAPABILITIES or effect not in WORDS:
            continue
        match = table(rule).get("match")
        patterns = [match] if isinstance(match, str) else [*items(match)] or [None]
        for tool in _CAPABILITIES[capability]:
            for pattern in patterns:
                named = capability == "mcp" and isinstance(pattern, str) and pattern not in _EVERYTHING
                if named:
                    yield _of_tool(f"@{str(pattern).removeprefix('@')}", WORDS[effect], at)
                else:
                    yield PermissionRule(
                        tool, pattern if isinstance(pattern, str) else None, WORDS[effect], at
                    )
