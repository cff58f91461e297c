"""The laws: sentences about what llmdo says of a team, each held against what its runs do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.base.source import Source
from llmdo.diff import diff
from llmdo.reach import Analysis
from llmdo.reach.flows import after_strangers, labels_below
from llmdo.reach.suggest import suggest
from llmdo.workspace import lock
from proof.small.calls import BLOCKED, DELEGATE, ENTRY, STRICTNESS, contains
from proof.small.product import NAME, graph_of
from proof.small.runs import TooManyStatesError, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.reach import Row
    from proof.small.runs import Runs
    from proof.small.teams import Team

Outcomes = dict[str, int]
"""What is called to its mildest outcome."""

MOST_STATES = 10_000
"""Of a team by chance, one that has more is left out."""

WORDS = ("allowed", "needs_approval", "blocked", "never called")


class Subject:
    """A team, its runs, and what llmdo says of it; each worked out once."""

    def __init__(self, team: Team, most: int | None = None) -> None:
        self.team, self._most = team, most

    @cached_property
    def runs(self) -> Runs:
        """What its runs do."""
        return runs_of(self.team, most=self._most)

    @cached_property
    def graph(self) -> Graph:
        """The team as a graph."""
        return graph_of(self.team)

    @cached_property
    def analysis(self) -> Analysis:
        """The graph, prepared for questions."""
        return Analysis(self.graph)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Its reach."""
        return self.analysis.of(self.graph.entries[NAME])

    @cached_property
    def reached(self) -> Outcomes:
        """What is called in runs to its mildest outcome."""
        return outcomes(self.runs)

    @cached_property
    def after(self) -> Outcomes:
        """What llmdo says may be done after a stranger's words."""
        rows = after_strangers(self.analysis, self.graph.entries[NAME])
        return {str(row.capability): STRICTNESS[row.decision] for row in rows if row.decision != "blocked"}


def outcomes(runs: Runs) -> Outcomes:
    """Each capability that runs raise to its mildest outcome."""
    mildest: Outcomes = {}
    for (_, _, raised), outcome in runs.calls.items():
        for each in raised:
            mildest[each] = min(outcome, mildest.get(each, BLOCKED))
    return mildest


def failures(subject: Subject, before: Subject | None = None, *, is_locked: bool = True) -> Iterator[str]:
    """Where a law does not hold of a team, a sentence each; `before` is what it would be the next version of."""
    for law in (reach, labels, suggestion, *([locked] if is_locked else [])):
        yield from (f"{law.__name__}: {sentence}" for sentence in law(subject))
    if before is not None:
        yield from (f"difference: {sentence}" for sentence in difference(before, subject))


@dataclass(slots=True)
class Findings:
    """What became of a list of teams."""

    teams: int = 0
    states: int = 0
    """Of all their runs."""
    compared: int = 0
    """The teams whose lock was read, and that were compared with the one before."""
    effects: int = 0
    """The effects after a stranger's words that llmdo says of them."""
    beyond: int = 0
    """Those that no run has."""
    left_out: int = 0
    """The teams with more states than anybody waits for."""
    failures: list[tuple[str, Team]] = field(default_factory=list)
    """Where a law does not hold: a sentence, and the team."""

    def add(self, other: Findings) -> None:
        """Adds those of other teams."""
        self.teams += other.teams
        self.states += other.states
        self.compared += other.compared
        self.effects += other.effects
        self.beyond += other.beyond
        self.left_out += other.left_out
        self.failures += other.failures


def held(teams: Iterable[Team], every: int = 1, most: int | None = MOST_STATES) -> Findings:
    """What becomes of `teams`; of `every` so many the lock is read, and what differs from the one before."""
    findings = Findings()
    before: Subject | None = None
    for team in teams:
        subject = Subject(team, most)
        try:
            findings.states += subject.runs.states
        except TooManyStatesError:
            findings.left_out += 1
            continue
        findings.teams += 1
        findings.effects += len(subject.after)
        findings.beyond += beyond(subject)
        is_compared = findings.teams % every == 0
        findings.compared += is_compared
        sentences = failures(subject, before if is_compared else None, is_locked=is_compared)
        findings.failures += [(sentence, team) for sentence in sentences]
        before = subject
    return findings


def reach(subject: Subject) -> Iterator[str]:
    """The rows of reach are what runs call, each with its mildest outcome, along a shortest way to that.

    What counts for a whole folder counts for what is in it, where that is milder.
    """
    said = {str(row.capability): STRICTNESS[row.decision] for row in subject.rows}
    known = {*said}
    ways: dict[str, tuple[int, int, tuple[str, ...]]] = {}
    for (way, called, raised), outcome in subject.runs.calls.items():
        path = (*[f"w{worker}" for worker in way], called)
        for each in raised:
            name = _row_of(each, known)
            ways[name] = min((outcome, len(path), path), ways.get(name, (BLOCKED + 1, 0, ())))
    own = {name: outcome for name, (outcome, _, _) in ways.items()}
    for name, wider in {name: _around(name, own) for name in own}.items():
        ways[name] = min([ways[name], *(ways[wide] for wide in wider if own[wide] < own[name])])
    yield from _unequal({name: outcome for name, (outcome, _, _) in ways.items()}, said)
    for row in subject.rows:
        shown, found = tuple([hop.name for hop in row.path]), ways.get(str(row.capability), (0, 0, ()))[2]
        if shown != found:
            yield f"`{row.capability}` by {' > '.join(shown)}, and in runs by {' > '.join(found)}"


def labels(subject: Subject) -> Iterator[str]:
    """Whatever runs read or do after a stranger's words, llmdo says so, and as mildly."""
    if not _has_words(subject.team):
        return
    runs, said = subject.runs.after, subject.after
    for each in runs:
        if said.get(each, BLOCKED) > runs[each]:
            yield f"`{each}` is {WORDS[runs[each]]} in runs after a stranger's words, and not as llmdo says"
    below = labels_below(subject.analysis, subject.graph.entries[NAME])
    for worker in {way[-1] for way, _, _ in subject.runs.calls}:
        read = subject.runs.labels.get(worker, set())
        shown = {str(label) for label in below.get(f"w{worker}", ())}
        if read - shown:
            yield f"w{worker} reads {sorted(read)} in runs, and {sorted(shown)} as llmdo says"


def beyond(subject: Subject) -> int:
    """The effects after a stranger's words that llmdo says, or says more mildly, and that no run has."""
    if not _has_words(subject.team):
        return 0
    runs = subject.runs.after
    return sum(decision < runs.get(each, BLOCKED) for each, decision in subject.after.items())


def _has_words(team: Team) -> bool:
    return bool(team.flow or team.strange)


def suggestion(subject: Subject) -> Iterator[str]:
    """Under the suggested ceiling runs do what they do without one, and under no smaller one."""
    team = subject.team
    may = list(map(str, suggest(subject.analysis, subject.graph.entries[NAME]).may))
    free = (
        outcomes(runs_of(_under(team, None), labelled=False))
        if ENTRY in dict(team.ceilings)
        else subject.reached
    )
    done = {each: outcome for each, outcome in free.items() if outcome < BLOCKED}
    ceiled = _done(team, may)
    if ceiled != done:
        yield f"under {may} runs do {ceiled}, and without it {done}"
    for each in may:
        if _done(team, [other for other in may if other != each]) == done:
            yield f"`{each}` of {may} is not needed"


def _done(team: Team, may: list[str]) -> Outcomes:
    reached = outcomes(runs_of(_under(team, may), labelled=False))
    return {each: outcome for each, outcome in reached.items() if outcome < BLOCKED}


def _under(team: Team, may: list[str] | None) -> Team:
    others = tuple([(place, most) for place, most in team.ceilings if place != ENTRY])
    return replace(team, ceilings=others if may is None else ((ENTRY, tuple(may)), *others))


def locked(subject: Subject) -> Iterator[str]:
    """A lock that was written and is read gives the same graph, and the same reach."""
    read = lock.read(Source("llmdo.lock", lock.dump(subject.graph)))
    if read.graph is None or read.problems:
        yield "the lock cannot be read"
    elif read.graph != subject.graph:
        yield "the lock gives another graph"
    elif Analysis(read.graph).of(read.graph.entries[NAME]) != subject.rows:
        yield "the lock gives another reach"


def difference(before: Subject, after: Subject) -> Iterator[str]:
    """`diff` says of each capability what became of it from the runs of one team to those of the other."""
    shown = diff(before.graph, after.graph)
    [entry] = shown.entries
    named = {*_named(before.team), *_named(after.team), f"{DELEGATE}:**"}
    old, new = (_grouped(side.reached, named) for side in (before, after))
    became = {each: _eased(each, new) - _eased(each, old) for each in {*old, *new}}
    for effect, sign in (("widens", -1), ("narrows", 1)):
        rows = [row for row in entry.rows if row.effect == effect]
        covered = {id(row): [each for each in became if _is_about(str(row.capability), each)] for row in rows}
        for each, change in sorted(became.items()):
            if sign * change > 0 and not any(each in covered[id(row)] for row in rows):
                yield f"`{each}` {effect}, and no row says so"
        for row in rows:
            are_so = [sign * became[each] > 0 for each in covered[id(row)]]
            if not (any(are_so) if row.elsewhere else are_so and all(are_so)):
                yield f"the row of `{row.capability}` {effect}, and nothing in runs does"


def _is_about(row: str, raised: str) -> bool:
    return contains(row, raised) and row.partition(":")[0] == raised.partition(":")[0]


def _around(name: str, known: Iterable[str]) -> list[str]:
    """Those of the `known` whose calls count for all of `name`, and for more."""
    return [wide for wide in known if wide != name and not contains(DELEGATE, wide) and _is_about(wide, name)]


def _eased(name: str, outcomes: Outcomes) -> int:
    """The mildest outcome of calls that are about `name`, or that count for it."""
    return min(outcomes.get(each, BLOCKED) for each in (name, *_around(name, outcomes)))


def _unequal(found: Outcomes, shown: Outcomes) -> Iterator[str]:
    for each in sorted({*found, *shown}):
        in_runs, said = found.get(each, 3), shown.get(each, 3)
        if in_runs != said:
            yield f"`{each}` is {WORDS[said]} as llmdo says, and {WORDS[in_runs]} in runs"


def _named(team: Team) -> Iterator[str]:
    """The calls of workers by their names that rules of `team` are about."""
    rules = (*[rule for rule, _ in team.rules], *[rule for _, rule, _ in team.approvals])
    yield from (rule for rule in rules if rule.startswith(f"{DELEGATE}:"))


def _grouped(reached: Outcomes, known: set[str]) -> Outcomes:
    """What runs raise by the rows of reach: calls of workers are one row, but for those that something names."""
    grouped: Outcomes = {}
    for each, outcome in reached.items():
        name = _row_of(each, known)
        grouped[name] = min(outcome, grouped.get(name, BLOCKED))
    return grouped


def _row_of(raised: str, known: set[str]) -> str:
    if raised in known or not contains(DELEGATE, raised):
        return raised
    return next((each for each in (f"{DELEGATE}:**", DELEGATE) if each in known), raised)
