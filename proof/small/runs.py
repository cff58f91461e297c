"""The runs of a team, by the law alone: what models could have called, whatever they say, and what became of it.

Nothing of llmdo is imported here. A state is the stack of calls of workers, each with what was read by then, and what
files and toolsets keep; from each state every call is tried, asked questions are answered both ways, and states that
were seen are not seen again. So these are all runs, although there is no end to them. Teams whose calls are blocked and
read alike have the same states, which are tried once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from proof.small.calls import (
    ALLOWED,
    BLOCKED,
    NO_EFFECT,
    NOTHING,
    STRANGERS,
    Call,
    Labels,
    bits_of,
    calls_of,
    contains,
    matches,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proof.small.teams import Team


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
    bits = bits_of(team) if labelled else {}
    calls = [tuple(calls_of(team, worker, bits)) for worker in range(len(team.calls))]
    bare = tuple([tuple([call.bare for call in own]) for own in calls])
    cleared = bits.get(STRANGERS, NOTHING) if {*team.answers} > {"plain"} else NOTHING
    course = Course(bare, team.answers, cleared, team.depth, team.keeps, len(team.tools))
    moments, states = _tried(course, most)
    found = Runs(states=states)
    for (way, number), each in moments.items():
        for moment in each:
            found.add(way, calls[way[-1]][number], moment, bits)
    return found


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
            path, before = parts_of(raised)[1] or "**", dict(files)
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
