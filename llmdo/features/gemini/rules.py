"""The decisions of Gemini CLI's settings about a tool: the lists of `tools`, trusted servers, the approval mode."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.features.gemini.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import commands
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.lines import Line
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

LINES = {line.tool: line for line in TABLE if line.tool.islower() and line.tool != "browser_agent"}
"""The built-in tools."""
MODES = ("default", "auto_edit", "plan")
"""The modes that a file can set. `plan` ends as soon as a person says so: it counts as `default`."""
EDITS_UNASKED = frozenset({"replace", "web_fetch", "write_file"})
"""The tools that `auto_edit` no longer asks about."""
_OLD_NAMES = {
    "EditTool": "replace", "GlobTool": "glob", "GrepTool": "grep_search", "LSTool": "list_directory",
    "MemoryTool": "save_memory", "ReadFileTool": "read_file", "ReadManyFilesTool": "read_many_files",
    "RipGrepTool": "grep_search", "ShellTool": "run_shell_command", "WebFetchTool": "web_fetch",
    "WebSearchTool": "google_web_search", "WriteFileTool": "write_file", "search_file_content": "grep_search",
}  # fmt: skip
"""Former names of tools, and names in the code, which lists of tools may use as well."""
_ITEM = re.compile(r"(?P<tool>[\w*.:-]+)(?:\((?P<what>.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Listed:
    """An item of a list of tools: a tool, perhaps only commands that begin so."""

    tool: str
    pattern: str | None
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it is about this tool; a server's tools are called `mcp_SERVER_*` together."""
        return self.tool == tool or ("*" in self.tool and fnmatchcase(tool, self.tool))


def tool_called(name: str) -> str:
    """The present tool for `name`."""
    return _OLD_NAMES.get(name, name)


def listed(items: Iterable[tuple[str, Place]]) -> tuple[Listed, ...]:
    """The items of a list of tools, without texts that name no tool."""
    parsed = ((_ITEM.fullmatch(text.strip()), at) for text, at in items)
    return tuple(Listed(tool_called(item["tool"]), item["what"], at) for item, at in parsed if item)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiRules:
    """The rules in settings about tools and servers, for a session and for all agents below it."""

    core: tuple[Listed, ...] | None = None
    """The only built-in tools, which are not asked about; None for all of them."""
    allowed: tuple[Listed, ...] = ()
    needs_confirmation: tuple[Listed, ...] = ()
    excluded: tuple[Listed, ...] = ()
    mode: str = "default"
    mode_at: Place | None = None
    servers_allowed: Mapping[str, Place] | None = None
    servers_excluded: frozenset[str] = frozenset()

    @property
    def without(self) -> tuple[str, ...]:
        """The tools that are taken away as a whole."""
        names = (each.tool for each in self.excluded if each.pattern is None)
        return tuple(name for name in names if name in LINES or name.startswith("mcp_"))

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decisions about one built-in tool: about all of it, and about milder commands."""
        if not line.capabilities or line.tool == "invoke_agent" or self._is_out(line.tool):
            return
        decision, rule = self._decided(line)
        whole = tuple(map(Capability, line.capabilities))
        if decision is not None:
            yield _grant(line, whole, decision, at, rule, toolset)
        if decision == "allowed" or any(each.names(line.tool) for each in self.needs_confirmation):
            return
        for each in (*self.allowed, *(self.core or ())):
            if each.names(line.tool) and each.pattern is not None:
                part = tuple(
                    commands(each.pattern, is_prefix=True) if capability == UNLISTED else capability
                    for capability in whole
                )
                yield _grant(line, part, "allowed", at, each.at, toolset)

    def server(self, name: str, server: Server, at: Place, trust: Place | None) -> Iterator[Grant]:
        """The decision about the tools of a server, which `trust` lets go unasked."""
        tool = f"mcp_{name}_*"
        is_out = self.servers_allowed is not None and name not in self.servers_allowed
        if is_out or name in self.servers_excluded or self._is_excluded(tool):
            return
        rule = trust or (self.servers_allowed or {}).get(name)
        rule = rule or next((each.at for each in self.allowed if each.names(tool)), None)
        question_at = next((each.at for each in self.needs_confirmation if each.names(tool)), None)
        grant = servers.grant(
            name, server, at, "allowed" if rule and not question_at else "needs_approval", ""
        )
        yield replace(grant, origin=_origin(question_at or rule), rule_at=question_at or rule)

    def _is_excluded(self, tool: str) -> bool:
        # A part of a tool is not excluded by any current version.
        return any(each.names(tool) and each.pattern is None for each in self.excluded)

    def _is_out(self, tool: str) -> bool:
        """Whether no agent has this built-in tool at all."""
        is_core = self.core is None or any(each.names(tool) for each in self.core)
        return not is_core or self._is_excluded(tool)

    def _decided(self, line: Line) -> tuple[Decision | None, Place | None]:
        """The decision about the whole tool; None if agents have only parts of it."""
        question_at = next((each.at for each in self.needs_confirmation if each.names(line.tool)), None)
        if question_at:
            return "needs_approval", question_at
        for each in (*self.allowed, *(self.core or ())):
            if each.names(line.tool) and each.pattern is None:
                return "allowed", each.at
        if self.core is not None:
            return None, None
        if self.mode == "auto_edit" and line.tool in EDITS_UNASKED:
            return "allowed", self.mode_at
        return line.decision, None


def _grant(
    line: Line,
    capabilities: tuple[Capability, ...],
    decision: Decision,
    at: Place,
    rule: Place | None,
    toolset: str | None,
) -> Grant:
    return Grant(
        toolset=toolset or line.tool,
        tool=line.tool,
        capabilities=capabilities,
        decision=decision,
        origin=_origin(rule),
        at=at,
        rule_at=rule,
        is_open=line.assurance == "open",
    )


def _origin(rule: Place | None) -> str:
    return rule.document.source.path if rule else "Gemini CLI, where no rule says anything"
