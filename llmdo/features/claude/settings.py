"""The permissions of Claude Code: the decisions of its settings and of a permission mode about a tool.

The mode decides if no rule does, in a session and in the agents below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table, text, texts
from llmdo.base.values import dataclass, field, replace
from llmdo.features.claude.hooks import ASKED
from llmdo.features.claude.modes import BYPASSES, MODES, Mode, writes
from llmdo.features.claude.rules import ALLOWED, RULES, SENDING, flaw, of_undeclared
from llmdo.features.claude.sandbox import reach_in_sandbox
from llmdo.features.claude.skipped_rules import skipped
from llmdo.features.claude.table import FILING, LINES, READ_ONLY
from llmdo.foreign.commands import only_shows, talks
from llmdo.foreign.edits import names_text
from llmdo.foreign.hosts import lets_out
from llmdo.foreign.instead import ASKED as ASKED_ABOUT
from llmdo.foreign.instead import REFUSED
from llmdo.foreign.lines import WRITES_THERE
from llmdo.foreign.permissions import CONNECTS, PermissionRule, PermissionRuling, parted, written
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.features.claude.hooks import ClaudeHook
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "additionalDirectories", "allow", "ask", "blockReadsOutsideWorkingDirectories",
        "blockWritesOutsideWorkingDirectories", "defaultMode", "deny", "denyInsteadOfPrompting", "disableAutoMode",
        "disableBypassPermissionsMode",
    }
)  # fmt: skip
"""The keys of `permissions`."""

_LISTS = "permissions"
_BOXED = "its commands then stay in the sandbox, or a person is asked"
SHELLS = frozenset({"Bash", "Monitor", "PowerShell"})
_LITTLE = frozenset({"fs.list", "fs.read", "fs.write", "fs.write.protected", "proc.exec"})
"""What a session may do unasked and be one that asks all the same."""
_FETCH = "WebFetch"
_UNLESS_ASKED = "unless its session asks"
_TO_HOSTS = "to {} alone if its session asks"
_BY_RULES = "by {} alone if its session asks"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A ruling, and its source if that is neither a rule nor the mode."""

    ruling: PermissionRuling
    origin: str = ""
    at: Place | None = None
    alike: tuple[PermissionRule, ...] = ()
    """The rules that give the same as that of the ruling, which is one of them."""


PROTECTING: Mapping[str, tuple[str, ...]] = {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": ("1", "true")}
"""The variables that keep something from commands, with the values by which they do."""
EXPOSING: Mapping[str, tuple[str, ...]] = {
    "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": ("0", "false"),
    "IS_SANDBOX": ("1", "true"),
    "NODE_TLS_REJECT_UNAUTHORIZED": ("0",),
}
"""Those that take a protection away: of keys, of an administrator's machine, of connections."""
_TEAMS, _ON = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", ("1", "true", "yes", "on")
"""The variable that brings teams, with the values by which it does (https://code.claude.com/docs/en/agent-teams)."""


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """The permissions in the settings of a session."""

    rules: tuple[PermissionRule, ...] = ()
    mode: Mode = Mode()
    no_bypass: bool = False
    """Whether nothing may be in mode `bypassPermissions`."""
    asks_in_plan: bool = False
    """Whether a person is asked about commands while a plan is made; else a classifier decides."""
    sandbox: Place | None = None
    """The setting that lets commands run without a question because a sandbox confines them."""
    in_sandbox: tuple[Capability, ...] | None = None
    """The capabilities of such commands; None if it is not known what confines them."""
    is_sandboxed: bool = False
    """Whether a sandbox confines commands, asked about or not."""
    refused_servers: frozenset[str] = frozenset()
    """Servers of `.mcp.json` that are never started."""
    own_servers: frozenset[str] = frozenset()
    """Those that a file gives to an agent of its own, or to sessions with a plugin, and to nobody else."""
    hooks: tuple[ClaudeHook, ...] = ()
    """Those that may answer in place of a person."""
    no_hooks: Place | None = None
    """Whether they are switched off."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment of a session and of its commands."""
    asking: str = ""
    """The change of a file of the project by which a session asks, as a hint; empty if no file could say it."""

    def with_hooks(self, hooks: Iterable[ClaudeHook]) -> ClaudeSettings:
        """The settings with these hooks added."""
        return self if self.no_hooks else replace(self, hooks=(*self.hooks, *hooks))

    @property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The rules that count, as they are written, and the variables that switch a protection on or off."""
        lines = written(rule for rule in self.rules if flaw(rule) is None)
        for word, switches in (("allow", EXPOSING), ("deny", PROTECTING)):
            on = [f"env {name}" for name, values in switches.items() if self.variables.get(name) in values]
            if on:
                lines[word] = (*lines.get(word, ()), *on)
        return lines

    @property
    def asks(self) -> bool:
        """Whether a person is ever asked in a session with these settings."""
        return not self.mode.never_asks or any(rule.decision == "needs_approval" for rule in self.rules)

    @property
    def has_teams(self) -> bool:
        """Whether agents run beside each other and send each other words."""
        is_on = self.variables.get(_TEAMS, "").strip().lower() in _ON
        return is_on and not self.denies_call() and not self._denies(SENDING)

    @property
    def denies_skills(self) -> bool:
        """Whether neither commands nor skills can be run."""
        return self._denies("Skill")

    def _denies(self, tool: str, pattern: str | None = None) -> bool:
        denying = [rule for rule in RULES.about(self.rules, tool) if rule.decision == "blocked"]
        return any(
            RULES.whole(rule, tool) or (pattern is not None and rule.pattern == pattern) for rule in denying
        )

    def answering(self, hooks: Iterable[ClaudeHook]) -> tuple[ClaudeHook, ...]:
        """Those of hooks that answer in place of a person: the certain ones also where one is only perhaps asked."""
        return tuple(each for each in hooks if self.asks or (each.is_certain and self.mode.at is None))

    def of_others(self, declared: Collection[str]) -> Mapping[str, PermissionRule]:
        """The tools that rules allow of servers that no file declares: a person's own, or those of an account."""
        return of_undeclared(self.rules, {*declared, *self.refused_servers, *self.own_servers})

    def mode_of(self, own: Mode | None) -> Mode:
        """The mode of an agent whose file says `own`."""
        is_refused = own is not None and own.name == BYPASSES and self.no_bypass
        if self.mode.at is None and own is not None and own.name == BYPASSES and not is_refused:
            return own  # whatever mode the session starts in, nobody is asked
        return self.mode.below(None if is_refused else own)

    def denies_call(self, agent: str | None = None) -> bool:
        """Whether an agent may not be called; without a name: any of them."""
        return self._denies("Agent", agent)

    def grants(
        self, line: Line, at: Place, mode: Mode, approved: Sequence[PermissionRule] = ()
    ) -> Iterator[Grant]:
        """The decisions about one tool: about all of it, and about milder parts.

        `approved` are the rules of commands and skills.
        """
        for verdict in self._verdicts(line, mode, approved):
            ruling = verdict.ruling
            origin = ruling.rule.origin if ruling.rule else verdict.origin or mode.origin
            grant = ruling.grant(line, at, origin, otherwise_at=verdict.at or mode.at)
            if ruling.decision != "allowed":
                yield grant
            elif ruling.rule is None:
                yield (
                    self._by_mode(grant, line, approved, mode)
                    if not (mode.at or verdict.origin or verdict.at)
                    else grant
                )
                continue
            # A command or a skill allows it while it runs, whatever the settings say.
            if (loss := self._without_rules(line, mode)) is None:
                is_unset = mode.at is None and not all(map(_is_in_settings, verdict.alike))
                unless = self._unless(line, self.rules, mode) if is_unset else ""
                rules = tuple(rule.at for rule in verdict.alike)
                yield replace(grant, is_free_anyway=True, condition=unless, brought_by=rules)
            else:
                yield self._by_rules(replace(grant, loss=loss), line, ruling, approved)

    def _by_rules(
        self, grant: Grant, line: Line, ruling: PermissionRuling, approved: Sequence[PermissionRule]
    ) -> Grant:
        """A tool that rules allow, with those that have to go before a person is asked, and those that stay then."""
        allowing = [
            (rule, _allowed_by(rule, line))
            for rule in RULES.about((*self.rules, *approved), line.tool)
            if rule.decision == "allowed" and flaw(rule) is None
        ]
        alike = [rule for rule, able in allowing if rule is ruling.rule or _is_as_wide(able, ruling)]
        own = [rule for rule in alike if _is_in_settings(rule)]
        spared = dict.fromkeys((rule.text, rule.origin) for rule in alike if rule not in own)
        left = dict.fromkeys((rule.text, able) for rule, able in allowing if rule not in alike)
        if ruling.rule not in own:
            return grant
        return replace(
            grant,
            unasked_by=tuple(dict.fromkeys(rule.text for rule in own)),
            unasked_in=tuple(dict.fromkeys(rule.origin for rule in own if rule.origin != grant.origin)),
            unasked_also=tuple(
                f"`{excerpt(text)}` out of `{ALLOWED}` in `{origin}`" for text, origin in spared
            ),
            left_by=tuple(left),
        )

    def _by_mode(self, grant: Grant, line: Line, approved: Sequence[PermissionRule], mode: Mode) -> Grant:
        """A tool that goes unasked by the mode, with what that means where rules allow little of it."""
        rules = (*self.rules, *approved)
        allowing = _allowing(rules, line)
        unless = "" if line.decision == "allowed" else self._unless(line, rules, mode)
        # Commands that run the project's own code are harmless only where nothing else changes that unasked.
        may_write = mode.over == "acceptEdits" or any(map(_may_write, rules))
        is_enough = (
            unless.startswith(_UNLESS_ASKED)
            and mode.over != "dontAsk"  # which refuses it then
            and not self.hooks
            and not (allowing and may_write)
        )
        return replace(grant, condition=unless, asked_by=self.asking if is_enough else "")

    def _unless(self, line: Line, rules: Iterable[PermissionRule], mode: Mode) -> str:
        """The condition of what goes unasked; empty as well where a hook allows it in a session that asks."""
        if any(each.is_certain and each.names(line.tool) for each in self.hooks):
            return ""
        if mode.over and self._without_rule(line, Mode(mode.over)) == "allowed":
            return ""  # below a session that asks as well
        return _unless_asked(line, _allowing(rules, line), mode)

    def _without_rule(self, line: Line, mode: Mode) -> Decision:
        """The decision of a mode about a tool; while a plan is made, a classifier decides about commands."""
        is_free = mode.name == "plan" and line.tool in SHELLS and not self.asks_in_plan
        return "allowed" if is_free else mode.decision(line)

    def _without_rules(self, line: Line, mode: Mode) -> str | None:
        """What follows for a tool without the rules that allow it; None if it is allowed all the same."""
        is_boxed = self.sandbox is not None and line.tool in SHELLS and mode.name != "plan"
        if mode.never_asks or (is_boxed and self.in_sandbox is None):
            return None
        return _BOXED if is_boxed else REFUSED if mode.name == "dontAsk" else ASKED_ABOUT

    def _verdicts(self, line: Line, mode: Mode, approved: Sequence[PermissionRule]) -> Iterator[_Verdict]:
        rules = [rule for rule in RULES.about((*self.rules, *approved), line.tool) if flaw(rule) is None]
        rule = RULES.decided_whole(rules, line.tool)
        verdict = self._of_all(line, rules, rule, mode)
        yield verdict
        decided = rule.decision if rule else None
        if verdict.ruling.decision == "allowed":
            yield from _besides(line, rules)
        if verdict.ruling.decision == "allowed" or decided == "blocked":
            return
        if self.sandbox and self.in_sandbox and line.tool in SHELLS and mode.name != "plan":
            yield _Verdict(PermissionRuling(self.in_sandbox, "allowed"), self._of_sandbox, self.sandbox)
        hooks = [
            each
            for each in self.hooks
            if each.names(line.tool) and (each.event == ASKED or decided != "needs_approval")
        ]
        yield from (_of_hook(each, line) for each in hooks if each.is_certain)
        if decided != "needs_approval":
            yield from self._of_parts(line, rules, replace(verdict.ruling, rule=rule), mode)
        yield from (_of_hook(each, line) for each in hooks if not each.is_certain)

    def _of_parts(
        self, line: Line, rules: Sequence[PermissionRule], whole: PermissionRuling, mode: Mode
    ) -> Iterator[_Verdict]:
        """The decisions about parts of a tool about all of which a person is asked."""
        if line.tool in SHELLS:
            origin = "Claude Code: commands that only read never ask"
            yield _Verdict(PermissionRuling(READ_ONLY.raised, "allowed"), origin)
            if mode.name == "acceptEdits":
                yield _Verdict(PermissionRuling(FILING.raised, "allowed"))
        if mode.name == "plan" and writes(line):
            return
        parts: dict[tuple[Capability, ...], list[PermissionRuling]] = {}
        for ruling in RULES.parts(rules, line.tool, whole):
            if ruling.decision == "allowed":
                parts.setdefault(tuple(dict.fromkeys(ruling.capabilities)), []).append(ruling)
        for part, rulings in parts.items():
            alike = tuple(each.rule for each in rulings if each.rule)
            yield _Verdict(replace(rulings[0], capabilities=part), alike=alike)

    @property
    def _of_sandbox(self) -> str:
        """The origin of what is allowed because it runs in the sandbox."""
        path = self.sandbox.document.source.path if self.sandbox else ""
        return f"{path}: in its sandbox"

    def _of_all(
        self, line: Line, rules: Sequence[PermissionRule], rule: PermissionRule | None, mode: Mode
    ) -> _Verdict:
        """The decision about the whole tool, about which are `rules`, and `rule` is the strictest."""
        decided = rule.decision if rule else None
        if decided == "blocked":
            return _Verdict(PermissionRuling(line.raised, "blocked", rule))
        is_asked = decided == "needs_approval" or (decided is None and mode.decision(line) != "allowed")
        is_free = self.sandbox and self.in_sandbox is None
        if is_free and is_asked and line.tool in SHELLS and mode.name != "plan":
            return _Verdict(PermissionRuling(line.raised, "allowed"), self._of_sandbox, self.sandbox)
        if decided == "needs_approval":
            asks: Decision = "blocked" if mode.name == "dontAsk" else "needs_approval"
            return _Verdict(PermissionRuling(line.raised, asks, rule))
        if decided and mode.name != BYPASSES and not (mode.name == "plan" and writes(line)):
            alike = tuple(
                each for each in rules if each.decision == "allowed" and RULES.whole(each, line.tool)
            )
            return _Verdict(PermissionRuling(line.raised, "allowed", rule), alike=alike)
        return _Verdict(PermissionRuling(line.raised, self._without_rule(line, mode)))


def _besides(line: Line, rules: Iterable[PermissionRule]) -> Iterator[_Verdict]:
    """What rules of the settings bring beside the running of commands, each of which is allowed without them."""
    parts: dict[tuple[Capability, ...], list[PermissionRule]] = {}
    for rule in rules if UNLISTED in line.raised else ():
        if rule.decision == "allowed" and _is_in_settings(rule) and talks(rule.pattern or ""):
            parts.setdefault(_allowed_by(rule, line), []).append(rule)
    for part, alike in parts.items():
        yield _Verdict(PermissionRuling(part, "allowed", alike[0]), alike=tuple(alike))


def _of_hook(hook: ClaudeHook, line: Line) -> _Verdict:
    """The decision of a hook that answers in place of a person."""
    return _Verdict(
        PermissionRuling(line.raised, "allowed"), f"{hook.at.document.source.path}: a hook", hook.at
    )


def _is_in_settings(rule: PermissionRule) -> bool:
    """Whether settings have a rule, and not a command or a skill, which allows it whatever these say."""
    return rule.at.route[:1] == (_LISTS,)


def _allowing(rules: Iterable[PermissionRule], line: Line) -> list[PermissionRule]:
    """The rules that allow a tool, or a part of it."""
    return [rule for rule in RULES.about(rules, line.tool) if rule.decision == "allowed"]


def _may_write(rule: PermissionRule) -> bool:
    """Whether a rule allows a tool that edits files, or one of a server, which may do so."""
    if rule.decision != "allowed" or flaw(rule) is not None:
        return False
    line = LINES.get(rule.tool)
    able = _allowed_by(rule, line) if line else ()
    return rule.tool.startswith("mcp__") or any(each.name.startswith("fs.write") for each in able)


def _allowed_by(rule: PermissionRule, line: Line) -> tuple[Capability, ...]:
    """What a rule allows of a tool."""
    if RULES.whole(rule, line.tool):
        return line.raised
    return parted(line.raised, rule.pattern or "", RULES.part)


def _is_as_wide(able: Sequence[Capability], ruling: PermissionRuling) -> bool:
    """Whether a rule allows as much as a ruling: all of it, any command, any host, or to write to GitHub."""
    wide = [each for each in (UNLISTED, CONNECTS, WRITES_THERE) if each in ruling.capabilities]
    return wide[0] in able if wide else tuple(dict.fromkeys(able)) == ruling.capabilities


def _unless_asked(line: Line, allowing: Iterable[PermissionRule], mode: Mode) -> str:
    """The condition of what goes unasked by a mode that no file sets; empty if rules allow as much of the tool.

    If they allow less that others can read, such as the pages of a host or a command of `gh`, it says so.
    """
    rules = (*allowing,)
    parts = [_allowed_by(rule, line) for rule in rules]
    if line.tool == _FETCH:
        if any(CONNECTS in part for part in parts):
            return ""
        scopes = (
            each.scope for part in parts if lets_out(part) for each in part if each.name == CONNECTS.name
        )
        hosts = names_text(dict.fromkeys(filter(None, scopes)))
        return f"{_TO_HOSTS.format(hosts) if hosts else _UNLESS_ASKED}: {mode.unset}"
    if any(UNLISTED in part for part in parts):
        return ""
    sending = [rule.text for rule, part in zip(rules, parts, strict=True) if not _is_little(rule, part)]
    by_rules = _BY_RULES.format(names_text(dict.fromkeys(sending))) if sending else _UNLESS_ASKED
    return f"{by_rules}: {mode.unset}"


def _is_little(rule: PermissionRule, able: Iterable[Capability]) -> bool:
    """Whether a rule about commands allows only what sends nothing that others can read."""
    pattern = rule.pattern or ""
    return only_shows(pattern) or (
        not pattern.lstrip().startswith("gh ") and {each.name for each in able} <= _LITTLE
    )


def is_broken(document: Document) -> bool:
    """Whether Claude Code may skip the whole file, deny rules included: a value is wrong, or it is no JSON."""
    mode = Place(document, ("permissions", "defaultMode")).data
    return bool(document.problems) or (mode is not None and str(mode) not in MODES)


def settings_of(
    own: Iterable[Document],
    others: Iterable[Document] = (),
    *,
    obeys_bypass: bool = False,
    is_trusted: bool = True,
) -> ClaudeSettings:
    """The settings of these files together: rules add up, for all else the last file holds.

    `own` are those of the project, `others` those of a person or a command, which hold over them. `obeys_bypass`: for
    a client before 2.1.257, which takes mode `bypassPermissions` from a project. In a folder that nobody has trusted
    the rules of the project allow nothing; they deny and ask all the same.
    """
    own = tuple(document for document in own if not is_broken(document))
    documents = (*own, *(document for document in others if not is_broken(document)))
    no_auto = _place(documents, "disableAutoMode", "permissions", wanted="disable")
    no_bypass = _place(documents, "disableBypassPermissionsMode", "permissions", wanted="disable")
    rules = tuple(
        rule
        for document in documents
        for rule in RULES.rules_in(document, "permissions")
        if (is_trusted or document not in own or rule.decision != "allowed")
        and not skipped(text(rule.at.data), rule.decision)
    )
    return ClaudeSettings(
        rules=rules,
        mode=_mode(
            documents, no_auto, is_bypass_refused=no_bypass is not None, manual=() if obeys_bypass else own
        ),
        no_bypass=no_bypass is not None,
        asks_in_plan=bool(no_auto)
        or any(doc.data.get("useAutoModeDuringPlan") is False for doc in documents[1:]),
        sandbox=_sandbox(documents),
        in_sandbox=reach_in_sandbox(documents, rules),
        no_hooks=_no_hooks(documents),
        is_sandboxed=bool((on := _place(documents, "enabled", "sandbox")) and on.data is True),
        variables={
            name: str(value) for document in documents for name, value in table(document.data, "env").items()
        },
        refused_servers=frozenset(
            name for document in documents for name in texts(document.data.get("disabledMcpjsonServers"))
        ),
    )


def _no_hooks(documents: Sequence[Document]) -> Place | None:
    """The place that switches all hooks off, if the last word about that does."""
    places = (Place(document, ("disableAllHooks",)) for document in reversed(documents))
    last = next((at for at in places if isinstance(at.data, bool)), None)
    return last if last and last.data is True else None


def _mode(
    documents: Sequence[Document],
    no_auto: Place | None,
    *,
    is_bypass_refused: bool,
    manual: Sequence[Document],
) -> Mode:
    """The mode of a session; `manual` are the files whose `bypassPermissions` starts it in mode `default`."""
    unset = Mode("default", no_auto) if no_auto else Mode()
    at = _place(documents, "defaultMode", "permissions")
    name = at.data if at else None
    if at and name == BYPASSES and any(at.document is document for document in manual):
        return Mode("default", at)
    # A project cannot set `auto`: then it is as if no file said a mode.
    if not isinstance(name, str) or name == "auto" or (name == BYPASSES and is_bypass_refused):
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
