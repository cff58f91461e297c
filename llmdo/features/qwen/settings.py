"""`settings.json` of Qwen Code: its rules about tools, as Claude Code has them, and its approval mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, nearest
from llmdo.base.parts import table
from llmdo.base.values import dataclass, replace
from llmdo.extensions.spec import NO_COMMANDS
from llmdo.features.qwen.table import ALIASES, NAMED, SEARCH, TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import BY_ARITHMETIC
from llmdo.foreign.files import renaming
from llmdo.foreign.instead import list_without
from llmdo.foreign.permissions import (
    EVERYTHING,
    STRICTEST,
    WORDS,
    PermissionRule,
    RuleTable,
    about_any_command,
    form,
    words_of,
)
from llmdo.foreign.team import AgentCall
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

LINES = {line.tool: line for line in TABLE if line.tool.islower()}
"""The built-in tools."""
SHELL = "run_shell_command"
_WITHOUT = "write `Bash` into `permissions.deny`"
MODES = ("auto-edit", "default", "plan", "yolo")
"""The approval modes. `plan` ends as soon as a person says so: it counts as `default`."""
UNASKED = frozenset({"edit", "web_fetch", "write_file"})
"""The tools that `auto-edit` does not ask about."""
_COVERED = {
    "edit": ("write_file",),
    "read_file": ("glob", "grep_search", "list_directory"),
    SHELL: ("monitor",),
}
"""By tool, the others that its rules cover."""
_SHELLS = (SHELL, *_COVERED[SHELL])
_NOT_CORE = frozenset(
    {
        "agent",
        "ask_user_question",
        "exit_plan_mode",
        "send_message",
        "skill",
        "structured_output",
        "task_stop",
        "tool_search",
    }
)
"""The tools that `tools.core` does not take away."""
ORIGIN = "Qwen Code, where no rule says anything"


def _names(rule: PermissionRule, tool: str) -> bool:
    if not tool.startswith("mcp__"):
        return rule.tool == tool or tool in _COVERED.get(rule.tool, ())
    if rule.tool == tool or _is_of_server(rule, tool):
        return True
    return rule.tool.endswith("*") and f"{tool}__".startswith(rule.tool[:-1])


def _is_of_server(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule is about some tools of a server."""
    return rule.tool.startswith(f"{tool}__") and rule.tool != f"{tool}__*"


def _is_whole(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule is about all of a tool, as one that allows a command is: see `foreign.commands.BY_ARITHMETIC`.

    `PermissionManager` of 0.15.10 was seen to allow that, and some rules `$(…)` as well.
    """
    if tool in _SHELLS and rule.decision == "allowed":
        return True
    is_about_all = rule.pattern is None or rule.pattern.strip() in EVERYTHING
    return is_about_all and not _is_of_server(rule, tool)


RULES = RuleTable(
    order=STRICTEST,
    text=form(r"[A-Za-z_][\w*.-]*"),
    names=_names,
    whole=_is_whole,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenRules:
    """The rules of a session or of an agent, in its mode."""

    rules: tuple[PermissionRule, ...] = ()
    core: frozenset[str] | None = None
    """The only tools of the session, of those that can be left out; None for all."""
    mode: str = "default"
    mode_at: Place | None = None

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decisions about one built-in tool: about all of it, and about milder parts."""
        if not line.capabilities or line.tool == "agent":
            return
        if self.core is not None and line.tool not in self.core and line.tool not in _NOT_CORE:
            return
        default = self._default(line.tool, line.decision)
        for ruling in RULES.rulings(self.rules, line.tool, line.raised, default):
            if ruling.decision == "blocked":
                continue
            decision: Decision = "allowed" if self.mode == "yolo" else ruling.decision
            origin = ruling.rule.origin if ruling.rule else self._origin
            grant = ruling.grant(line, at, origin, toolset=toolset, otherwise_at=self.mode_at)
            grant = replace(grant, decision=decision, may_lack=line.tool == SEARCH)
            yield grant if self.mode == "yolo" else _by_rule(grant, ruling.rule)

    def server(self, name: str, server: Server, at: Place, trust: Place | None) -> Iterator[Grant]:
        """The decision about the tools of a server, of which one that goes unasked is enough for all."""
        tool = f"mcp__{name}"
        mine = RULES.about(self.rules, tool)
        rule = RULES.decided_whole(mine, tool)
        if rule and rule.decision == "blocked":
            return
        if rule is None or rule.decision == "allowed":
            rule = next((each for each in mine if each.decision == "allowed"), rule)
        unsaid: Decision = "allowed" if trust or self.mode == "yolo" else "needs_approval"
        decision = "allowed" if self.mode == "yolo" else rule.decision if rule else unsaid
        by = rule.at if rule else trust or self.mode_at
        grant = servers.grant(name, server, at, decision, by.document.source.path if by else ORIGIN)
        yield replace(grant, rule_at=by)

    def call(self, agent: str, at: Place) -> Iterator[AgentCall]:
        """The session's call of an agent."""
        mine = [
            rule
            for rule in RULES.about(self.rules, "agent")
            if RULES.whole(rule, "agent") or rule.pattern == agent
        ]
        rule = RULES.decided(mine)
        decision = rule.decision if rule and self.mode != "yolo" else "allowed"
        if rule is None or rule.decision != "blocked":
            yield AgentCall(name=agent, at=at, decision=decision, origin=rule.origin if rule else ORIGIN)

    def below(self, mode: str | None, at: Place | None) -> QwenRules:
        """The rules of an agent: a mild mode of the session holds, else the agent's own, else `auto-edit`."""
        if self.mode in ("auto-edit", "yolo"):
            return self
        return replace(self, mode=mode or "auto-edit", mode_at=at if mode else None)

    @property
    def without(self) -> tuple[str, ...]:
        """The tools that are taken away as a whole."""
        return tuple(rule.tool for rule in self.rules if rule.decision == "blocked" and rule.pattern is None)

    @property
    def _origin(self) -> str:
        return self.mode_at.document.source.path if self.mode_at else ORIGIN

    def _default(self, tool: str, decision: Decision) -> Decision:
        return "allowed" if self.mode == "auto-edit" and tool in UNASKED else decision


def _by_rule(grant: Grant, rule: PermissionRule | None) -> Grant:
    """A tool by a rule: for commands any of several allows as much, so that one line takes it away whichever do.

    Without one a command that Qwen Code takes for reading goes unasked, and so any: `PermissionManager` of 0.15.10.
    """
    if rule is None and grant.tool in _SHELLS:
        return replace(grant, rule_at=None, words=f"echo {BY_ARITHMETIC}")
    if rule is None or rule.decision != "allowed" or grant.tool not in _SHELLS:
        return grant
    grant = replace(grant, words=words_of(rule))
    if list_without(grant.at, grant.tool):
        return grant  # of its own list an agent loses it alone
    return replace(grant, narrower=_WITHOUT, narrower_at=Place(rule.at.document, ()), loss=NO_COMMANDS)


def rules_of(files: Files, document: Document) -> QwenRules:
    """The rules of a project, with ineffective settings noted."""
    lists: tuple[tuple[tuple[str, ...], Decision], ...] = (
        *((("permissions", word), decision) for word, decision in WORDS.items()),
        (("tools", "allowed"), "allowed"),
        (("tools", "exclude"), "blocked"),
        (("allowedTools",), "allowed"),
        (("excludeTools",), "blocked"),
    )
    rules = [rule for route, decision in lists for rule in _rules(files, document, route, decision)]
    switch = Place(document, ("tools", "webSearch", "enabled"))
    if switch.data is False:
        rules.append(PermissionRule(SEARCH, None, "blocked", switch))
    core = [
        ALIASES.get(name := text.partition("(")[0].strip(), name)
        for route in (("tools", "core"), ("coreTools",))
        for text, _ in files.texts(document, *route)
    ]
    mode, at = "default", None
    if (value := table(document.data, "tools").get("approvalMode")) is not None:
        place = Place(document, ("tools", "approvalMode"))
        if value in MODES:
            mode, at = str(value), place
        else:
            files.unknown_key(place, str(value), MODES)
        if value == "yolo":
            message = "mode `yolo` never asks for approval"
            files.note("LDO554", place, message, "allow by name what asks too often")
    read = QwenRules(rules=tuple(rules), core=frozenset(core) or None, mode=mode, mode_at=at)
    shells = (rule for rule in rules if rule.tool == SHELL and rule.decision == "allowed")
    for rule, message in about_any_command(shells, "Qwen Code"):
        if any(each.decision == "allowed" for each in read.grants(LINES[SHELL], rule.at)):
            files.note("LDO554", rule.at, message, f"{_WITHOUT}; {NO_COMMANDS}")
    return read


def _rules(
    files: Files, document: Document, route: tuple[str, ...], decision: Decision
) -> Iterator[PermissionRule]:
    for text, at in files.texts(document, *route):
        rule = RULES.rule(text, decision, at)
        if rule is None:
            files.note("LDO151", at, f"`{excerpt(text)}` is no rule of Qwen Code, so it does nothing")
            continue
        rule = replace(rule, tool=ALIASES.get(rule.tool, rule.tool))
        if rule.tool not in LINES and not rule.tool.startswith("mcp__"):
            message = f"{NAMED} has no tool `{excerpt(rule.tool)}`"
            is_search = "search" in rule.tool.lower()
            near = nearest(rule.tool, [each for each in (*LINES, *ALIASES) if is_search == ("earch" in each)])
            files.note("LDO250", at, message, renaming(at, rule.tool, near))
        yield rule
