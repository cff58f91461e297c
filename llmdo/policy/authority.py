"""Capabilities, rules and ceilings: `decide`, the one evaluator of `check` and of `run`.

The law is "the strictest wins": neither the order nor the precision of rules matters, so files merge and
rules add up without surprise. Nothing here reads a file, and both `reach` and the gate call `decide`.
"""

from __future__ import annotations

from llmdo.base.nearest import MANIFEST, TEAM_FILES
from llmdo.base.values import dataclass, field
from llmdo.policy.vocabulary import (
    FACTS,
    ONLY_BY_FULL_NAME,
    ONLY_READS,
    OUTSIDE_CEILINGS,
    ROOTS,
    TERMINAL_ONLY,
    UNDECLARED,
    UNTRUSTED,
    WORST_FIRST,
)

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

STRICTNESS: dict[Decision, int] = {"allowed": 0, "needs_approval": 1, "blocked": 2}

MOST_BITS = 256
"""The most that a closed answer may carry: more could be put together to a text."""

BUILT_IN_VERSION = 3
"""Version of what is built in; the lock records it, so that a change of ours shows up there.

It goes up where a call may be decided otherwise than before: not with a family of capabilities, or a toolset, that no
workspace had.

3: changing a file of an executable kind is `fs.write.code`, which asks.
2: reading a file that mostly holds secrets is `fs.read.protected`, which asks at a terminal.
1: the first.
"""

CODE = "fs.write.code"
"""The full-name-only capability that an owner may well mean: the refusal by a ceiling gives the line to add."""

_PLACES = {name: place for place, name in enumerate(WORST_FIRST)}


def strictest(decisions: Iterable[Decision]) -> Decision:
    """The strictest of `decisions`; `allowed` if there are none."""
    return max(decisions, key=STRICTNESS.__getitem__, default="allowed")


@dataclass(frozen=True, slots=True, order=True)
class Capability:
    """A power of a call over the world, perhaps only within a scope.

    Written `fs.write:reports/**`. In a rule, a ceiling or a declaration it includes everything below it, by whole
    labels, and no scope means everywhere. Raised by a call, no scope means an unknown one.
    """

    name: str
    scope: str | None = None
    """A workspace-relative path, or `folder/**` for a folder and everything in it, or `**`."""

    @classmethod
    def parse(cls, text: str) -> Capability:
        """The capability that `text` spells, without judging whether the vocabulary has it."""
        name, colon, scope = text.partition(":")
        return cls(name, scope if colon else None)

    def __str__(self) -> str:
        return self.name if self.scope is None else f"{self.name}:{self.scope}"

    def keys(self) -> dict[str, str | None]:
        """The capability as two keys of JSON."""
        return {"capability": self.name, "scope": self.scope}

    @property
    def is_everywhere(self) -> bool:
        """Whether no scope narrows it: `**` is everywhere, as no scope is."""
        return self.scope is None or self.scope == "**"

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and every name above it, under which a rule, a ceiling or a row may cover it."""
        labels = self.name.split(".")
        return tuple([".".join(labels[:length]) for length in range(len(labels), 0, -1)])

    @property
    def is_of_extension(self) -> bool:
        """Whether an extension brings it."""
        return self.name.partition(".")[0] not in ROOTS

    @property
    def around(self) -> Iterator[Capability]:
        """Every capability that contains it, itself included."""
        return (Capability(name, scope) for name in self.names for scope in scopes_around(self.scope))

    def covers_name(self, name: str) -> bool:
        """Whether `name` is this capability or one below it."""
        return name == self.name or name.startswith(self.name + ".")

    def contains(self, other: Capability) -> bool:
        """Whether every call that raises `other` falls under this."""
        return self.covers_name(other.name) and scope_contains(self.scope, other.scope)

    def grants(self, raised: Capability) -> bool:
        """Whether it contains `raised` as ceilings, approvals and acceptances do, some only by their full name."""
        guarded = [name for name in raised.names if name in ONLY_BY_FULL_NAME]
        return self.contains(raised) and all(Capability(name).covers_name(self.name) for name in guarded)

    def touches(self, other: Capability) -> bool:
        """Whether some call that raises `other` falls under this."""
        return self.covers_name(other.name) and scopes_meet(self.scope, other.scope)


def gravity(capability: Capability) -> tuple[int, str]:
    """A sort key by which the worst capability comes first, by `WORST_FIRST`; ties by name and scope.

    Without a place there, it is as grave as the nearest capability above it, a family as the worst one in it.
    """
    for name in capability.names:
        if (place := _PLACES.get(name)) is not None:
            return place, str(capability)
    if capability.is_of_extension:
        return _PLACES["x"], str(capability)
    places = (place for name, place in _PLACES.items() if capability.covers_name(name))
    return next(places, len(_PLACES)), str(capability)


def scope_contains(outer: str | None, inner: str | None) -> bool:
    """Whether all of `inner` lies in `outer`; None is everywhere, as is `**`."""
    if outer is None or outer == "**":
        return True
    if inner is None or inner == "**":
        return False
    if outer == inner:
        return True
    if not outer.endswith("/**"):
        return False
    return inner == outer[:-3] or inner.startswith(outer[:-2])


def scopes_around(scope: str | None) -> tuple[str | None, ...]:
    """Every scope that contains `scope`, itself included."""
    if scope is None or scope == "**":
        return None, "**"
    names = scope.removesuffix("/**").split("/")
    folders = ["/".join(names[:length]) + "/**" for length in range(1, len(names) + 1)]
    return (None, "**", *folders) if scope.endswith("/**") else (None, "**", scope, *folders)


def scope_order(scope: str | None) -> tuple[list[str], bool]:
    """A sort key by which every scope comes right before all scopes that it contains."""
    folder = scope is None or scope.endswith("**")
    names = (scope or "").removesuffix("**").rstrip("/")
    return names.split("/") if names else [], not folder


def scopes_meet(scope: str | None, other: str | None) -> bool:
    """Whether a path exists that lies in both; two scopes are always nested or apart."""
    return scope_contains(scope, other) or scope_contains(other, scope)


@dataclass(frozen=True, slots=True)
class Rule:
    """A capability and the decision about it."""

    capability: Capability
    decision: Decision
    origin: str
    """The source of the rule, in words for the user: `built in`, `llmdo.toml`, ``worker `main` ``."""
    at: Place | None = field(default=None, compare=False)
    but: tuple[Capability, ...] = ()
    """Parts of the capability that it is not about; only rules of another tool's agent leave any out."""

    def applies(self, raised: Capability) -> bool:
        """Whether this rule counts: an `allowed` one if it contains all of `raised`, a strict one for any part."""
        if self.but and any(each.contains(raised) for each in self.but):
            return False
        if self.decision == "allowed":
            return self.capability.contains(raised)
        return self.capability.touches(raised)

    @property
    def place(self) -> str:
        """The source of the rule; for a policy that the manifest extends, with the line."""
        if self.at is None:
            return self.origin
        if self.origin == MANIFEST:
            stated = self.at.document.source.path
            return stated if stated in TEAM_FILES else self.origin
        at = self.at.location
        return f"{at.path}:{at.span.line}" if at.path == self.origin and at.span else self.origin

    def __str__(self) -> str:
        return f'"{self.capability}" = "{self.decision}"'


BUILT_IN = tuple(
    Rule(Capability(name), facts.decision, "built in") for name, facts in FACTS.items() if facts.decision
)
"""The rules that hold in every workspace, as far as its manifest leaves them in force."""


def base_rules(manifest: Iterable[Rule], families: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """The manifest's rules and the built-in ones that it leaves in force, with those of `families` of extensions.

    A manifest rule for the same name replaces the built-in one, also with the scope `**`, which is everywhere; with any
    other scope it only withdraws an `allowed`. Nothing lifts `capability.undeclared`.
    """
    own = tuple(manifest)
    replaced = {rule.capability.name for rule in own if rule.capability.is_everywhere}
    scoped = {rule.capability.name for rule in own if not rule.capability.is_everywhere}
    standing = tuple(
        rule
        for rule in (*BUILT_IN, *families)
        if rule.capability.name == UNDECLARED
        or not (
            rule.capability.name in replaced
            or (rule.capability.name in scoped and rule.decision == "allowed")
        )
    )
    return standing + own


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that an entry, or a worker with everything below it, may ever reach."""

    capabilities: tuple[Capability, ...]
    origin: str
    at: Place | None = field(default=None, compare=False)

    def admits(self, raised: Capability) -> bool:
        """Whether all that `raised` may be lies inside this ceiling."""
        if raised.name in OUTSIDE_CEILINGS:
            return True
        return any(most.grants(raised) for most in self.capabilities)

    def covers(self, raised: Capability) -> bool:
        """Whether it would admit `raised` if that did not need its full name."""
        return any(most.contains(raised) for most in self.capabilities)


@dataclass(frozen=True, slots=True)
class Carried:
    """The labels of a call, and whether it sends anything."""

    labels: frozenset[Capability]
    """Those of its context and of its arguments."""
    sends: bool
    """Whether it sends anything: a call of a tool without targets does not."""


NOTHING_CARRIED = Carried(frozenset(), sends=True)


@dataclass(frozen=True, slots=True)
class FlowRule:
    """A decision about a call by its caller's reads: it counts when all of `sources` meet `to`."""

    sources: tuple[Capability, ...]
    """Sorted."""
    to: Capability
    decision: Decision
    origin: str
    """The source of the rule, in words for the user."""
    at: Place | None = field(default=None, compare=False)
    is_preset: bool = False
    """Whether a preset states it: for it, capabilities that only read are no effect."""
    if_sent: bool = False
    """Whether it is only about calls that send something: a call without arguments does not."""

    def applies(self, raised: Capability, of_call: Iterable[Capability], carried: Carried) -> bool:
        """Whether this rule counts for `raised`, one of the capabilities `of_call`.

        A stranger's text counts if the call carries it: then he may have chosen the call. Anything else counts also if
        the call itself raises it, as that is sent out.
        """
        is_meant = self.to.touches(raised) or (self.is_for_own and raised.is_of_extension)
        if not is_meant or (self.if_sent and not carried.sends):
            return False
        return all(
            source in carried.labels
            or (not source.covers_name(UNTRUSTED) and any(map(source.touches, of_call)))
            for source in self.sources
        )

    @property
    def needs_label(self) -> bool:
        """Whether it cannot count for a call before anything was read: it is about a stranger's text."""
        return any(source.covers_name(UNTRUSTED) for source in self.sources)

    @property
    def is_for_own(self) -> bool:
        """Whether it is a preset's rule for a project's own capabilities, and so for those of extensions."""
        return self.is_preset and self.to.name == "x"

    @property
    def flow(self) -> str:
        """The sources and the target, as a file has them."""
        return f"{' & '.join(map(str, self.sources))} -> {self.to}"

    def __str__(self) -> str:
        return f'"{self.flow}" = "{self.decision}"'


@dataclass(frozen=True, slots=True)
class Authority:
    """The rules and ceilings for the calls of one worker at one place in the tree."""

    base: tuple[Rule, ...]
    """The result of `base_rules`."""
    default: Decision = "needs_approval"
    """For a capability that no base rule names."""
    layers: tuple[Rule, ...] = ()
    """Rules of the entry, of the calling worker and of the person's `policy.toml`: they only tighten."""
    ceilings: tuple[Ceiling, ...] = ()
    """The ceilings of the entry and of every worker on the call path."""
    flows: tuple[FlowRule, ...] = ()
    """The flow rules of the workspace, the entry and the calling worker: they only tighten."""
    reads: frozenset[str] = ONLY_READS
    """The capabilities that no preset takes for an effect."""
    max_bits: int = MOST_BITS
    """The most that a delegate's closed answer may carry; beyond, it is open."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a decision; without rule, ceiling and flow it was the default, or undeclared."""

    capability: Capability
    decision: Decision
    rule: Rule | None = None
    ceiling: Ceiling | None = None
    flow: FlowRule | None = None

    def __str__(self) -> str:
        if self.ceiling is not None:
            outside = f"`{self.capability}` is outside the ceiling of {self.ceiling.origin}"
            if self.capability.name != CODE or not self.ceiling.covers(self.capability):
                return outside
            return f'{outside}, which admits it only by its full name: add "{self.capability}" to `may`'
        if self.rule is not None:
            return f"{self.rule} ({self.rule.place})"
        if self.flow is not None:
            return f"{self.flow} ({self.flow.origin})"
        if self.capability.name == UNDECLARED:
            return f"`{UNDECLARED}` (built in)"
        return f"no rule names `{self.capability}`, so the default holds: {self.decision}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision over one call, with its reasons."""

    decision: Decision
    reasons: tuple[Reason, ...]
    """Those that made the decision, in the order of the capabilities; empty if nothing was raised."""

    @property
    def terminal_only(self) -> bool:
        """Whether only a person at a terminal may answer the question that this verdict asks."""
        return any(not TERMINAL_ONLY.isdisjoint(reason.capability.names) for reason in self.reasons)


def decide(
    raised: Iterable[Capability],
    declared: Iterable[Capability],
    authority: Authority,
    carried: Carried = NOTHING_CARRIED,
) -> Verdict:
    """The decision over one call that raises `raised` and carries `carried`, made by a tool that declared `declared`.

    For each raised capability: blocked if it was not declared or lies outside a ceiling; else the strictest of all
    matching base rules (the default if none matches), of all matching layer rules and of all flow rules that apply.
    Over the set, the strictest. A call that raises nothing is allowed.
    """
    declared = tuple(declared)
    reasons: list[Reason] = []
    of_call = sorted(set(raised), key=str)
    for capability in of_call:
        reasons.extend(_reasons(capability, declared, authority))
        if not authority.flows:
            continue
        names = capability.names  # as with rules, most flows are passed over by the name alone
        for flow in authority.flows:
            if flow.to.name not in names and not flow.is_for_own:
                continue
            is_spared = flow.is_preset and not authority.reads.isdisjoint(names)
            if not is_spared and flow.applies(capability, of_call, carried):
                reasons.append(Reason(capability, flow.decision, flow=flow))
    decision = strictest(reason.decision for reason in reasons)
    deciding = [reason for reason in reasons if reason.decision == decision]
    # What a worker's own rule repeats of the rules for all is one reason.
    return Verdict(
        decision, tuple(sorted(dict.fromkeys(deciding), key=_order) if len(deciding) > 1 else deciding)
    )


def never_runs(
    declared: Sequence[Capability], authority: Authority, least: Iterable[Sequence[Capability]] | None = None
) -> bool:
    """Whether every call of a tool that declared `declared` is blocked, so that no model needs to see it.

    A call raises all that is declared. A tool that narrows it raises any part, and something within each group of
    `least`, if given; a tool that may raise nothing has no group.
    """
    if least is None:
        return decide(declared, declared, authority).decision == "blocked"
    return any(
        all(
            decide([raised], declared, authority).decision == "blocked"
            for raised in _mildest(group, authority)
        )
        for group in least
    )


def _mildest(group: Iterable[Capability], authority: Authority) -> Iterator[Capability]:
    """Capabilities within `group`, by which all within it are blocked if these are.

    A smaller scope is never judged more strictly. So it suffices to look at every path that a rule or a ceiling names,
    in every such folder at one that none names, and likewise at every name.
    """
    ceilings = [most for ceiling in authority.ceilings for most in ceiling.capabilities]
    written = {*ceilings, *(rule.capability for rule in (*authority.base, *authority.layers))}
    for most in group:
        related = [
            pattern for pattern in written if most.covers_name(pattern.name) or pattern.covers_name(most.name)
        ]
        names = {
            name for name in (*OUTSIDE_CEILINGS, *(each.name for each in related)) if most.covers_name(name)
        }
        scopes = {pattern.scope for pattern in related if scope_contains(most.scope, pattern.scope)}
        for name in {most.name, *names}:
            yield from (Capability(name, _unnamed(scope)) for scope in {most.scope, *scopes})


def _unnamed(scope: str | None) -> str:
    """A path within `scope` that nobody wrote; the path itself if it is one."""
    folder = "**" if scope is None else scope
    return folder.removesuffix("**") + "\0" if folder.endswith("**") else folder


def _order(reason: Reason) -> tuple[str, bool, str, str]:
    """By capability, ceilings first, then by rule: the order in which rules were written means nothing."""
    rule, flow = reason.rule, reason.flow
    pattern = str(rule.capability) if rule else flow.flow if flow else ""
    origin = rule.origin if rule else flow.origin if flow else ""
    return (str(reason.capability), reason.ceiling is None, pattern, origin)


def _reasons(
    capability: Capability, declared: tuple[Capability, ...], authority: Authority
) -> Iterable[Reason]:
    if capability.name == UNDECLARED or not any(most.contains(capability) for most in declared):
        yield Reason(Capability(UNDECLARED), "blocked")
        return
    for ceiling in authority.ceilings:
        if not ceiling.admits(capability):
            yield Reason(capability, "blocked", ceiling=ceiling)
    names = capability.names  # a rule of another name has no say: most are passed over by that alone
    base = [rule for rule in authority.base if rule.capability.name in names and rule.applies(capability)]
    if not any(rule.capability.contains(capability) for rule in base) and (
        not base or STRICTNESS[authority.default] > STRICTNESS[strictest(rule.decision for rule in base)]
    ):
        # Part of what it may be is named by no rule: there the default holds, and it is stricter.
        yield Reason(capability, authority.default)
    layers = (rule for rule in authority.layers if rule.capability.name in names and rule.applies(capability))
    for rule in (*base, *layers):
        yield Reason(capability, rule.decision, rule=rule)
