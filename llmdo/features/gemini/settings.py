"""`settings.json` of Gemini CLI: its misspelt keys, and its decisions about tools.

They are in the lists of `tools`, in the servers that it trusts, and in the approval mode.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.base.values import dataclass, replace
from llmdo.extensions.spec import NO_COMMANDS
from llmdo.features.gemini.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import BY_ARITHMETIC
from llmdo.foreign.files import renaming, surplus
from llmdo.foreign.instead import list_without
from llmdo.foreign.meaning import surely_meant
from llmdo.foreign.permissions import (
    STRICTEST,
    PermissionRule,
    RuleTable,
    about_any_command,
    form,
    words_of,
)
from llmdo.foreign.reading import misspelt
from llmdo.foreign.team import AgentCall
from llmdo.policy.authority import STRICTNESS
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

LINES = {line.tool: line for line in TABLE if line.tool.islower() and line.tool != "browser_agent"}
"""The built-in tools."""
BY_MEANING = {
    "command": "run_shell_command", "edit": "replace", "fetch": "web_fetch", "find": "glob", "grep": "grep_search",
    "list": "list_directory", "read": "read_file", "search": "google_web_search", "write": "write_file",
}  # fmt: skip
"""The tools for what those of other clients do."""
SHELL = "run_shell_command"
_WITHOUT = f"write `{SHELL}` into `tools.exclude`"
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
"""Former names of tools, and names in the code, by which `tools.exclude` still takes tools away."""
_ALIASES = {"ShellTool": "run_shell_command", "search_file_content": "grep_search"}
"""The former names that every list of tools may use."""
SECTIONS = {
    "agents": ("browser", "overrides"),
    "experimental": ("enableAgents",),
    "general": ("defaultApprovalMode",),
    "mcp": ("allowed", "autoAllowInHeadless", "excluded", "serverCommand"),
    "security": (
        "allowedExtensions", "auth", "autoAddToPolicyByDefault", "blockGitExtensions", "disableAlwaysAllow",
        "disableYoloMode", "enableConseca", "enablePermanentToolApproval", "environmentVariableRedaction",
        "folderTrust", "toolSandboxing",
    ),
    "tools": (
        "allowed", "approvalMode", "autoAccept", "callCommand", "confirmationRequired", "core",
        "disableLLMCorrection", "discoveryCommand", "enableHooks", "enableMessageBusIntegration",
        "enableToolOutputTruncation", "exclude", "sandbox", "sandboxAllowedPaths", "sandboxNetworkAccess", "shell",
        "truncateToolOutputLines", "truncateToolOutputThreshold", "usePty", "useRipgrep",
    ),
}  # fmt: skip
"""The sections that decide something, and the keys in them (of the first three: those that matter here)."""
KEYS = frozenset({
    *SECTIONS, "admin", "advanced", "adminPolicyPaths", "billing", "context", "contextManagement", "extensions",
    "hooks", "hooksConfig", "ide", "mcpServers", "model", "modelConfigs", "output", "policyPaths", "privacy", "skills",
    "telemetry", "theme", "ui", "useWriteTodos",
})  # fmt: skip
SERVER_KEYS = frozenset({
    "args", "auth", "authProviderType", "command", "cwd", "description", "env", "excludeTools", "extension", "headers",
    "httpUrl", "includeTools", "oauth", "targetAudience", "targetServiceAccount", "tcp", "timeout", "trust", "type",
    "url",
})  # fmt: skip
MOVED = {
    "allowMCPServers": "mcp.allowed",
    "allowedTools": "tools.allowed",
    "coreTools": "tools.core",
    "excludeMCPServers": "mcp.excluded",
    "excludeTools": "tools.exclude",
    "folderTrust": "security.folderTrust.enabled",
    "sandbox": "tools.sandbox",
}
"""Keys that decided something before version 0.3, and their later names."""
_KNOWN = KEYS | MOVED.keys()
_NO_TABLES = frozenset({*MOVED, "adminPolicyPaths", "policyPaths", "theme", "useWriteTodos"})
"""The keys at the top whose values are no tables."""
_OPEN = frozenset({"experimental", "general"})
"""The sections of which not every key is known here."""
_NAMED = 3
"""Keys of strange settings that a finding names."""


RULES = RuleTable(
    order=STRICTEST,
    text=form(r"[\w*.:-]+"),
    names=lambda rule, tool: fnmatchcase(tool, rule.tool),  # of a server all together: `mcp_SERVER_*`
    whole=lambda _rule, _tool: True,  # a command in parentheses is any command
)
ORIGIN = "Gemini CLI, where no rule says anything"


def tool_called(name: str) -> str:
    """The present tool for `name`."""
    return _ALIASES.get(name, name)


def listed(items: Iterable[tuple[str, Place]], decision: Decision) -> tuple[PermissionRule, ...]:
    """The items of a list of tools as rules; others are left out."""
    names = _OLD_NAMES if decision == "blocked" else _ALIASES
    rules = (RULES.rule(text, decision, at) for text, at in items)
    return tuple(replace(rule, tool=names.get(rule.tool, rule.tool)) for rule in rules if rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiRules:
    """The rules in settings about tools and servers, for a session and for all agents below it."""

    core: tuple[PermissionRule, ...] | None = None
    """The only tools, which are not asked about, of servers and agents as well; None for all of them."""
    rules: tuple[PermissionRule, ...] = ()
    """Those about servers as well."""
    mode: str = "default"
    mode_at: Place | None = None
    servers_allowed: Mapping[str, Place] | None = None
    servers_excluded: frozenset[str] = frozenset()

    @property
    def without(self) -> tuple[str, ...]:
        """The tools that are taken away as a whole."""
        names = (rule.tool for rule in self.rules if rule.decision == "blocked")
        return tuple(name for name in names if name in LINES or name.startswith("mcp_"))

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decision about one built-in tool.

        A rule about a command is one about any: see `foreign.commands.BY_ARITHMETIC`, which `PolicyEngine` of 0.61.0
        was seen to allow.
        """
        if not line.capabilities or line.tool == "invoke_agent":
            return
        if not self._is_left(line.tool):
            return
        default, default_at = self._default(line)
        rules = [rule for rule in self.rules if not self._is_unheeded(rule, line.tool)]
        for ruling in RULES.rulings((*rules, *(self.core or ())), line.tool, line.raised, default):
            if ruling.decision != "blocked":  # what is taken away is not there at all
                origin = _origin(ruling.rule.at if ruling.rule else default_at)
                grant = ruling.grant(line, at, origin, toolset=toolset, otherwise_at=default_at)
                yield _of_commands(grant, ruling.rule) if line.tool == SHELL else grant

    def starts(self, name: str) -> bool:
        """Whether a server is started, whatever is left of its tools."""
        is_allowed = self.servers_allowed is None or name in self.servers_allowed
        return is_allowed and name not in self.servers_excluded

    def server(self, name: str, server: Server, at: Place, trust: Place | None) -> Iterator[Grant]:
        """The decisions about the tools of a server, which `trust` lets go unasked: about all, and milder ones."""
        if not self.starts(name):
            return
        rules = (*self.rules, *(self.core or ()))
        prefix = f"mcp_{name}_"
        others = [rule.tool for rule in rules if rule.tool.startswith(prefix) and "*" not in rule.tool]
        rest: Decision = "blocked"
        for tool in (f"{prefix}*", *dict.fromkeys(others)):
            rule = RULES.decided(RULES.about(rules, tool))
            if trust and rule and rule.decision == "needs_approval":
                rule = None  # what is trusted is not asked about, whatever else asks
            by = rule.at if rule else None
            if self.core is None and (rule is None or rule.decision == "allowed"):
                by = trust or (self.servers_allowed or {}).get(name) or by
            unsaid: Decision = "blocked" if self.core is not None else "allowed" if by else "needs_approval"
            decision = rule.decision if rule else unsaid
            if STRICTNESS[decision] < STRICTNESS[rest]:
                grant = replace(servers.grant(name, server, at, decision, _origin(by)), rule_at=by)
                yield replace(grant, tool=tool) if tool in others else grant
            rest = decision if tool not in others else rest

    def call(self, agent: str, at: Place) -> Iterator[AgentCall]:
        """The session's call of an agent, about which rules about `invoke_agent` and about its name decide."""
        rules = (*self.rules, *(self.core or ()))
        rule = RULES.decided([*RULES.about(rules, "invoke_agent"), *RULES.about(rules, agent)])
        decision: Decision = rule.decision if rule else "allowed" if self.core is None else "blocked"
        if decision != "blocked" and self._is_left("invoke_agent"):
            yield AgentCall(name=agent, at=at, decision=decision, origin=_origin(rule.at if rule else None))

    def _is_left(self, tool: str) -> bool:
        """Whether `tools.core` leaves a built-in tool, which only its name does, and no pattern.

        A name of it in the code leaves it as well, where a rule allows it by its name, or one of both lists has `*`.
        """
        if self.core is None or any(rule.tool == tool for rule in self.core):
            return True
        is_listed = any(_OLD_NAMES.get(rule.tool) == tool for rule in self.core)
        allowing = (rule.tool for rule in (*self.rules, *self.core) if rule.decision == "allowed")
        return is_listed and not {tool, "*"}.isdisjoint(allowing)

    def _is_unheeded(self, rule: PermissionRule, tool: str) -> bool:
        """Whether the mode lets a tool go unasked although a rule asks."""
        return rule.decision == "needs_approval" and self.mode == "auto_edit" and tool in EDITS_UNASKED

    def _default(self, line: Line) -> tuple[Decision, Place | None]:
        """The decision about a tool if no rule is about it."""
        if self.core is not None:
            return "blocked", None
        if self.mode == "auto_edit" and line.tool in EDITS_UNASKED:
            return "allowed", self.mode_at
        return line.decision, None


def _of_commands(grant: Grant, rule: PermissionRule | None) -> Grant:
    """The tool for commands: any of several rules allows as much, so that one line takes it away whichever do.

    Without one, and with one that asks, a command that it takes for harmless goes unasked, and so any (watched with
    0.61.0, in mode `default`).
    """
    if rule is None or rule.decision != "allowed":
        return replace(grant, decision="allowed", rule_at=None, words=f"echo {BY_ARITHMETIC}")
    grant = replace(grant, words=words_of(rule))
    if rule.at.route[-2] == "core" and list_without(rule.at, SHELL):
        return grant
    return replace(grant, narrower=_WITHOUT, narrower_at=Place(rule.at.document, ()), loss=NO_COMMANDS)


def _origin(rule: Place | None) -> str:
    return rule.document.source.path if rule else ORIGIN


def rules_of(files: Files, document: Document, known: Mapping[str, tuple[Server, Place]]) -> GeminiRules:
    """The rules of a project, with ineffective settings noted."""
    _judge_keys(files, document)
    allowed = _tools(files, document, "allowed", "tools", "allowed")
    # Older versions heed the old key. What it allows may go unasked; what the others forbid is there today.
    allowed += _tools(files, document, "allowed", "allowedTools")
    core = table(document.data, "tools").get("core")
    servers_allowed = dict(files.texts(document, "mcp", "allowed"))
    for name, at in servers_allowed.items():
        if name not in known and name != "*":
            files.unknown_server(at, name, known)
    mode, mode_at = _mode(files, document)
    # Of old names `tools.core` knows one: it leaves nothing by the other.
    only = tuple(
        rule
        for rule in (_tools(files, document, "allowed", "tools", "core") if isinstance(core, list) else ())
        if rule.at.data != "search_file_content"
    )
    asking = _tools(files, document, "needs_approval", "tools", "confirmationRequired")
    excluded = _tools(files, document, "blocked", "tools", "exclude")
    rules = GeminiRules(
        core=only if isinstance(core, list) else None,
        rules=(*whole(excluded), *whole(asking), *allowed),
        mode=mode,
        mode_at=mode_at,
        servers_allowed=None if "*" in servers_allowed else servers_allowed or None,
        servers_excluded=frozenset(name for name, _ in files.texts(document, "mcp", "excluded")),
    )
    _note_commands(files, rules, allowed)
    return rules


def _note_commands(files: Files, rules: GeminiRules, allowed: Iterable[PermissionRule]) -> None:
    """Notes the lists that allow commands, unless another list takes all of them away."""
    for rule, message in about_any_command(RULES.about(allowed, SHELL), "Gemini CLI"):
        if any(each.decision == "allowed" for each in rules.grants(LINES[SHELL], rule.at)):
            files.note("LDO554", rule.at, message, f"{_WITHOUT}; {NO_COMMANDS}")


def _fits(key: str, value: object) -> bool:
    """Whether a value may be that of a key at the top; a section has keys of its own."""
    if key in _NO_TABLES or not isinstance(value, dict):
        return key in _NO_TABLES and not isinstance(value, dict)
    if key == "mcpServers":
        return all(isinstance(each, dict) for each in value.values())
    return key in _OPEN or key not in SECTIONS or not value or not value.keys().isdisjoint(SECTIONS[key])


def _note_strange(files: Files, document: Document) -> None:
    """Notes settings with no key of Gemini CLI at all; beside others, an unknown key may be somebody's note."""
    keys = [key for key in document.data if key != "$schema"]
    meant = {key: misspelt(key, _KNOWN) for key in keys}
    is_like = [key in _KNOWN or (near and _fits(near, document.data[key])) for key, near in meant.items()]
    if keys and not any(is_like):
        more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
        names = ", ".join(f"`{excerpt(key)}`" for key in keys[:_NAMED])
        message = f"Gemini CLI knows none of these keys, so nothing here does anything: {names}{more}"
        files.note("LDO151", Place(document, (keys[0],), of_key=True), message)


def _judge_keys(files: Files, document: Document) -> None:
    files.misspelt_keys(document, _KNOWN, fits=_fits)
    _note_strange(files, document)
    for key in document.data.keys() & MOVED.keys():
        place = Place(document, (key,), of_key=True)
        message = f"Gemini CLI no longer reads `{key}`, so it does nothing"
        files.note("LDO151", place, message, moved(document.data, key))
    for section in ("mcp", "security", "tools"):
        files.misspelt_keys(document, SECTIONS[section], section)
    judge_servers(files, document)


def moved(settings: Mapping[str, object], key: str) -> str:
    """The hint for a key of settings that is now in a section."""
    *tables, last = MOVED[key].split(".")
    is_there = last in table(settings, *tables)
    return surplus(MOVED[key]) if is_there else f"it is now called `{MOVED[key]}`"


def judge_servers(files: Files, document: Document, key: str = "mcpServers") -> None:
    """Notes the misspelt keys of servers."""
    servers: object = document.data.get(key)
    for name in servers if isinstance(servers, dict) else ():
        files.misspelt_keys(document, SERVER_KEYS, key, name)


def whole(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """The rules that hold of those that exclude tools or ask: none is about a part of one in any current version."""
    return tuple(rule for rule in rules if rule.pattern is None)


def _tools(files: Files, document: Document, decision: Decision, *route: str) -> tuple[PermissionRule, ...]:
    """The tools in a list, with those of other clients and apparent misspellings noted: the rest may be of a server."""
    items = listed(files.texts(document, *route), decision)
    for item in items:
        if near := surely_meant(item.tool, LINES, BY_MEANING):
            message = f"Gemini CLI has no tool `{excerpt(item.tool)}`"
            files.note("LDO250", item.at, message, renaming(item.at, item.tool, near))
    return items


def _mode(files: Files, document: Document) -> tuple[str, Place | None]:
    """The approval mode that the file sets."""
    for route in (("general", "defaultApprovalMode"), ("tools", "approvalMode")):
        mode = table(document.data, route[0]).get(route[1])
        if mode is None:
            continue
        place = Place(document, route)
        if mode in MODES:
            return str(mode), place
        if mode == "yolo":
            message = "Gemini CLI accepts the mode `yolo` only on its command line, so it does nothing here"
            files.note("LDO151", place, message)
        else:
            files.unknown_key(place, str(mode), MODES)
        break
    return "default", None
