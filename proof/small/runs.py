"""The runs of a team, by the law alone: what models could have called, whatever they say, and what became of it.

Nothing of llmdo is imported here. A state is the stack of calls of workers, each with what was read by then, and what
files and toolsets keep; from each state every call is tried, asked questions are answered both ways, and states that
were seen are not seen again. So these are all runs, although there is no end to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proof.small.teams import Team

ALLOWED, ASKS, BLOCKED = 0, 1, 2
STRICTNESS = {"allowed": ALLOWED, "needs_approval": ASKS, "blocked": BLOCKED}

DELEGATE, STRANGERS = "agent.delegate", "data.untrusted"
BUILT_IN = {"fs.read": ALLOWED, DELEGATE: ALLOWED, STRANGERS: ALLOWED}  # of those that these teams can raise
NO_EFFECT = ("fs.read", DELEGATE, STRANGERS)
ENTRY, MANIFEST = -1, -2
"""The places of rules that are no worker's."""

Labels = frozenset[str]
NOTHING: Labels = frozenset()


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

    def add(
        self,
        frame: Frame,
        key: tuple[tuple[int, ...], str, frozenset[str]],
        decision: int,
        counted: Labels,
        sealed: Labels,
    ) -> None:
        """Adds a call that was decided so: by its way, the tool or worker called, and what it raises.

        `counted` are the labels that it was decided under, `sealed` those that are sealed in its arguments.
        """
        outcome = max(decision, frame.asked)
        if outcome < self.calls.get(key, BLOCKED + 1):
            self.calls[key] = outcome
        if not (carried := counted | sealed):
            return
        self.labels.setdefault(frame.worker, set()).update(carried)
        if STRANGERS in counted and outcome < BLOCKED:
            for each in key[2]:
                if not any(contains(free, each) for free in NO_EFFECT):
                    self.after[each] = min(outcome, self.after.get(each, BLOCKED))


def runs_of(team: Team, *, labelled: bool = True, most: int | None = None) -> Runs:
    """What all runs of `team` do; unless `labelled`, as if nobody remembered what was read.

    That is the mildest of each call as well, for a flow rule only tightens.

    Raises:
        TooManyStatesError: There are more than `most` states.
    """
    found = Runs()
    start = State((Frame(0, ALLOWED, NOTHING, NOTHING),), (NOTHING,) * len(team.tools), frozenset())
    seen, waiting = {start}, [start]
    law = _Law(team, labelled=labelled)
    while waiting:
        for following in _next(law, waiting.pop(), found):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
        if most is not None and len(seen) > most:
            raise TooManyStatesError
    found.states = len(seen)
    return found


def _next(law: _Law, state: State, found: Runs) -> Iterator[State]:
    """The moments that may follow, each call of the last worker on the stack noted in `found`."""
    team, (*below, frame) = law.team, state.stack
    worker, asked, chosen, labels, seals = frame
    way = tuple([each.worker for each in state.stack])
    if chosen != labels:  # the next response
        yield _with_top(state, Frame(worker, asked, labels, labels, seals))
    for tool, name, raised in law.tools[worker]:
        read = law.read(raised)
        if not read <= labels:  # instructions and refusals of a toolset say what they like
            yield _with_top(state, Frame(worker, asked, chosen, labels | read, seals))
        for sealed, is_target in ((NOTHING, False), *product(seals, (True, False))):
            # About a sealed target somebody is asked, and not again. Elsewhere it does not count whose words it has.
            counted = chosen | (sealed if is_target else sealed - {STRANGERS})
            decision = law.decide(way, raised, counted)
            found.add(frame, (way, name, raised), decision, counted, sealed)
            if decision < BLOCKED:
                yield _called(law, state, tool, chosen | sealed | read)
    for callee, name, raised in law.delegates[worker]:
        for sealed in (NOTHING, *seals):
            # An input is no target: whose words it has counts for what the callee does.
            counted = chosen | (sealed - {STRANGERS})
            decision = law.decide(way, raised, counted)
            found.add(frame, (way, name, raised), decision, counted, sealed)
            if (
                decision < BLOCKED and len(below) < team.depth
            ):  # beyond, it is decided, and its caller is told
                given = chosen | sealed
                begun = Frame(callee, max(asked, decision), given, given)
                yield State((*state.stack, begun), state.kept, state.files)
    if below:
        yield State((*below[:-1], _handed_over(team, below[-1], frame)), state.kept, state.files)


def _with_top(state: State, frame: Frame) -> State:
    return State((*state.stack[:-1], frame), state.kept, state.files)


def _called(law: _Law, state: State, tool: int, labels: Labels) -> State:
    """After a call that ran: its caller has read its result, and what it wrote and kept is labelled."""
    for raised in law.team.tools[tool]:
        if contains("fs.read", raised):
            for path, written in state.files:
                if matches(f"fs.read:{path}", raised):
                    labels |= written
    labels |= state.kept[tool]
    if law.team.keeps:
        state = state._replace(kept=(*state.kept[:tool], labels, *state.kept[tool + 1 :]))
    for raised in law.team.tools[tool]:
        if contains("fs.write", raised):
            path = _parts(raised)[1] or "**"
            before = dict(state.files)
            state = state._replace(
                files=frozenset({**before, path: before.get(path, NOTHING) | labels}.items())
            )
    frame = state.stack[-1]
    return _with_top(state, frame._replace(labels=frame.labels | labels))


def _handed_over(team: Team, caller: Frame, callee: Frame) -> Frame:
    match team.answers[callee.worker]:
        case "sealed" if callee.labels:
            return caller._replace(seals=caller.seals | {callee.labels})
        case "sealed":  # of what nobody asks about
            return caller
        case "closed":
            return caller._replace(labels=caller.labels | (callee.labels - {STRANGERS}))
    return caller._replace(labels=caller.labels | callee.labels)


class _Law:
    """Who may do what in one team, and what is read by it."""

    def __init__(self, team: Team, *, labelled: bool) -> None:
        self.team = team
        self._decided: dict[tuple[tuple[int, ...], frozenset[str], Labels], int] = {}
        self._labels = {*(team.flow.sources if team.flow else ()), STRANGERS} if labelled else ()
        self.read = cache(self._read)
        self.tools = [
            [(tool, f"t{tool}", frozenset(team.tools[tool])) for tool in used] for used in team.uses
        ]
        self.delegates = [
            [(callee, f"w{callee}", frozenset({f"{DELEGATE}:w{callee}"})) for callee in called]
            for called in team.calls
        ]

    def _read(self, raised: frozenset[str]) -> Labels:
        """What the result of a call that raises these is labelled with."""
        is_strange = any(matches(source, each) for source in self.team.strange for each in raised)
        known = raised | {STRANGERS} if is_strange else raised
        return frozenset([label for label in self._labels if any(matches(label, each) for each in known)])

    def decide(self, way: tuple[int, ...], raised: frozenset[str], carried: Labels) -> int:
        """The decision over a call by the last worker on `way`: over the set, the strictest."""
        key = (way, raised, carried)
        if key not in self._decided:
            self._decided[key] = max(self._one(way, each, raised, carried) for each in raised)
        return self._decided[key]

    def _one(self, way: tuple[int, ...], raised: str, of_call: frozenset[str], carried: Labels) -> int:
        team, caller = self.team, way[-1]
        if not any(contains(exempt, raised) for exempt in (DELEGATE, STRANGERS)):
            for place, most in team.ceilings:
                if place in (ENTRY, *way) and not any(contains(each, raised) for each in most):
                    return BLOCKED
        named = {_parts(rule) for rule, _ in team.rules}
        base = [
            STRICTNESS[decision]
            for rule, decision in team.rules
            if _counts(rule, STRICTNESS[decision], raised)
        ]
        for name, decision in BUILT_IN.items():
            # Replaced by a rule of that name; one with a scope withdraws an `allowed`.
            if all(each != name for each, _ in named) and _counts(name, decision, raised):
                base.append(decision)
        layers = [
            STRICTNESS[decision]
            for place, rule, decision in team.approvals
            if place in (ENTRY, caller) and _counts(rule, STRICTNESS[decision], raised)
        ]
        flow = ALLOWED
        if team.flow and team.flow.place in (MANIFEST, ENTRY, caller) and matches(team.flow.to, raised):
            is_met = all(
                source in carried or (source != STRANGERS and any(matches(source, each) for each in of_call))
                for source in team.flow.sources
            )
            flow = STRICTNESS[team.flow.decision] if is_met else ALLOWED
        return max(*(base or [STRICTNESS[team.default]]), *layers, flow, ALLOWED)


def _counts(rule: str, decision: int, raised: str) -> bool:
    """Whether a rule matches: one that allows only if nothing else may be meant."""
    return contains(rule, raised) if decision == ALLOWED else matches(rule, raised)
