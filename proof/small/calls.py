"""What the law says of each call that a worker can make: what it reads, and how it is decided.

Nothing of llmdo is imported here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from proof.small.teams import Team

ALLOWED, ASKS, BLOCKED = 0, 1, 2
STRICTNESS = {"allowed": ALLOWED, "needs_approval": ASKS, "blocked": BLOCKED}

DELEGATE, STRANGERS = "agent.delegate", "data.untrusted"
BUILT_IN = {"fs.read": ALLOWED, DELEGATE: ALLOWED, STRANGERS: ALLOWED}  # of those that these teams can raise
NO_EFFECT = ("fs.read", DELEGATE, STRANGERS)
ENTRY, MANIFEST = -1, -2
"""The places of rules that are no worker's."""

Labels = int
"""A set of labels, a bit for each that any call of the team reads."""
NOTHING = 0
NOWHERE: frozenset[int] = frozenset()


def parts_of(capability: str) -> tuple[str, str | None]:
    """The name and the scope; None if it is everywhere."""
    name, colon, scope = capability.partition(":")
    return name, scope if colon and scope != "**" else None


@cache
def contains(outer: str, inner: str) -> bool:
    """Whether all that `inner` may be is `outer`: by whole labels, and by folders."""
    (name, scope), (other, within) = parts_of(outer), parts_of(inner)
    if not f"{other}.".startswith(f"{name}."):
        return False
    if scope is None or scope == within:
        return True
    return within is not None and scope.endswith("/**") and f"{within}/".startswith(scope[:-2])


@cache
def matches(rule: str, raised: str) -> bool:
    """Whether some of what `raised` may be falls under `rule`."""
    name, scope = parts_of(rule)
    other, within = parts_of(raised)
    if scope is None or within is None:
        return contains(name, other)
    return contains(rule, raised) or contains(f"{name}:{within}", f"{other}:{scope}")


class Call(NamedTuple):
    """A tool or worker that a worker may call, and what the law says of it, whichever run it is."""

    name: str
    target: int
    """The number of the tool or worker."""
    is_tool: bool
    raised: frozenset[str]
    read: Labels = NOTHING
    """What its result is labelled with, whatever is in it."""
    cut: frozenset[int] = NOWHERE
    """The workers whose ceilings do not admit it."""
    decision: int = ALLOWED
    """The decision inside of their ceilings: over all that it raises, the strictest."""
    sources: Labels = NOTHING
    """What has to be read for the flow rule to be met; what the call itself reads is left out."""
    flowing: int = ALLOWED
    """What the flow rule says then."""

    def decided(self, way: tuple[int, ...], carried: Labels) -> int:
        """The decision on this way, under what was read."""
        if not self.cut.isdisjoint(way):
            return BLOCKED
        return self.decision if self.sources & ~carried else max(self.decision, self.flowing)

    @property
    def bare(self) -> Call:
        """A call after which the same states follow: whether a tool asks is of no matter."""
        if self.decision == BLOCKED:
            return self._replace(cut=NOWHERE, sources=NOTHING, flowing=ALLOWED)
        if not self.is_tool:
            return self
        decision, flowing = (
            BLOCKED if each == BLOCKED else ALLOWED for each in (self.decision, self.flowing)
        )
        if flowing <= decision:
            return self._replace(decision=decision, flowing=ALLOWED, sources=NOTHING)
        return self._replace(decision=decision, flowing=flowing)


def bits_of(team: Team) -> dict[str, Labels]:
    """The labels that the flow rule asks for and some call reads, and that of strangers' words."""
    wanted = {*(team.flow.sources if team.flow else ()), STRANGERS}
    read = {label for tool in team.tools for label in wanted if _reads(team.strange, tool, label)}
    return {label: 1 << number for number, label in enumerate(sorted(read))}


def calls_of(team: Team, worker: int, bits: dict[str, Labels]) -> Iterator[Call]:
    """The calls that a worker can make."""
    for tool in team.uses[worker]:
        raised = frozenset(team.tools[tool])
        read = sum(bit for label, bit in bits.items() if _reads(team.strange, raised, label))
        yield _call(team, worker, Call(f"t{tool}", tool, is_tool=True, raised=raised, read=read), bits)
    for callee in team.calls[worker]:
        raised = frozenset({f"{DELEGATE}:w{callee}"})
        yield _call(team, worker, Call(f"w{callee}", callee, is_tool=False, raised=raised), bits)


def _call(team: Team, worker: int, call: Call, bits: dict[str, Labels]) -> Call:
    """The call, with what rules and ceilings say of it."""
    ceilings = [place for place, most in team.ceilings if not _is_inside(most, call.raised)]
    stated = [
        _stated(rule, decision, call.raised)
        for place, rule, decision in team.approvals
        if place in (ENTRY, worker)
    ]
    base = _ruled(team.rules, team.default, call.raised)
    decision = BLOCKED if ENTRY in ceilings else max(base, *stated, ALLOWED)
    call = call._replace(cut=frozenset(ceilings), decision=decision)
    if team.flow is None or team.flow.place not in (MANIFEST, ENTRY, worker):
        return call
    sources = _unread(team.flow.sources, call.raised)
    if not bits.keys() >= sources:  # nobody ever reads that
        return call
    flowing = _stated(team.flow.to, team.flow.decision, call.raised)
    return call._replace(sources=sum(map(bits.__getitem__, sources)), flowing=flowing)


@cache
def _ruled(rules: tuple[tuple[str, str], ...], default: str, raised: frozenset[str]) -> int:
    """The decision of rules of the manifest and built-in ones: over the set, the strictest."""
    named = {parts_of(rule)[0] for rule, _ in rules}
    # A built-in one is replaced by a rule of that name; one with a scope withdraws an `allowed`.
    built_in = [(name, decision) for name, decision in BUILT_IN.items() if name not in named]
    stated = [(rule, STRICTNESS[decision]) for rule, decision in rules] + built_in
    decisions = [decision for rule, decision in stated for each in raised if _counts(rule, decision, each)]
    if not all(any(contains(rule, each) for rule, _ in stated) for each in raised):
        decisions.append(STRICTNESS[default])
    return max(decisions)


@cache
def _stated(rule: str, decision: str, raised: frozenset[str]) -> int:
    """What a rule says that can only tighten."""
    strictness = STRICTNESS[decision]
    return strictness if any(_counts(rule, strictness, each) for each in raised) else ALLOWED


def _counts(rule: str, decision: int, raised: str) -> bool:
    """Whether a rule matches: one that allows only if nothing else may be meant."""
    return contains(rule, raised) if decision == ALLOWED else matches(rule, raised)


@cache
def _is_inside(most: tuple[str, ...], raised: frozenset[str]) -> bool:
    """Whether a ceiling admits a call that raises these."""
    exempt = (*most, DELEGATE, STRANGERS)
    return all(any(contains(each, inner) for each in exempt) for inner in raised)


@cache
def _reads(strange: tuple[str, ...], raised: Collection[str], label: str) -> bool:
    """Whether the result of a call that raises these has this label."""
    is_strange = any(matches(source, each) for source in strange for each in raised)
    return (is_strange and label == STRANGERS) or any(matches(label, each) for each in raised)


@cache
def _unread(sources: tuple[str, ...], raised: frozenset[str]) -> frozenset[str]:
    """The sources of a flow rule that a call does not read itself."""
    return frozenset(
        [
            source
            for source in sources
            if source == STRANGERS or not any(matches(source, each) for each in raised)
        ]
    )
