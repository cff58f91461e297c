"""The permissions of Claude Code: the decisions of its settings and of a permission mode about a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table as table_in
from llmdo.base.parts import texts
from llmdo.base.values import dataclass, replace
from llmdo.features.claude.hooks import ASKED
from llmdo.features.claude.modes import MODES, Mode, writes
from llmdo.features.claude.rules import rules_in
from llmdo.features.claude.table import FILING, READ_ONLY
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.features.claude.hooks import ClaudeHook
    from llmdo.features.claude.rules import ClaudeRule
    from llmdo.foreign.lines import Line
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "additionalDirectories", "allow", "ask", "defaultMode", "deny", "disableAutoMode",
        "disableBypassPermissionsMode",
    }
)  # fmt: skip
"""The keys of `permissions`."""

SHELLS = frozenset({"Bash", "Monitor", "PowerShell"})


@dataclass(frozen=True, slots=True)
class PermissionRuling:
    """The decision about a tool, or a part of it."""

    capabilities: tuple[Capability, ...]
    decision: Decision
    rule: ClaudeRule | None = None
    origin: str = ""
    """The source of the decision, if that is neither the rule nor the mode."""
    at: Place | None = None


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """The permissions in the settings of a session."""

    rules: tuple[ClaudeRule, ...] = ()
    mode: Mode = Mode()
    no_bypass: bool = False
    """Whether nothing may be in mode `bypassPermissions`."""
    asks_in_plan: bool = False
    """Whether a person is asked about commands while a plan is made; else a classifier decides."""
    sandbox: Place | None = None
    """The setting that lets commands run without a question because a sandbox confines them."""
    is_sandboxed: bool = False
    """Whether a sandbox confines commands, asked about or not."""
    refused_servers: frozenset[str] = frozenset()
    """Servers of `.mcp.json` that are never started."""
    hooks: tuple[ClaudeHook, ...] = ()
    """Those that may answer in place of a person."""
    no_hooks: bool = False
    """Whether they are switched off."""

    def with_hooks(self, hooks: Iterable[ClaudeHook]) -> ClaudeSettings:
        """The settings with these hooks added."""
        return self if self.no_hooks else replace(self, hooks=(*self.hooks, *hooks))

    @property
    def asks(self) -> bool:
        """Whether a person is ever asked in a session with these settings."""
        return not self.mode.never_asks or any(rule.decision == "needs_approval" for rule in self.rules)

    @property
    def denies_skills(self) -> bool:
        """Whether neither commands nor skills can be run."""
        return any(
            rule.decision == "blocked" and rule.names("Skill") and rule.is_whole("Skill")
            for rule in self.rules
        )

    def mode_of(self, own: Mode | None) -> Mode:
        """The mode of an agent whose file says `own`."""
        is_refused = own is not None and own.name == "bypassPermissions" and self.no_bypass
        return self.mode.below(None if is_refused else own)

    def denies_call(self, agent: str | None = None) -> bool:
        """Whether an agent may not be called; without a name: any of them."""
        denying = [rule for rule in self.rules if rule.decision == "blocked" and rule.names("Agent")]
        return any(
            rule.is_whole("Agent") or (agent is not None and rule.pattern == agent) for rule in denying
        )

    def grants(
        self, line: Line, at: Place, mode: Mode, approved: Sequence[ClaudeRule] = ()
    ) -> Iterator[Grant]:
        """The decisions about one tool: about all of it, and about milder parts.

        `approved` are the rules of commands and skills.
        """
        for verdict in self._verdicts(line, mode, approved):
            rule = verdict.rule
            yield Grant(
                toolset=line.tool,
                tool=line.tool,
                capabilities=verdict.capabilities,
                decision=verdict.decision,
                origin=rule.origin if rule else verdict.origin or mode.origin,
                at=at,
                rule_at=rule.at if rule else verdict.at or mode.at,
                is_open=line.assurance == "open",
            )

    def _verdicts(self, line: Line, mode: Mode, approved: Sequence[ClaudeRule]) -> Iterator[PermissionRuling]:
        rules = [rule for rule in (*self.rules, *approved) if rule.flaw is None and rule.names(line.tool)]
        whole = {rule.decision: rule for rule in reversed(rules) if rule.is_whole(line.tool)}
        capabilities = _of(line)
        verdict = self._of_all(line, capabilities, whole, mode)
        yield verdict
        if verdict.decision == "allowed" or "blocked" in whole:
            return
        for hook in self.hooks:
            if hook.names(line.tool) and (hook.event == ASKED or "needs_approval" not in whole):
                yield PermissionRuling(
                    capabilities, "allowed", origin=f"{hook.at.document.source.path}: a hook", at=hook.at
                )
        if "needs_approval" in whole:
            return
        if line.tool in SHELLS:
            yield PermissionRuling(
                _of(READ_ONLY), "allowed", origin="Claude Code: commands that only read never ask"
            )
            if mode.name == "acceptEdits":
                yield PermissionRuling(_of(FILING), "allowed")
        if mode.name == "plan" and writes(line):
            return
        parts: set[object] = set()
        for rule in rules:
            part = tuple(dict.fromkeys(map(rule.part, capabilities)))
            if rule.decision == "allowed" and part not in parts:
                parts.add(part)
                yield PermissionRuling(part, "allowed", rule)

    def _of_all(
        self,
        line: Line,
        capabilities: tuple[Capability, ...],
        whole: dict[Decision, ClaudeRule],
        mode: Mode,
    ) -> PermissionRuling:
        """The decision about the whole tool."""
        if "blocked" in whole:
            return PermissionRuling(capabilities, "blocked", whole["blocked"])
        if self.sandbox and line.tool in SHELLS and mode.name != "plan":
            path = self.sandbox.document.source.path
            return PermissionRuling(
                capabilities, "allowed", origin=f"{path}: in its sandbox", at=self.sandbox
            )
        if "needs_approval" in whole:
            decision: Decision = "blocked" if mode.name == "dontAsk" else "needs_approval"
            return PermissionRuling(capabilities, decision, whole["needs_approval"])
        by_mode = mode.decision(line)
        if mode.name == "plan" and line.tool in SHELLS and not self.asks_in_plan:
            by_mode = "allowed"
        if mode.name == "bypassPermissions" or (mode.name == "plan" and writes(line)):
            return PermissionRuling(capabilities, by_mode)
        if "allowed" in whole:
            return PermissionRuling(capabilities, "allowed", whole["allowed"])
        return PermissionRuling(capabilities, by_mode)


def is_broken(document: Document) -> bool:
    """Whether Claude Code may skip the whole file, deny rules included: a value is wrong, or it is no JSON."""
    mode = Place(document, ("permissions", "defaultMode")).data
    return bool(document.problems) or (mode is not None and str(mode) not in MODES)


def _of(line: Line) -> tuple[Capability, ...]:
    return tuple(map(Capability, line.capabilities))


def settings_of(documents: Iterable[Document]) -> ClaudeSettings:
    """The settings of these files together: rules add up, for all else the last file holds."""
    documents = tuple(document for document in documents if not is_broken(document))
    no_auto = _place(documents, "disableAutoMode", "permissions", wanted="disable")
    no_bypass = _place(documents, "disableBypassPermissionsMode", "permissions", wanted="disable")
    return ClaudeSettings(
        rules=tuple(
            rule
            for document in documents
            for rule in rules_in(document, table_in(document.data, "permissions"))
        ),
        mode=_mode(documents, no_auto, is_bypass_refused=no_bypass is not None),
        no_bypass=no_bypass is not None,
        asks_in_plan=bool(no_auto)
        or any(doc.data.get("useAutoModeDuringPlan") is False for doc in documents[1:]),
        sandbox=_sandbox(documents),
        no_hooks=any(document.data.get("disableAllHooks") is True for document in documents),
        is_sandboxed=bool((on := _place(documents, "enabled", "sandbox")) and on.data is True),
        refused_servers=frozenset(
            name for document in documents for name in texts(document.data.get("disabledMcpjsonServers"))
        ),
    )


def _mode(documents: Sequence[Document], no_auto: Place | None, *, is_bypass_refused: bool) -> Mode:
    unset = Mode("default", no_auto) if no_auto else Mode()
    at = _place(documents, "defaultMode", "permissions")
    name = at.data if at else None
    # A project cannot set `auto`: then it is as if no file said a mode.
    if not isinstance(name, str) or name == "auto" or (name == "bypassPermissions" and is_bypass_refused):
        return unset
    return Mode(name, at)


def _sandbox(documents: Sequence[Document]) -> Place | None:
    at = _place(documents, "enabled", "sandbox")
    asks = _place(documents, "autoAllowBashIfSandboxed", "sandbox")
    return at if at and at.data is True and not (asks and asks.data is False) else None


def _place(documents: Sequence[Document], key: str, table: str, wanted: object = None) -> Place | None:
    """The last place in a table, or at the top of a file, with `key`; only with the value `wanted`, if given."""
    at = None
    for document in documents:
        for route in ((key,), (table, key)) if wanted else ((table, key),):
            place = Place(document, route)
            if place.data is not None and wanted in (None, place.data):
                at = place
    return at
