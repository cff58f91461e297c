"""The permissions of formats: lists of rules, each about a tool or a part of its calls, of which one decides.

A format has a `RuleTable`: the form of its rules, the tools that one covers, and the order by which one of several
decides. All that can happen is asked for, so only the milder parts of a tool are told apart from the whole.
"""

from __future__ import annotations

import itertools
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from llmdo.base.parts import items
from llmdo.base.values import dataclass
from llmdo.foreign.commands import BY_ARITHMETIC, besides, commands
from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document, Route

    Order = tuple[Decision, ...] | Literal["last"]

WORDS: dict[str, Decision] = {"allow": "allowed", "ask": "needs_approval", "deny": "blocked"}
"""The words for decisions that most formats have."""
STRICTEST: tuple[Decision, ...] = ("blocked", "needs_approval", "allowed")
"""The order in which the strictest decision wins, and of several rules with it the first."""
EVERYTHING = frozenset({"", "*", "**", ":*"})
"""The patterns that are about every call."""
LAST: Literal["last"] = "last"
"""The order in which the last rule wins, whatever it says."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A decision about a tool, or about a part of its calls."""

    tool: str
    pattern: str | None
    """The calls that it is about; None for all."""
    decision: Decision
    at: Place

    @property
    def origin(self) -> str:
        """The source of the decision."""
        return self.at.document.source.path

    @property
    def text(self) -> str:
        """The rule as formats write it."""
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


@dataclass(frozen=True, slots=True)
class PermissionRuling:
    """The decision about a tool, or about a milder part of it."""

    capabilities: tuple[Capability, ...]
    decision: Decision
    rule: PermissionRule | None = None
    """The rule that decides; None if no rule is about the whole tool."""

    def grant(
        self,
        line: Line,
        at: Place,
        origin: str,
        *,
        toolset: str | None = None,
        tool: str | None = None,
        otherwise_at: Place | None = None,
    ) -> Grant:
        """The grant of the tool of a line; `otherwise_at` is the place that decides if no rule does."""
        return line.grant(
            at,
            origin,
            toolset=toolset,
            tool=tool,
            capabilities=self.capabilities,
            decision=self.decision,
            rule_at=self.rule.at if self.rule else otherwise_at,
        )


def written(rules: Iterable[PermissionRule]) -> dict[str, tuple[str, ...]]:
    """The rules as they are written, by the word for their decision."""
    rules = tuple(rules)
    return {
        word: texts
        for word, decision in WORDS.items()
        if (texts := tuple(dict.fromkeys(rule.text for rule in rules if rule.decision == decision)))
    }


def listed_commands(rules: Iterable[PermissionRule], tool: str, rest: str = "") -> dict[str, tuple[str, ...]]:
    """The commands that rules allow by how they begin, as `written` has them; `rest` stands for more words."""
    allowed = (
        rule.pattern for rule in rules if rule.tool == tool and rule.decision == "allowed" and rule.pattern
    )
    texts = tuple(dict.fromkeys(f"shell({pattern}{rest})" for pattern in allowed))
    return {"allow": texts} if texts else {}


def about_any_command(rules: Iterable[PermissionRule], product: str) -> Iterator[tuple[PermissionRule, str]]:
    """The lists of rules that allow commands, each of which is any: the plainest of each, and what is said of it."""
    lists: dict[Route, list[PermissionRule]] = {}
    for rule in rules:
        lists.setdefault(rule.at.route[:-1], []).append(rule)
    for entries in lists.values():
        first = min(entries, key=lambda rule: bool(words_of(rule)))
        more = len(entries) - 1
        also = f"; so {'does 1 more entry' if more == 1 else f'do {more} more entries'}" if more else ""
        words = words_of(first)
        why = f", as {product} does not see that `{words}` runs `id`" if words else ""
        yield first, f"this allows every command without a question{why}{also}"


def words_of(rule: PermissionRule) -> str:
    """Words by which a rule about a command is one about any; empty for a rule about all of them."""
    return "" if rule.pattern is None or rule.pattern.strip() in EVERYTHING else BY_ARITHMETIC


def form(name: str) -> re.Pattern[str]:
    """The form `TOOL` or `TOOL(PATTERN)` of a rule, with a regular expression for the name of the tool."""
    return re.compile(rf"\s*(?P<tool>{name})(?:\((?P<what>.*)\))?\s*", re.DOTALL)


def same(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule names this tool."""
    return rule.tool == tool


def like(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule names this tool, perhaps by a pattern of names."""
    return fnmatchcase(tool, rule.tool)


def whole(rule: PermissionRule, _tool: str) -> bool:
    """Whether a rule is about every call."""
    return rule.pattern is None


def part(capability: Capability, pattern: str) -> Capability:
    """The part of a capability for `git log *`, `docs/**` or `domain:HOST`; all of it if no scope of ours says it."""
    if capability == UNLISTED:
        return commands(pattern)
    if capability == CONNECTS:
        host = _HOST.fullmatch(pattern)
        return Capability(capability.name, host["host"].lower()) if host else capability
    scope = scope_of(pattern) if capability.name.startswith("fs.") else None
    return Capability(capability.name.removesuffix(".protected"), scope) if scope else capability


def parted(
    capabilities: tuple[Capability, ...],
    pattern: str,
    part: Callable[[Capability, str], Capability] = part,
    *,
    globs: Callable[[str], Iterable[str]] = lambda pattern: (pattern,),
) -> tuple[Capability, ...]:
    """The part of each capability for a pattern, and what its commands do besides."""
    parts = tuple(part(each, pattern) for each in capabilities)
    if UNLISTED not in capabilities:
        return parts
    more = (each for glob in globs(pattern) for each in besides(glob))
    return tuple(dict.fromkeys((*parts, *more)))


CONNECTS = Capability("net.connect")
_HOST = re.compile(
    r"\s*(?:domain:)?(?:https?://)?(?:\*\.)?(?P<host>[A-Za-z0-9][\w-]*(?:\.[\w-]+)+)(?::\d+)?(?:/.*)?\s*",
    re.DOTALL,
)
_SCOPE = re.compile(r"(?:\./|/(?!/))?(?P<path>[\w@+-][\w@.+-]*(?:/[\w@+-][\w@.+-]*)*)(?P<all>/\*\*?)?")


def scope_of(pattern: str) -> str | None:
    """Our scope for a path pattern; None if there is none, and all has to count."""
    parts = _SCOPE.fullmatch(pattern)
    return f"{parts['path']}{'/**' if parts['all'] else ''}" if parts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """The form of one format's rules, and which of several decides."""

    order: Order
    """The decisions, from that which wins over all others; or that the last rule wins."""
    text: re.Pattern[str] = form(r"\w+")
    """The text of a rule, with groups `tool` and `what`."""
    names: Callable[[PermissionRule, str], bool] = same
    """Whether a rule covers a tool."""
    whole: Callable[[PermissionRule, str], bool] = whole
    """Whether a rule that covers a tool is about all of its calls."""
    part: Callable[[Capability, str], Capability] = part
    """The part of a capability for a pattern."""
    globs: Callable[[str], Iterable[str]] = lambda pattern: (pattern,)
    """The globs of whole commands that a pattern stands for, where a format writes it otherwise."""

    def rule(self, text: object, decision: Decision, at: Place) -> PermissionRule | None:
        """The rule that a text is, or None."""
        parts = self.text.fullmatch(text) if isinstance(text, str) else None
        return PermissionRule(parts["tool"], parts["what"], decision, at) if parts else None

    def rules_in(self, document: Document, *route: str) -> Iterator[PermissionRule]:
        """The rules in the lists `allow`, `ask` and `deny` of the table at `route`."""
        for word, decision in WORDS.items():
            for number, text in enumerate(items(Place(document, (*route, word)).data)):
                if rule := self.rule(text, decision, Place(document, (*route, word, number))):
                    yield rule

    def about(self, rules: Iterable[PermissionRule], tool: str) -> list[PermissionRule]:
        """The rules that cover a tool."""
        return [rule for rule in rules if self.names(rule, tool)]

    def decided(self, rules: Iterable[PermissionRule]) -> PermissionRule | None:
        """The rule that decides, of several about the same calls."""
        if self.order == LAST:
            return next(reversed([*rules]), None)
        return min(rules, key=lambda rule: self.order.index(rule.decision), default=None)

    def decided_whole(self, rules: Iterable[PermissionRule], tool: str) -> PermissionRule | None:
        """The rule that decides about a tool as a whole, of those that cover it."""
        return self.decided(rule for rule in rules if self.whole(rule, tool))

    def parts(
        self, rules: Iterable[PermissionRule], tool: str, ruling: PermissionRuling
    ) -> Iterator[PermissionRuling]:
        """The decisions about parts of a tool that win over the `ruling` about all of it, and are milder."""
        if ruling.rule and self.order == LAST:
            rules = itertools.dropwhile(lambda rule: rule is not ruling.rule, rules)
        for rule in rules:
            is_milder = STRICTNESS[rule.decision] < STRICTNESS[ruling.decision]
            if not is_milder or self.whole(rule, tool):
                continue
            if ruling.rule is None or self.decided((ruling.rule, rule)) is rule:
                yield PermissionRuling(self.parted(ruling.capabilities, rule), rule.decision, rule)

    def parted(self, capabilities: tuple[Capability, ...], rule: PermissionRule) -> tuple[Capability, ...]:
        """The part of each capability for a rule, and what its commands do besides."""
        return parted(capabilities, rule.pattern or "", self.part, globs=self.globs)

    def rulings(
        self,
        rules: Iterable[PermissionRule],
        tool: str,
        capabilities: tuple[Capability, ...],
        default: Decision,
    ) -> Iterator[PermissionRuling]:
        """The decisions about one tool: about all of it, by `default` if no rule says, and about milder parts."""
        mine = self.about(rules, tool)
        rule = self.decided_whole(mine, tool)
        ruling = PermissionRuling(capabilities, rule.decision if rule else default, rule)
        yield ruling
        yield from self.parts(mine, tool, ruling)
