"""The calls that the files of a project let Cursor make unasked, and those they deny."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, nearest
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.cursor.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import commands
from llmdo.foreign.events import may_allow
from llmdo.foreign.files import renaming
from llmdo.foreign.permissions import STRICTEST, WORDS, PermissionRule, RuleTable, form, part
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

LINES = {line.tool: line for line in TABLE if line.tool.isalpha()}
KEYS = frozenset({"permissions", "version"})
"""The keys of a project's `cli.json` that count."""
OF_A_PERSON = frozenset({
    "approvalMode", "attribution", "autoAcceptWebSearch", "editor", "hasChangedDefaultModel", "maxMode", "model",
    "network", "sandbox",
})  # fmt: skip
"""Keys that count only in a person's own `cli-config.json`."""
EDITOR_KEYS = frozenset({"autoRun", "mcpAllowlist", "terminalAllowlist"})
_NAMED = ("Mcp", "Read", "Shell", "WebFetch", "Write")
"""The tools that a permission can name."""
_DECIDING = ("beforeShellExecution", "beforeMCPExecution", "preToolUse")
"""The hooks that are asked before a call."""
UNASKED = frozenset({"Edit", "Read", "Search", "Write"})
"""Tools that no run mode asks about."""
_GROUPS = {"Delete": "Write", "Edit": "Write", "Search": "Read"}
"""Tools covered by the permission of another one."""
_ALL = frozenset({"", "*", "**", "**/*", "*:*", "*, *", "*,*", "/**"})


def _part(capability: Capability, pattern: str) -> Capability:
    """The part of a capability for `Shell(git)`, `Shell(curl:*)` or `Write(docs/**)`."""
    if capability != UNLISTED:
        return part(capability, pattern)
    program, _, arguments = pattern.partition(":")
    return UNLISTED if "*" in program else commands(_words(pattern), is_prefix=not arguments)


def _words(pattern: str) -> str:
    """A pattern of commands as their words, without the colon before the arguments."""
    program, _, arguments = pattern.partition(":")
    return f"{program} {arguments}".strip()


RULES = RuleTable(
    order=STRICTEST,
    text=form(r"[A-Za-z_]\w*"),
    names=lambda rule, tool: rule.tool == _GROUPS.get(tool, tool),
    whole=lambda rule, _tool: (rule.pattern or "").strip() in _ALL,
    part=_part,
    globs=lambda pattern: (_words(pattern if ":" in pattern else f"{pattern}:*"),),
)


def _of_server(rule: PermissionRule) -> tuple[str, str]:
    """The server that a rule names, and its tool; a star, or nothing, is all of them."""
    server, _, tool = re.sub(r"\s*,\s*", ":", rule.pattern or "").partition(":")
    return server.strip(), tool.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPermissions:
    """The allowed and denied calls of the project, in the order of the files."""

    rules: tuple[PermissionRule, ...] = ()
    asks: bool = False
    """Whether calls that no rule allows ask: so they do on the command line."""
    hook: Place | None = None
    """The hook that may answer in place of a person, even with `allow`."""

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decisions about one tool: about all of it, and about milder parts."""
        default: Decision = "allowed" if line.tool in UNASKED else self._otherwise
        for ruling in RULES.rulings(self.rules, line.tool, line.raised, default):
            if ruling.decision != "blocked":
                yield ruling.grant(line, at, self._origin(ruling.rule), toolset=toolset)

    def server(self, name: str, server: Server, at: Place) -> Iterator[Grant]:
        """The decision about the tools of a server: one that goes unasked is enough for all."""
        about = [
            (rule, tool)
            for rule in RULES.about(self.rules, "Mcp")
            for named, tool in [_of_server(rule)]
            if named in ("*", name)
        ]
        if any(rule.decision == "blocked" and tool in ("", "*") for rule, tool in about):
            return
        rule = next((rule for rule, _ in about if rule.decision == "allowed"), None)
        grant = servers.grant(name, server, at, "allowed" if rule else self._otherwise, self._origin(rule))
        yield replace(grant, rule_at=rule.at if rule else None)

    def with_hooks(self, files: Files, tables: Iterable[Place], root: str = "") -> CursorPermissions:
        """The permissions with the hooks of more tables, where one may answer; `root` is the folder of their plugin."""
        if not self.asks:
            return self
        answering = [hook for each in tables for hook in _answering(files, each, root)]
        return replace(self, hook=self.hook or next(iter(answering), None))

    @property
    def _otherwise(self) -> Decision:
        return "needs_approval" if self.asks and not self.hook else "allowed"

    def _origin(self, rule: PermissionRule | None) -> str:
        if rule:
            return rule.origin
        if self.asks:
            return self.hook.document.source.path if self.hook else "Cursor's command line"
        return "Cursor, in the run mode Auto-review"


def permissions_of(
    files: Files, command_line: Document | None, editor: Document | None, hooks: Document | None
) -> CursorPermissions:
    """The permissions in `cli.json` and `permissions.json` of a project, with ineffective settings noted."""
    rules: list[PermissionRule] = []
    if document := command_line:
        for key in document.data.keys() & OF_A_PERSON:
            message = (
                f"Cursor reads `{key}` only from a person's own `cli-config.json`, so it does nothing here"
            )
            files.note("LDO151", Place(document, (key,), of_key=True), message)
        files.misspelt_keys(document, KEYS | OF_A_PERSON)
        files.misspelt_keys(document, ("allow", "deny"), "permissions")
        for word in ("allow", "deny"):
            for text, at in files.texts(document, "permissions", word):
                rules += _rule(files, text, WORDS[word], at)
    if document := editor:
        files.misspelt_keys(document, EDITOR_KEYS)
        for key, tool in (("terminalAllowlist", "Shell"), ("mcpAllowlist", "Mcp")):
            rules += [PermissionRule(tool, text, "allowed", at) for text, at in files.texts(document, key)]
    for rule in rules:
        if rule.tool == "Shell" and rule.decision == "allowed" and RULES.whole(rule, "Shell"):
            message = "this allows every command without a question"
            files.note("LDO554", rule.at, message, "allow the commands that ask too often by name")
    permissions = CursorPermissions(rules=tuple(rules), asks=command_line is not None)
    return permissions.with_hooks(files, [Place(hooks, ("hooks",))] if hooks else [])


def _answering(files: Files, hooks: Place, root: str) -> list[Place]:
    """The hooks of a table that may answer `allow`, each noted: those whose text says so are the first."""
    certain: list[Place] = []
    unknown: list[Place] = []
    for event in _DECIDING:
        for number, hook in enumerate(items(table(hooks.data).get(event))):
            place = Place(hooks.document, (*hooks.route, event, number))
            allows = _allows(files, table(hook), root)
            if allows:
                files.note("LDO554", place, "this hook may answer `allow` in place of a person")
                certain.append(place)
            elif allows is False:
                message = "what this hook answers is not known, so it was read as one that may answer `allow`"
                files.note("LDO150", place, message)
                unknown.append(place)
    return [*certain, *unknown]


def _allows(files: Files, hook: Mapping[str, object], root: str) -> bool | None:
    """Whether a hook says that it allows; False if that is unknown, None if it does not."""
    is_command = hook.get("type", "command") == "command"
    return may_allow(files, text(hook.get("command")), root, starts_there=True) if is_command else False


def _rule(files: Files, text: str, decision: Decision, at: Place) -> Iterator[PermissionRule]:
    rule = RULES.rule(text, decision, at)
    if rule and rule.tool in _NAMED:
        yield rule
        return
    name = rule.tool if rule else text
    message = f"Cursor has no permission `{excerpt(name)}`, so `{excerpt(text)}` does nothing"
    known = ", ".join(f"`{each}(...)`" for each in _NAMED)
    files.note(
        "LDO250", at, message, renaming(at, name, nearest(name, _NAMED)) or f"the permissions are {known}"
    )
