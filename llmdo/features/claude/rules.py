"""The rules of Claude Code about tools: lines of `allow`, `ask` and `deny`, and lists of tools in headers."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.features.claude.headers import ignored
from llmdo.foreign import reading
from llmdo.foreign.commands import commands
from llmdo.foreign.permissions import STRICTEST, PermissionRule, RuleTable, form, part
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.policy.authority import Capability

CALLING = frozenset({"Agent", "Task"})
"""The tool that calls agents, by its name and by its former one."""

WORKFLOW = "Workflow"
"""The tool that runs a script which starts agents: rules and lists about `Agent` are not about it."""
SENDING = "SendMessage"
"""The tool that hands words to an agent that runs."""

_EVERYTHING = frozenset({"", "*", "**", ":*", "domain:*"})
_AFTER_A_SERVER = re.compile(r"mcp__[^*]+?__")
_OF_A_SERVER = re.compile(r"mcp__[^*]")
_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
"""What a name of a server has `_` for in those of its tools."""
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
    "Grep": "Read",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "Write": "Edit",
}
"""Tools whose rules cover the whole tool only, and the rules for their paths.

Claude Code warns of all of them but `Grep`, of which https://qiita.com/items/7a358290f3d5f6e8967c watched it (2.1.300).
"""

_FIELDS = {
    "Bash": "command",
    "Edit": "file_path",
    "Glob": "path",
    "Grep": "path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "PowerShell": "command",
    "Read": "file_path",
    "WebFetch": "url",
    "Write": "file_path",
}
"""By tool, the field of its calls that a rule is about without naming it.

`TOOL(FIELD:VALUE)` is about any other field where it denies or asks, since Claude Code 2.1.178, by
https://code.claude.com/docs/en/permissions.
"""
_OTHER_FIELD = re.compile(r"(?:-[ABCino]|[a-z_]{2,}):.+")
"""A rule about another field of a tool with paths, whose fields have such names."""


def _names(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule covers a tool, or one of this server."""
    if rule.tool == tool or tool in _ALIKE.get(rule.tool, ()):
        return True
    if tool in _BY_PATH.get(rule.tool, ()):
        return rule.decision == "allowed" or rule.pattern is not None
    if rule.tool.startswith("mcp__"):
        server = rule.tool.removesuffix("__*")
        if tool == server or tool.startswith(f"{server}__"):
            return True
    if rule.decision != "allowed":
        return "*" in rule.tool and fnmatchcase(tool, rule.tool)
    return _is_of_server(rule, tool) or fnmatchcase(tool, rule.tool)


def _is_whole(rule: PermissionRule, tool: str) -> bool:
    return (rule.pattern is None or rule.pattern in _EVERYTHING) and not _is_of_server(rule, tool)


def _is_of_server(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule covers some of the tools of a server, which represents all of them."""
    is_server = tool.startswith("mcp__") and tool.count("__") == 1
    return is_server and rule.tool.startswith(f"{tool}__") and rule.tool != f"{tool}__*"


ASKED_PROGRAMS = frozenset({"find"})
"""Programs of which a rule with a `*` covers no call that runs another program or deletes.

Since Claude Code 2.1.113, by https://code.claude.com/docs/en/permissions.
"""


def _part(capability: Capability, pattern: str) -> Capability:
    return commands(pattern, asked=ASKED_PROGRAMS) if capability == UNLISTED else part(capability, pattern)


RULES = RuleTable(
    order=STRICTEST, text=form(r"[A-Za-z_*][\w.*-]*"), names=_names, whole=_is_whole, part=_part
)


def flaw(rule: PermissionRule) -> str | None:
    """Why Claude Code ignores a rule, or None."""
    if _named_field(rule):
        return f"Claude Code ignores rules for `{rule.tool}` that name `{_FIELDS[rule.tool]}`"
    is_of_field = rule.decision != "allowed" and _OTHER_FIELD.fullmatch(rule.pattern or "")
    if rule.pattern not in (None, "", "*") and rule.tool in _WITHOUT_PATHS and not is_of_field:
        return f"paths are only looked up in rules for `{_WITHOUT_PATHS[rule.tool]}`"
    if rule.decision == "allowed" and "*" in rule.tool and not _AFTER_A_SERVER.match(rule.tool):
        return "a pattern that allows has to begin with `mcp__SERVER__`"
    return None


def of_undeclared(rules: Iterable[PermissionRule], servers: Collection[str]) -> Mapping[str, PermissionRule]:
    """The tools of other servers than these that rules allow, each with its first rule; all of a server by its name."""
    declared = tuple(f"mcp__{_IN_NAMES.sub('_', str(server))}__" for server in servers)
    allowed: dict[str, PermissionRule] = {}
    for rule in rules:
        name = rule.tool.removesuffix("__*")
        if (
            rule.decision == "allowed"
            and _OF_A_SERVER.match(name)
            and not f"{name}__".startswith(declared)
            and flaw(rule) is None
        ):
            allowed.setdefault(name, rule)
    wholes = tuple(f"{name}__" for name in allowed)
    return {name: rule for name, rule in allowed.items() if not name.startswith(wholes)}


def mended(rule: PermissionRule) -> str | None:
    """The rule that does what one means that Claude Code ignores; None if there is none."""
    value = _named_field(rule)
    is_path = rule.tool in _WITHOUT_PATHS and not _OTHER_FIELD.fullmatch(rule.pattern or "")
    if rule.pattern is None or (value is None and not is_path):
        return None
    form = "domain:HOST" if rule.tool == "WebFetch" else value or rule.pattern
    return f"{_WITHOUT_PATHS.get(rule.tool, rule.tool)}({form})"


def _named_field(rule: PermissionRule) -> str | None:
    """The value in a rule that names the field it is about; `Bash(command:*)` is about the program `command`."""
    field, is_named, value = (rule.pattern or "").partition(":")
    if not is_named or field != _FIELDS.get(rule.tool) or (field == "command" and value == "*"):
        return None
    return value


COMMAND_KEYS = frozenset(
    {
        "agent", "allowed-tools", "argument-hint", "arguments", "background", "context", "description",
        "disable-model-invocation", "disallowed-tools", "effort", "hooks", "license", "metadata", "model", "name",
        "paths", "shell", "user-invocable", "when_to_use",
    }
)  # fmt: skip
"""The keys of a command or of a skill."""
RUNNING = frozenset({"Skill", "SlashCommand"})
"""The tools with which an agent runs one."""
ALLOWED = "allowed-tools"
SKILL = "/SKILL.md"


def approvals_in(files: Files, paths: Iterable[str]) -> Iterator[PermissionRule]:
    """The rules by which commands and skills allow calls without a question; of each file one of each."""
    seen: set[tuple[str, str | None, str]] = set()
    for path in paths:
        header = files.header(path, COMMAND_KEYS)
        if header is None:
            continue
        if ALLOWED not in header.document.data:
            if path.endswith(SKILL) and (problem := ignored(header.document.source)):
                key = "description"
                own = f" and its `{key}`" if key in header.document.data else ""
                message = f"{problem.message}, so Claude Code ignores the header of the skill{own}"
                files.problems.append(finding("LDO152", problem.at, message, hint=problem.hint))
            continue
        if problem := ignored(header.document.source):
            message = f"{problem.message}, so Claude Code ignores the header and its `{ALLOWED}`"
            files.problems.append(finding("LDO151", problem.at, message, hint=problem.hint))
            continue
        files.problems.extend(header.document.problems)
        for tool, pattern, at in reading.tool_items(header.document, ALLOWED):
            if (tool, pattern, path) not in seen:
                seen.add((tool, pattern, path))
                yield PermissionRule(tool, pattern, "allowed", at)
