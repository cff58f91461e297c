"""The runs of a team, by the law alone: what models could have called, whatever they say, and what became of it.

Nothing of llmdo is imported here. A state is the stack of calls of workers, each with what was read by then, and what
files and toolsets keep; from each state every call is tried, asked questions are answered both ways, and states that
were seen are not seen again. So these are all runs, although there is no end to them. Teams whose calls are blocked and
read alike have the same states, which are tried once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product
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


def _parts(capability: str) -> tuple[str, str | None]:
    name, colon, scope = capability.partition(":")
    return name, scope if colon and scope != "**" else None


@cache
def contains(outer: str, inner: str) -> bool:
    """Whether all that `inner` may be is `outer`: by whole labels, and by folders."""
    (name, scope), (other, within) = _parts(outer), _parts(inner)
    if not f"{other}.".startswith(f"{name}."):
        return False
    if scope is None or scope == within:
        return True
    return within is not None and scope.endswith("/**") and f"{within}/".startswith(scope[:-2])


@cache
def matches(rule: str, raised: str) -> bool:
    """Whether some of what `raised` may be falls under `rule`."""
    name, scope = _parts(rule)
    other, within = _parts(raised)
    if scope is None or within is None:
        return contains(name, other)
    return contains(rule, raised) or contains(f"{name}:{within}", f"{other}:{scope}")


class TooManyStatesError(Exception):
    """The states of a team are more than somebody wants to wait for."""


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


class Frame(NamedTuple):
    """One call of a worker that has not ended."""

    worker: int
    asked: int
    """`ASKS` if somebody was asked on the way here."""
    chosen: Labels
    """What had been read when its model was last asked: the calls of one response are chosen under that."""
    labels: Labels
    """What has been read by now."""
    seals: frozenset[Labels] = frozenset()
    """What is in the sealed texts that it was handed."""


class State(NamedTuple):
    """A moment of a run."""

    stack: tuple[Frame, ...]
    kept: tuple[Labels, ...]
    """What the toolset of each tool was given or has read."""
    files: frozenset[tuple[str, Labels]]
    """What is in the files below each path."""

    def with_top(self, frame: Frame) -> State:
        """The same moment, but for the call that is running."""
        return State((*self.stack[:-1], frame), self.kept, self.files)


class Moment(NamedTuple):
    """The circumstances under which a call is decided."""

    asked: int
    """`ASKS` if somebody was asked on the way to it."""
    counted: Labels
    """What it is decided under."""
    sealed: Labels
    """What is sealed in its arguments."""


class Course(NamedTuple):
    """All that decides which states a team has."""

    calls: tuple[tuple[Call, ...], ...]
    """Those of each worker, bare."""
    answers: tuple[str, ...]
    cleared: Labels
    """That of strangers' words, if some way of handing over clears it."""
    depth: int
    keeps: bool
    tools: int


@dataclass
class Runs:
    """What all runs of a team do."""

    calls: dict[tuple[tuple[int, ...], str, frozenset[str]], int] = field(default_factory=dict)
    """The workers on the way, the tool or worker called and what the call raises, to its mildest outcome."""
    after: dict[str, int] = field(default_factory=dict)
    """Each effect after a stranger's words, to its mildest outcome."""
    labels: dict[int, set[str]] = field(default_factory=dict)
    """Each worker to what it had read, or passed on sealed, when it called something."""
    states: int = 0

    def add(self, way: tuple[int, ...], call: Call, moment: Moment, bits: dict[str, Labels]) -> None:
        """Adds a call by the last worker on `way`."""
        asked, counted, sealed = moment
        outcome = max(call.decided(way, counted), asked)
        key = (way, call.name, call.raised)
        self.calls[key] = min(outcome, self.calls.get(key, BLOCKED))
        if not (carried := counted | sealed):
            return
        read = self.labels.setdefault(way[-1], set())
        read.update([label for label, bit in bits.items() if bit & carried])
        if bits.get(STRANGERS, NOTHING) & counted and outcome < BLOCKED:
            for each in call.raised:
                if not any(contains(free, each) for free in NO_EFFECT):
                    self.after[each] = min(outcome, self.after.get(each, BLOCKED))


def runs_of(team: Team, *, labelled: bool = True, most: int | None = None) -> Runs:
    """What all runs of `team` do; unless `labelled`, as if nobody remembered what was read.

    That is the mildest of each call as well, for a flow rule only tightens.

    Raises:
        TooManyStatesError: There are more than `most` states.
    """
    bits = _bits(team) if labelled else {}
    calls = [tuple(_calls_of(team, worker, bits)) for worker in range(len(team.calls))]
    bare = tuple([tuple([call.bare for call in own]) for own in calls])
    cleared = bits.get(STRANGERS, NOTHING) if {*team.answers} > {"plain"} else NOTHING
    course = Course(bare, team.answers, cleared, team.depth, team.keeps, len(team.tools))
    moments, states = _tried(course, most)
    found = Runs(states=states)
    for (way, number), each in moments.items():
        for moment in each:
            found.add(way, calls[way[-1]][number], moment, bits)
    return found


def _bits(team: Team) -> dict[str, Labels]:
    """The labels that the flow rule asks for and some call reads, and that of strangers' words."""
    wanted = {*(team.flow.sources if team.flow else ()), STRANGERS}
    read = {label for tool in team.tools for label in wanted if _reads(team.strange, tool, label)}
    return {label: 1 << number for number, label in enumerate(sorted(read))}


@lru_cache(maxsize=5_000)
def _tried(course: Course, most: int | None) -> tuple[dict[tuple[tuple[int, ...], int], set[Moment]], int]:
    """When each call is made, by the workers on the way and its number; and how many states there are."""
    moments: dict[tuple[tuple[int, ...], int], set[Moment]] = {}
    start = State((Frame(0, ALLOWED, NOTHING, NOTHING),), (NOTHING,) * course.tools, frozenset())
    seen, waiting = {start}, [start]
    while waiting:
        for following in _next(course, waiting.pop(), moments):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
        if most is not None and len(seen) > most:
            raise TooManyStatesError
    return moments, len(seen)


def _next(
    course: Course, state: State, moments: dict[tuple[tuple[int, ...], int], set[Moment]]
) -> Iterator[State]:
    """The states that may follow, each call of the last worker on the stack noted in `moments`."""
    *below, frame = state.stack
    worker, asked, chosen, labels, seals = frame
    way = tuple([each.worker for each in state.stack])
    if chosen != labels:  # the next response
        yield state.with_top(Frame(worker, asked, labels, labels, seals))
    for number, call in enumerate(course.calls[worker]):
        noted = moments.setdefault((way, number), set())
        if call.read & ~labels:  # instructions and refusals of a toolset say what they like
            yield state.with_top(Frame(worker, asked, chosen, labels | call.read, seals))
        # About a sealed target somebody is asked, and not again. Elsewhere it does not count whose words it has; the
        # input of a worker is no target: there they count for what that one does.
        for sealed, is_target in (
            (NOTHING, False),
            *product(seals, (True, False) if call.is_tool else (False,)),
        ):
            counted = chosen | (sealed if is_target else sealed & ~course.cleared)
            noted.add(Moment(asked, counted, sealed))
            decision = call.decided(way, counted)
            if decision == BLOCKED:
                continue
            given = chosen | sealed
            if call.is_tool:
                yield _called(course, state, call, given | call.read)
            elif len(below) < course.depth:  # beyond, it is decided, and its caller is told
                begun = Frame(call.target, max(asked, decision), given, given)
                yield State((*state.stack, begun), state.kept, state.files)
    if below:
        caller = _handed_over(course, below[-1], frame)
        yield State((*below[:-1], caller), state.kept, state.files)


def _called(course: Course, state: State, call: Call, labels: Labels) -> State:
    """After a call that ran: its caller has read its result, and what it wrote and kept is labelled."""
    stack, kept, files = state
    for path, written in files:
        if any(contains("fs.read", raised) and matches(f"fs.read:{path}", raised) for raised in call.raised):
            labels |= written
    labels |= kept[call.target]
    if course.keeps:
        kept = (*kept[: call.target], labels, *kept[call.target + 1 :])
    for raised in call.raised:
        if contains("fs.write", raised):
            path, before = _parts(raised)[1] or "**", dict(files)
            files = frozenset({**before, path: before.get(path, NOTHING) | labels}.items())
    worker, asked, chosen, read, seals = stack[-1]
    return State((*stack[:-1], Frame(worker, asked, chosen, read | labels, seals)), kept, files)


def _handed_over(course: Course, caller: Frame, callee: Frame) -> Frame:
    """The caller, once it has been answered."""
    answer, given = course.answers[callee.worker], callee.labels
    worker, asked, chosen, labels, seals = caller
    if answer == "sealed":  # if there is something in it that anybody asks about
        return Frame(worker, asked, chosen, labels, seals | {given}) if given else caller
    if answer == "closed":
        given &= ~course.cleared
    return Frame(worker, asked, chosen, labels | given, seals)


def _calls_of(team: Team, worker: int, bits: dict[str, Labels]) -> Iterator[Call]:
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
    named = {_parts(rule)[0] for rule, _ in rules}
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
