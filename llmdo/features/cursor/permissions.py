"""The calls that the files of a project let Cursor make unasked, and those they deny."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.base.values import dataclass, replace
from llmdo.features.cursor.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import commands
from llmdo.foreign.team import Grant, scope_of
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.graph.described import Server
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
_TOKEN = re.compile(r"(?P<tool>[A-Za-z_]\w*)(?:\((?P<what>.*)\))?", re.DOTALL)
_GROUPS = {"Delete": "Write", "Edit": "Write", "Search": "Read"}
"""Tools covered by the permission of another one."""
_ALL = frozenset({"", "*", "**", "**/*", "*:*", "*, *", "*,*", "/**"})


@dataclass(frozen=True, slots=True)
class Permission:
    """An item of `allow` or `deny`: a tool, and which of its calls."""

    tool: str
    pattern: str
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it covers this tool."""
        return self.tool == _GROUPS.get(tool, tool)

    @property
    def is_whole(self) -> bool:
        """Whether it is about every call."""
        return self.pattern.strip() in _ALL

    def names_server(self, server: str) -> bool:
        """Whether it is about some tool of this server."""
        named, _, tool = re.sub(r"\s*,\s*", ":", self.pattern).partition(":")
        return named.strip() in ("*", server) and bool(tool or named)

    @property
    def is_whole_server(self) -> bool:
        """Whether it is about every tool of the server that it names."""
        return re.sub(r"\s*,\s*", ":", self.pattern).partition(":")[2].strip() in ("", "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPermissions:
    """The allowed and denied calls of the project, in the order of the files."""

    allow: tuple[Permission, ...] = ()
    deny: tuple[Permission, ...] = ()
    asks: bool = False
    """Whether calls that `allow` does not name ask: so they do on the command line."""
    hook: Place | None = None
    """The hook that may answer in place of a person, even with `allow`."""

    def grants(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The decisions about one tool: about all of it, and about milder parts."""
        if any(each.names(line.tool) and each.is_whole for each in self.deny):
            return
        allowing = [each for each in self.allow if each.names(line.tool)]
        whole = next((each for each in allowing if each.is_whole), None)
        capabilities = tuple(map(Capability, line.capabilities))
        grant = Grant(
            toolset=toolset or line.tool,
            tool=line.tool,
            capabilities=capabilities,
            decision="allowed" if whole or line.tool in UNASKED else self._otherwise,
            origin=self._origin(whole),
            at=at,
            rule_at=whole.at if whole else None,
            is_open=line.assurance == "open",
        )
        yield grant
        if grant.decision == "allowed":
            return
        for each in allowing:
            part = tuple(_part(capability, each.pattern) for capability in capabilities)
            yield replace(
                grant, capabilities=part, decision="allowed", origin=self._origin(each), rule_at=each.at
            )

    def server(self, name: str, server: Server, at: Place) -> Iterator[Grant]:
        """The decision about the tools of a server: one that goes unasked is enough for all."""
        denied = (each for each in self.deny if each.tool == "Mcp" and each.names_server(name))
        if any(each.is_whole_server for each in denied):
            return
        rule = next((each for each in self.allow if each.tool == "Mcp" and each.names_server(name)), None)
        grant = servers.grant(name, server, at, "allowed" if rule else self._otherwise, self._origin(rule))
        yield replace(grant, rule_at=rule.at if rule else None)

    @property
    def _otherwise(self) -> Decision:
        return "needs_approval" if self.asks and not self.hook else "allowed"

    def _origin(self, rule: Permission | None) -> str:
        if rule:
            return rule.at.document.source.path
        if self.asks:
            return self.hook.document.source.path if self.hook else "Cursor's command line"
        return "Cursor, in the run mode Auto-review"


def permissions_of(
    files: Files, command_line: Document | None, editor: Document | None, hooks: Document | None
) -> CursorPermissions:
    """The permissions in `cli.json` and `permissions.json` of a project, with ineffective settings noted."""
    allow: list[Permission] = []
    deny: list[Permission] = []
    if document := command_line:
        for key in document.data.keys() & OF_A_PERSON:
            message = (
                f"Cursor reads `{key}` only from a person's own `cli-config.json`, so it does nothing here"
            )
            files.note("LDO151", Place(document, (key,), of_key=True), message)
        files.misspelt_keys(document, KEYS | OF_A_PERSON)
        files.misspelt_keys(document, ("allow", "deny"), "permissions")
        for key, permissions in (("allow", allow), ("deny", deny)):
            for text, at in files.texts(document, "permissions", key):
                permissions.extend(_permission(files, text, at))
    if document := editor:
        files.misspelt_keys(document, EDITOR_KEYS)
        allow += [Permission("Shell", text, at) for text, at in files.texts(document, "terminalAllowlist")]
        allow += [Permission("Mcp", text, at) for text, at in files.texts(document, "mcpAllowlist")]
    for each in allow:
        if each.tool == "Shell" and each.is_whole:
            message = "this allows every command without a question"
            files.note("LDO554", each.at, message, "allow the commands that ask too often by name")
    hook = _hook(files, hooks) if hooks and command_line else None
    return CursorPermissions(allow=tuple(allow), deny=tuple(deny), asks=command_line is not None, hook=hook)


def _hook(files: Files, document: Document) -> Place | None:
    """The first hook that is asked before a call, noted: its answer depends on its program."""
    for event in _DECIDING:
        place = Place(document, ("hooks", event), of_key=True)
        if place.data:
            message = "what this hook answers is not known, so it was read as one that may answer `allow`"
            files.note("LDO150", place, message)
            return place
    return None


def _permission(files: Files, text: str, at: Place) -> Iterator[Permission]:
    token = _TOKEN.fullmatch(text.strip())
    if token is None or token["tool"] not in _NAMED:
        name = token["tool"] if token else text
        message = f"Cursor has no permission `{excerpt(name)}`, so `{excerpt(text)}` does nothing"
        hint = (
            did_you_mean(name, _NAMED)
            or f"the permissions are {', '.join(f'`{known}(...)`' for known in _NAMED)}"
        )
        files.note("LDO250", at, message, hint)
    else:
        yield Permission(token["tool"], token["what"] or "", at)


def _part(capability: Capability, pattern: str) -> Capability:
    """The part of a capability for `Shell(git)`, `Shell(curl:*)` or `Write(docs/**)`."""
    if capability == UNLISTED:
        program, _, arguments = pattern.partition(":")
        words = f"{program} {arguments}".strip()
        return UNLISTED if "*" in program else commands(words, is_prefix=not arguments)
    scope = scope_of(pattern) if capability.name.startswith("fs.") else None
    return Capability(capability.name.removesuffix(".protected"), scope) if scope else capability
