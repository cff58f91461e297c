"""The teams: every one of up to five parts, and larger ones by chance.

A part is a worker or a clause: a rule, a ceiling, an approval of an entry or a worker, a flow rule, a hand-over, a
limit of depth. Teams that differ in the names of workers and of capabilities alone are one team.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, islice, permutations, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from proof.small.calls import DELEGATE, ENTRY, MANIFEST, STRANGERS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

PARTS = 5
WORKERS = 4
TOOLS = 3
DEEPEST = 3
MOST_EDGES = 4
"""Of a team of four in which workers call each other in circles; one without circles may have all six."""

DECISIONS = ("allowed", "needs_approval", "blocked")
TIGHTER = DECISIONS[1:]

KINDS = {
    "own": (("x.t0.do",), ("x.t1.do",), ("x.t2.do",)),
    "joint": (("x.t0.do",), ("x.t1.do",), ("x.t1.do", "x.t2.do")),
    "nested": (("x.t0.do",), ("x.t0.do.more",), ("x.t2.do",)),
    "files": (("fs.write:out/**",), ("fs.read:out/a",), ("net.connect",)),
}
"""What the three tools raise. The teams that are enumerated have the first, in which all are alike."""


SCOPES = (("fs.write:out/**",), ("fs.write:out/a",), ("net.connect",))
"""Tools of which one writes anywhere in a folder, and another one in it."""


class Flow(NamedTuple):
    """A flow rule, and where it stands."""

    sources: tuple[str, ...]
    to: str
    decision: str
    place: int = MANIFEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team, whose first worker is started by an entry. Capabilities are spelt as files spell them."""

    calls: tuple[tuple[int, ...], ...]
    """The delegates of each worker."""
    uses: tuple[tuple[int, ...], ...]
    """The tools of each worker."""
    tools: tuple[tuple[str, ...], ...] = KINDS["own"]
    """What each tool raises with every call."""
    depth: int = DEEPEST
    default: str = "needs_approval"
    rules: tuple[tuple[str, str], ...] = ()
    ceilings: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """A place, and what is admitted there."""
    approvals: tuple[tuple[int, str, str], ...] = ()
    flow: Flow | None = None
    strange: tuple[str, ...] = ()
    """The capabilities whose results strangers write."""
    answers: tuple[str, ...] = ()
    """How each worker answers: plain, closed or sealed."""
    keeps: bool = True
    """Whether toolsets may return later what they were given."""


Edges = tuple[tuple[int, int], ...]
Clause = tuple[object, ...]


class _Renaming(NamedTuple):
    """Other numbers for workers, of which the first stays, and for tools."""

    workers: tuple[int, ...]
    tools: tuple[int, ...]

    def edges(self, edges: Edges) -> Edges:
        return tuple(sorted((self.workers[caller], self.workers[callee]) for caller, callee in edges))

    def holders(self, holders: tuple[int, ...]) -> tuple[int, ...]:
        renamed = [0] * TOOLS
        for tool, holder in enumerate(holders):
            renamed[self.tools[tool]] = self.workers[holder]
        return tuple(renamed)

    def target(self, target: int) -> int:
        """Of a rule: a tool, `_FAMILY`, `_DELEGATES`, or beyond these a worker to call."""
        if target < TOOLS:
            return self.tools[target]
        return target if target < _WORKER else _WORKER + self.workers[target - _WORKER]

    def place(self, place: int) -> int:
        return place if place < 0 else self.workers[place]

    def clause(self, clause: Clause) -> Clause:
        match clause:
            case ("rule", int(target), decision):
                return ("rule", self.target(target), decision)
            case ("ceiling", int(place), tuple(most)):
                return ("ceiling", self.place(place), tuple(sorted(map(self.tools.__getitem__, most))))
            case ("approval", int(place), int(target), decision):
                return ("approval", self.place(place), self.target(target), decision)
            case ("flow", is_strange, int(source), int(to), decision):
                return ("flow", is_strange, self.tools[source], self.target(to), decision)
            case ("answer", int(worker), answer):
                return ("answer", self.workers[worker], answer)
        return clause


_FAMILY = TOOLS
_DELEGATES = TOOLS + 1
_WORKER = TOOLS + 2


class Base(NamedTuple):
    """Workers that call each other in one way, with one holder of each tool: what clauses are added to."""

    size: int
    edges: Edges
    holders: tuple[int, ...]
    stable: tuple[_Renaming, ...]
    """The renamings that change nothing of it."""

    def teams(self, start: int = 0, sets: int = sys.maxsize) -> Iterator[Team]:
        """Its teams of up to `PARTS` parts, made of so many `sets` of clauses from number `start` on.

        Of those that are alike, the first.
        """
        end = start + sets
        for kind, weight in zip(self._kinds, self.weights, strict=True):
            for chosen in islice(product(*kind), max(start, 0), min(max(end, 0), weight)):
                clauses = tuple(sorted(chain.from_iterable(chosen)))
                if len(self.stable) == 1 or all(_renamed(clauses, each) >= clauses for each in self.stable):
                    yield self._team(clauses)
            start, end = start - weight, end - weight

    @property
    def weights(self) -> list[int]:
        """How many sets of clauses there are of each kind, alike or not."""
        return [prod(map(len, kind)) for kind in self._kinds]

    @property
    def _kinds(self) -> list[tuple[list[tuple[Clause, ...]], ...]]:
        return _kinds_of_sets(self.size, self.edges, PARTS - self.size)

    def any_team(self, chance: random.Random) -> Team:
        """One of its teams."""
        [kind] = chance.choices(self._kinds, self.weights)
        clauses = tuple(sorted(chain.from_iterable(map(chance.choice, kind))))
        return self._team(min(_renamed(clauses, each) for each in self.stable))

    def _team(self, clauses: tuple[Clause, ...]) -> Team:
        return _team(self.size, self.edges, self.holders, clauses)


@cache
def bases() -> tuple[Base, ...]:
    """What all teams of up to `PARTS` parts begin with."""
    return tuple(
        [
            Base(size, edges, holders, stable)
            for size in range(1, WORKERS + 1)
            for edges in shapes(size)
            for holders, stable in _held(size, edges)
        ]
    )


def some(number: int, chance: random.Random) -> list[Team]:
    """So many different teams of up to `PARTS` parts."""
    weights = [sum(base.weights) for base in bases()]
    chosen: dict[Team, None] = {}
    while len(chosen) < number:
        [base] = chance.choices(bases(), weights)
        chosen[base.any_team(chance)] = None
    return list(chosen)


def shapes(size: int) -> list[Edges]:
    """How so many workers call each other, the first of which reaches all; of those alike, the first."""
    pairs = [(caller, callee) for caller in range(size) for callee in range(size) if caller != callee]
    renamings = [_Renaming((0, *order), tuple(range(TOOLS))) for order in permutations(range(1, size))]
    every = chain.from_iterable(combinations(pairs, length) for length in range(len(pairs) + 1))
    return [
        edges
        for edges in every
        if len(_reached(edges)) == size
        and (size < WORKERS or len(edges) <= MOST_EDGES or longest(edges) is not None)
        and all(each.edges(edges) >= edges for each in renamings)
    ]


def _reached(edges: Sequence[tuple[int, int]]) -> set[int]:
    reached, waiting = {0}, [0]
    while waiting:
        at = waiting.pop()
        new = {callee for caller, callee in edges if caller == at} - reached
        reached |= new
        waiting.extend(new)
    return reached


def longest(edges: Edges) -> int | None:
    """The delegations of the longest chain; None where they run in circles."""
    chains, length = {(0,)}, 0
    while True:
        chains = {(*each, callee) for each in chains for caller, callee in edges if caller == each[-1]}
        if not chains:
            return length
        if any(len({*each}) < len(each) for each in chains):
            return None
        length += 1


def _held(size: int, edges: Edges) -> Iterator[tuple[tuple[int, ...], tuple[_Renaming, ...]]]:
    """Which worker has each tool, of those alike the first; and the renamings that change neither that nor `edges`."""
    renamings = [
        _Renaming((0, *workers), tools)
        for workers in permutations(range(1, size))
        for tools in permutations(range(TOOLS))
    ]
    alike = [each for each in renamings if each.edges(edges) == edges]
    for holders in product(range(size), repeat=TOOLS):
        if all(each.holders(holders) >= holders for each in alike):
            yield holders, tuple([each for each in alike if each.holders(holders) == holders])


@cache
def _kinds_of_sets(size: int, edges: Edges, most: int) -> list[tuple[list[tuple[Clause, ...]], ...]]:
    """Every kind of a set of up to `most` clauses: up to two rules, and one of each other kind; with the choices."""
    places = [ENTRY, *range(size)]
    called = sorted({callee for _, callee in edges})
    targets = [
        *range(TOOLS),
        _FAMILY,
        *([_DELEGATES] if called else []),
        *(_WORKER + each for each in called),
    ]
    subsets = chain.from_iterable(combinations(range(TOOLS), length) for length in range(TOOLS))
    rules: list[Clause] = [("rule", target, decision) for target in targets for decision in DECISIONS]
    depths = longest(edges)
    single: dict[str, Iterator[tuple[object, ...]]] = {
        "ceiling": ((place, most) for most in subsets for place in places),
        "approval": product(places, targets, TIGHTER),
        "flow": product((False, True), range(TOOLS), _aims(called), TIGHTER),
        "answer": product(range(1, size), ("closed", "sealed")),
        "depth": ((depth,) for depth in range(DEEPEST if depths is None else depths)),
    }
    choices: list[list[list[tuple[Clause, ...]]]] = [
        [[()], [(rule,) for rule in rules], [(a, b) for a, b in combinations(rules, 2) if a[1] != b[1]]],
        *[[[()], [((kind, *each),) for each in clauses]] for kind, clauses in single.items()],
    ]
    kinds = []
    for lengths in product(*[range(len(each)) for each in choices]):
        _, _, _, flow, answer, _ = lengths
        if sum(lengths) <= most and (
            flow or not answer
        ):  # without a flow rule nothing is different by an answer
            kinds.append(tuple([each[length] for each, length in zip(choices, lengths, strict=True)]))
    return kinds


def _aims(called: Sequence[int]) -> list[int]:
    return [*range(TOOLS), *([_DELEGATES] if called else [])]


def _renamed(clauses: tuple[Clause, ...], renaming: _Renaming) -> tuple[Clause, ...]:
    return tuple(sorted(map(renaming.clause, clauses)))


def _spelt(target: int) -> str:
    """A capability of the teams that are enumerated, as a rule has it."""
    if target < TOOLS:
        return KINDS["own"][target][0]
    if target == _FAMILY:
        return "x"
    return DELEGATE if target == _DELEGATES else f"{DELEGATE}:w{target - _WORKER}"


def _team(size: int, edges: Edges, holders: tuple[int, ...], clauses: tuple[Clause, ...]) -> Team:
    table: dict[str, list[Clause]] = {}
    for kind, *clause in clauses:
        table.setdefault(str(kind), []).append(tuple(clause))
    answers = dict(table.get("answer", ()))
    flow, strange = None, ()
    for is_strange, source, to, decision in table.get("flow", ()):
        read = _spelt(source)
        flow = Flow((STRANGERS if is_strange else read,), _spelt(to), decision)
        strange = (read,) if is_strange else ()
    return Team(
        calls=_by_worker(size, edges),
        uses=_by_worker(size, [(holder, tool) for tool, holder in enumerate(holders)]),
        depth=next((depth for (depth,) in table.get("depth", ())), DEEPEST),
        rules=tuple([(_spelt(target), decision) for target, decision in table.get("rule", ())]),
        ceilings=tuple([(place, tuple(map(_spelt, most))) for place, most in table.get("ceiling", ())]),
        approvals=tuple(
            [(place, _spelt(target), decision) for place, target, decision in table.get("approval", ())]
        ),
        flow=flow,
        strange=strange,
        answers=tuple([answers.get(worker, "plain") for worker in range(size)]),
    )


def _by_worker(size: int, pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple([right for left, right in pairs if left == worker]) for worker in range(size)])


def large(chance: random.Random, tools: tuple[tuple[str, ...], ...] | None = None) -> Team:
    """Any team of up to four workers: with a ceiling and an approval at each place, and clauses of every kind.

    What its tools raise is one of `KINDS`, unless it is given.
    """
    size = chance.choice((2, 3, 3, 4, 4, 4))
    pairs = [(caller, callee) for caller in range(size) for callee in range(size)]
    edges: list[tuple[int, int]] = []
    while len(_reached(edges)) < size:
        edges = sorted(chance.sample(pairs, chance.randint(size - 1, size + 1)))
    tools = tools or KINDS[chance.choice([*KINDS])]
    known = sorted({each for tool in tools for each in tool})
    called = [f"{DELEGATE}:w{callee}" for callee in {callee for _, callee in edges}]
    above = sorted({each.partition(".")[0].partition(":")[0] for each in known})
    targets = [*known, *known, *above, DELEGATE, *called]
    places = [ENTRY, *range(size)]
    sources = chance.choice(
        ((STRANGERS,), (chance.choice(known),), tuple(sorted((STRANGERS, chance.choice(known)))))
    )
    to = chance.choice([*known, *above, DELEGATE])
    flow = Flow(sources, to, chance.choice(TIGHTER), chance.choice([MANIFEST, *places]))
    held = [
        (worker, tool)
        for tool in range(TOOLS)
        for worker in chance.sample(range(size), chance.choice((1, 1, 2)))
    ]
    return Team(
        calls=_by_worker(size, edges),
        uses=_by_worker(size, sorted(held)),
        tools=tools,
        depth=chance.randint(1, DEEPEST),
        default=chance.choice(("needs_approval", "needs_approval", "allowed", "blocked")),
        rules=tuple([(target, chance.choice(DECISIONS)) for target in sorted({*chance.sample(targets, 2)})]),
        ceilings=tuple(
            [(place, tuple(sorted(chance.sample(known, 2)))) for place in places if chance.random() < 0.2]
        ),
        approvals=tuple(
            [
                (place, chance.choice(targets), chance.choice(TIGHTER))
                for place in places
                if chance.random() < 0.2
            ]
        ),
        flow=chance.choice((None, flow, flow)),
        strange=(chance.choice(known),) if STRANGERS in sources or chance.random() < 0.1 else (),
        answers=("plain", *[chance.choice(("plain", "plain", "closed", "sealed")) for _ in range(size - 1)]),
        keeps=chance.random() < 0.5,
    )
