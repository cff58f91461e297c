"""The risks of a reach: capabilities gained only by delegation, and ways by which private data can leave.

Asked of workspaces and of foreign projects alike; the wording is the caller's.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related
from llmdo.base.values import dataclass
from llmdo.policy.authority import STRICTNESS, Capability, Carried, decide, gravity
from llmdo.policy.composition import Layer
from llmdo.policy.vocabulary import IN_A_SHELL, LEGS, ONLY_READS, OUTSIDE_CEILINGS, WITHOUT_EFFECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmdo.graph.resolved import Entry
    from llmdo.reach.analysis import Analysis
    from llmdo.reach.rows import Hop, Row

MOST_NAMED = 8
"""Capabilities in a sentence: with unknown tools, a project may have a hundred."""

SHELL = "proc.exec.unlisted"


@dataclass(frozen=True, slots=True)
class Gain:
    """The capabilities that an entry reaches only through one of the workers that its own worker calls."""

    first: Hop
    """That worker."""
    rows: tuple[Row, ...]
    """At least one, the worst first."""

    @property
    def names(self) -> str:
        """The capabilities, as a sentence lists them; after an unconfined shell, a note of its further powers."""
        of_a_shell = " (a shell, which also reads, writes and sends)"
        names = [f"`{row.capability}`{of_a_shell * _is_free_shell(row)}" for row in self._named]
        more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED + 1 else []
        return ", ".join([*names[: MOST_NAMED + (not more)], *more])

    @property
    def is_gated(self) -> bool:
        """Whether somebody is asked before each of the named capabilities."""
        return not self.unasked

    @property
    def unasked(self) -> tuple[Row, ...]:
        """The rows of the named capabilities about which nobody is asked."""
        return tuple(row for row in self._named if row.decision == "allowed")

    @property
    def _named(self) -> list[Row]:
        """The rows to name: with an unconfined shell, not those of capabilities that any command has.

        What changes something more mildly than the shell is decided about is named all the same.
        """
        shell = next((row for row in self.rows if _is_free_shell(row)), None)
        if shell is None:
            return [*self.rows]
        asks = STRICTNESS[shell.decision]
        milder = {
            row.capability
            for row in self.rows
            if STRICTNESS[row.decision] < asks and row.capability.name not in WITHOUT_EFFECT
        }
        return [
            shell,
            *(row for row in self.rows if row.capability in milder or not is_in_a_shell(row.capability)),
        ]


@dataclass(frozen=True, slots=True)
class Leak:
    """Private data, untrusted input and a way out that one entry reaches."""

    legs: tuple[tuple[str, Row], ...]
    """The name of each, and a row that brings it: the mildest, then the likeliest, then the nearest."""

    @property
    def is_gated(self) -> bool:
        """Whether somebody is asked on every way out."""
        return self.legs[-1][1].decision != "allowed"

    def related(self) -> list[Related]:
        """The place at which each leg is used."""
        return [
            Related(use.at.location, f"{leg}: {_brought(leg, row)} by {path_text(row.path)}")
            for leg, row in self.legs
            if (use := row.path[-1].use)
        ]


def gains(rows: Iterable[Row]) -> tuple[Gain, ...]:
    """The gains of one entry through each of its delegates, in the order of the rows."""
    open_rows = [row for row in rows if row.decision != "blocked"]
    own_rows = [row for row in open_rows if not row.takes_delegation]
    own = [row.capability for row in own_rows]
    shell = min((STRICTNESS[row.decision] for row in own_rows if _is_free_shell(row)), default=None)
    by_delegate: dict[str, tuple[Hop, list[Row]]] = {}
    for row in open_rows:
        is_own = any(capability.contains(row.capability) for capability in own)
        if shell is not None and shell <= STRICTNESS[row.decision] and is_in_a_shell(row.capability):
            continue
        if row.takes_delegation and not is_own and row.capability.name not in OUTSIDE_CEILINGS:
            first = row.path[1]
            by_delegate.setdefault(first.name, (first, []))[1].append(row)
    return tuple(
        Gain(first, tuple(sorted(gained, key=lambda row: gravity(row.capability))))
        for first, gained in by_delegate.values()
    )


def leaks(analysis: Analysis) -> Callable[[Entry], Leak | None]:
    """A function from an entry to its leak, or None: all three of `LEGS` together, with their rows."""
    may_leak = may_meet(analysis)

    def leak_of(entry: Entry) -> Leak | None:
        if not may_leak(entry):
            return None
        rows = [row for row in analysis.of(entry) if row.decision != "blocked"]
        if analysis.graph.all_flows:
            private = [row.capability for row in rows if _brings("private data", row.capability)]
            rows = [row for row in rows if not _is_flow_gated(analysis, entry, row, private)]
        legs = [(leg, row) for leg in LEGS if (row := _mildest(rows, leg))]
        return Leak(tuple(legs)) if len(legs) == len(LEGS) else None

    return leak_of


def may_meet(analysis: Analysis) -> Callable[[Entry], bool]:
    """A function that tells whether all three of `LEGS` may be below an entry; no is certain, and quick."""
    bounds = [analysis.bounds.rows_where(partial(_is_of, names=_names(leg))) for leg in LEGS]
    return lambda entry: all(analysis.may_reach(entry, bound) for bound in bounds)


def _is_flow_gated(analysis: Analysis, entry: Entry, row: Row, private: Iterable[Capability]) -> bool:
    """Whether a flow rule decides on a way out, whichever private data was read with a stranger's text."""
    if not _brings("a way out", row.capability):
        return False
    workers = [hop.name for hop in row.path[:-1] if hop.name in analysis.graph.workers]
    authority = analysis.authority(Layer.of_entry(entry), [analysis.layer(name) for name in workers])
    labelling = analysis.base.labelling

    def decides(data: Capability) -> bool:
        labels = {label for label in labelling.labels if label.contains(data)} | labelling.of_strangers
        carried = Carried(frozenset(labels), sends=True)
        verdict = decide(row.shape.raised, row.shape.declared, authority, carried)
        return any(reason.flow for reason in verdict.reasons)

    return all(map(decides, private))


def _names(leg: str) -> tuple[str, ...]:
    return (*LEGS[leg], SHELL) if leg == "private data" else LEGS[leg]


def _mildest(rows: Iterable[Row], leg: str) -> Row | None:
    return min(
        (row for row in rows if _brings(leg, row.capability) or _is_read_in_a_shell(leg, row)),
        key=lambda row: (STRICTNESS[row.decision], _rank(leg, row), len(row.path), str(row.capability)),
        default=None,
    )


def _brings(leg: str, capability: Capability) -> bool:
    return _is_of(capability, LEGS[leg]) and not (leg == "a way out" and capability.name in ONLY_READS)


def _rank(leg: str, row: Row) -> int:
    """A sort key, surest way out first: a sender or any command, then a server that may be local; other legs tie."""
    if leg != "a way out" or _is_of(row.capability, ("net",)) or _is_free_shell(row):
        return 0
    return 1 if _is_of(row.capability, ("mcp.call",)) else 2


def _is_read_in_a_shell(leg: str, row: Row) -> bool:
    return leg == "private data" and _is_free_shell(row)


def _brought(leg: str, row: Row) -> str:
    return "`fs.read` through the shell" if _is_read_in_a_shell(leg, row) else f"`{row.capability}`"


def _is_free_shell(row: Row) -> bool:
    return row.capability.name == SHELL and row.assurance == "open"


def is_in_a_shell(capability: Capability) -> bool:
    """Whether any command has a capability."""
    return _is_of(capability, IN_A_SHELL)


def _is_of(capability: Capability, names: Sequence[str]) -> bool:
    return any(Capability(name).covers_name(capability.name) for name in names)


def path_text(path: Iterable[Hop]) -> str:
    """A path in words: `triage > releaser > shell`."""
    return " > ".join(hop.name for hop in path)


def edges(path: Sequence[Hop]) -> list[Related]:
    """The places that allow each step of a path."""
    return [
        Related(hop.use.at.location, f"`{caller.name}` uses `{hop.name}`")
        for caller, hop in pairwise(path)
        if hop.use
    ]
