"""The permissions of Claude Code: what `settings.json` and a permission mode decide about a tool."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table as table_in
from llmdo.base.values import dataclass
from llmdo.foreign.commands import commands
from llmdo.foreign.team import Grant, scope_of
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.lines import Line
    from llmdo.policy.authority import Decision
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "additionalDirectories", "allow", "ask", "defaultMode", "deny", "disableAutoMode",
        "disableBypassPermissionsMode",
    }
)  # fmt: skip
"""The keys of `permissions`."""

MODES = frozenset({"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"})
"""The permission modes; `manual` is what the interface calls `default`."""
HOLDS_BELOW = frozenset({"acceptEdits", "auto", "bypassPermissions"})
"""The modes of a session that no agent below it changes, whatever its file says."""

_DECISIONS: dict[str, Decision] = {"allow": "allowed", "ask": "needs_approval", "deny": "blocked"}
_RULE = re.compile(r"(?P<tool>[A-Za-z_*][\w.*-]*)(?:\((?P<what>.*)\))?", re.DOTALL)
_GROUPS = {
    "Edit": ("MultiEdit", "NotebookEdit", "Write"),
    "Read": ("Glob", "Grep", "LS", "NotebookRead"),
    "Agent": ("Task",),
    "Task": ("Agent",),
}
"""The tools that a rule for another one is about as well."""


@dataclass(frozen=True, slots=True)
class ClaudeRule:
    """A line of `permissions`: a tool, perhaps only part of what it can do."""

    tool: str
    what: str | None
    decision: Decision
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it is about this tool."""
        if self.tool in (tool, "*") or tool in _GROUPS.get(self.tool, ()):
            return True
        if self.tool.endswith("*"):
            return tool.startswith(self.tool[:-1])
        # A server stands for all of its tools.
        return self.tool.startswith("mcp__") and tool.startswith(f"{self.tool}__")

    @property
    def is_whole(self) -> bool:
        """Whether it is about all that the tool can do."""
        return self.what is None or self.what in ("", "*", ":*", "**")

    @property
    def origin(self) -> str:
        """Who decides so."""
        return self.at.document.source.path


@dataclass(frozen=True, slots=True)
class Mode:
    """What is decided where no rule decides."""

    name: str = "default"
    at: Place | None = None

    def decision(self, line: Line) -> Decision:
        """What it decides about a tool."""
        if line.decision == "allowed" or self.name == "bypassPermissions":
            return "allowed"
        if self.name == "acceptEdits" and _writes(line):
            return "allowed"
        if self.name == "dontAsk" or (self.name == "plan" and _writes(line)):
            return "blocked"
        return line.decision


def _writes(line: Line) -> bool:
    return any(capability.startswith("fs.write") for capability in line.capabilities)


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """What the settings of a project say about permissions."""

    rules: tuple[ClaudeRule, ...] = ()
    mode: Mode = Mode()

    def grants(self, line: Line, at: Place, mode: Mode) -> Iterator[Grant]:
        """What is decided about one tool: about all of it, and about parts of it that are milder."""
        rules = [rule for rule in self.rules if rule.names(line.tool)]
        capabilities = tuple(map(Capability, line.capabilities))
        decision, rule = _decided(line, rules, mode)
        yield _grant(line, capabilities, decision, at, rule, mode)
        if decision == "allowed" or (rule and rule.decision == "blocked"):
            return
        for other in rules:
            if other.decision == "allowed" and not other.is_whole:
                part = tuple({_part(each, other.what or ""): None for each in capabilities})
                yield _grant(line, part, "allowed", at, other, mode)


def settings_of(documents: Iterable[Document]) -> ClaudeSettings:
    """What these files say together: rules add up, and the last mode holds."""
    rules: list[ClaudeRule] = []
    mode = Mode()
    for document in documents:
        table = table_in(document.data, "permissions")
        rules += _rules(document, table)
        if isinstance(name := table.get("defaultMode"), str):
            mode = Mode(name, Place(document, ("permissions", "defaultMode")))
    return ClaudeSettings(tuple(rules), mode)


def _rules(document: Document, table: Mapping[str, object]) -> Iterator[ClaudeRule]:
    for key, decision in _DECISIONS.items():
        listed = table.get(key)
        for number, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str) and (parts := _RULE.fullmatch(text.strip())):
                at = Place(document, ("permissions", key, number))
                yield ClaudeRule(parts["tool"], parts["what"], decision, at)


def _decided(line: Line, rules: list[ClaudeRule], mode: Mode) -> tuple[Decision, ClaudeRule | None]:
    """The decision over all that a tool can do, and the rule that makes it, if one does."""
    whole = {rule.decision: rule for rule in reversed(rules) if rule.is_whole}
    if "blocked" in whole:
        return "blocked", whole["blocked"]
    by_mode = mode.decision(line)
    if mode.name == "bypassPermissions" or (mode.name == "plan" and by_mode == "blocked"):
        return by_mode, None
    if "needs_approval" in whole:
        return ("blocked" if mode.name == "dontAsk" else "needs_approval"), whole["needs_approval"]
    return ("allowed", whole["allowed"]) if "allowed" in whole else (by_mode, None)


def _part(capability: Capability, what: str) -> Capability:
    """The part of a capability that a rule such as `Bash(git log:*)` or `Edit(docs/**)` speaks of."""
    if capability == UNLISTED:
        return commands(what)
    scope = scope_of(what) if capability.name.startswith("fs.") else None
    if scope is None:
        return capability  # no scope of ours says it: the wider reading
    return Capability(capability.name.removesuffix(".protected"), scope)


def _grant(
    line: Line,
    capabilities: tuple[Capability, ...],
    decision: Decision,
    at: Place,
    rule: ClaudeRule | None,
    mode: Mode,
) -> Grant:
    return Grant(
        toolset=line.tool,
        tool=line.tool,
        capabilities=capabilities,
        decision=decision,
        origin=rule.origin if rule else f"Claude Code, mode {mode.name}",
        at=at,
        rule_at=rule.at if rule else mode.at,
        is_open=line.assurance == "open",
    )
