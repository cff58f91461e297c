"""The lines of `allow`, `ask` and `deny`: the tools of each, and the part of a tool."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.parts import items
from llmdo.base.values import dataclass
from llmdo.foreign.commands import commands
from llmdo.foreign.team import scope_of
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

DECISIONS: dict[str, Decision] = {"allow": "allowed", "ask": "needs_approval", "deny": "blocked"}
CALLING = frozenset({"Agent", "Task"})
"""The tool that calls agents, by its name and by its former one."""

_RULE = re.compile(r"(?P<tool>[A-Za-z_*][\w.*-]*)(?:\((?P<what>.*)\))?", re.DOTALL)
_EVERYTHING = frozenset({"", "*", "**", ":*", "domain:*"})
_AFTER_A_SERVER = re.compile(r"mcp__[^*]+?__")
_ALIKE = {
    "Agent": ("Task",),
    "Bash": ("Monitor",),
    "Task": ("Agent",),
}
"""By tool, the others that each of its rules covers as well."""
_BY_PATH = {
    "Edit": ("MultiEdit", "NotebookEdit", "Write"),
    "Read": ("Glob", "Grep", "LS", "NotebookRead"),
}
"""By tool, the others whose paths its rules cover too.

One that denies or asks without a path counts for its own tool alone, as only that is certain.
"""
_WITHOUT_PATHS = {
    "Glob": "Read",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "Write": "Edit",
}
"""Tools whose rules cover the whole tool only, and the rules for their paths."""


@dataclass(frozen=True, slots=True)
class ClaudeRule:
    """A line of `permissions`: a tool, perhaps only a part of it."""

    tool: str
    pattern: str | None
    decision: Decision
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it covers this tool, or one of this server."""
        if self.tool == tool or tool in _ALIKE.get(self.tool, ()):
            return True
        if tool in _BY_PATH.get(self.tool, ()):
            return self.decision == "allowed" or self.pattern is not None
        if self.tool.startswith("mcp__"):
            server = self.tool.removesuffix("__*")
            if tool == server or tool.startswith(f"{server}__"):
                return True
        if self.decision != "allowed":
            return "*" in self.tool and fnmatchcase(tool, self.tool)
        return self._is_of_server(tool) or fnmatchcase(tool, self.tool)

    def is_whole(self, tool: str) -> bool:
        """Whether it covers the whole tool."""
        return (self.pattern is None or self.pattern in _EVERYTHING) and not self._is_of_server(tool)

    def _is_of_server(self, tool: str) -> bool:
        """Whether it covers some of the tools of a server, which represents all of them."""
        is_server = tool.startswith("mcp__") and tool.count("__") == 1
        return is_server and self.tool.startswith(f"{tool}__") and self.tool != f"{tool}__*"

    @property
    def flaw(self) -> str | None:
        """Why Claude Code ignores it, or None."""
        if self.pattern is not None and self.tool in _WITHOUT_PATHS:
            return f"paths are only looked up in rules for `{_WITHOUT_PATHS[self.tool]}`"
        if self.decision == "allowed" and "*" in self.tool and not _AFTER_A_SERVER.match(self.tool):
            return "a pattern that allows has to begin with `mcp__SERVER__`"
        return None

    @property
    def origin(self) -> str:
        """The source of the decision."""
        return self.at.document.source.path

    def part(self, capability: Capability) -> Capability:
        """The part of a capability for a rule such as `Bash(git log:*)` or `Edit(docs/**)`."""
        pattern = self.pattern or ""
        if capability == UNLISTED:
            return commands(pattern)
        scope = scope_of(pattern) if capability.name.startswith("fs.") else None
        if scope is None:
            return capability  # no scope of ours says it: the wider reading
        return Capability(capability.name.removesuffix(".protected"), scope)


def rule_of(text: object, decision: Decision, at: Place) -> ClaudeRule | None:
    """The rule of a text such as `Bash(git log:*)`, or None."""
    parts = _RULE.fullmatch(text.strip()) if isinstance(text, str) else None
    return ClaudeRule(parts["tool"], parts["what"], decision, at) if parts else None


def rules_in(document: Document, table: Mapping[str, object]) -> Iterator[ClaudeRule]:
    """The rules of the table `permissions` of a document."""
    for key, decision in DECISIONS.items():
        for number, text in enumerate(items(table.get(key))):
            if rule := rule_of(text, decision, Place(document, ("permissions", key, number))):
                yield rule
