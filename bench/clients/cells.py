"""Cells of agent by tool: what a client did, what llmdo says of it, and whether both are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo import foreign
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Outcome = Literal["runs", "asks", "shown", "denied", "absent"]
"""What came of a call; absent is a tool that no request showed, and shown one that was not tried."""
Kind = tuple[str, Outcome, Outcome]
"""A call, what came of it, and what llmdo says."""
_ORDER: tuple[Outcome, ...] = ("runs", "asks", "shown", "denied", "absent")
_DECISIONS: dict[str, Outcome] = {"allowed": "runs", "needs_approval": "asks", "blocked": "denied"}


@dataclass(frozen=True, slots=True)
class Probe:
    """A harmless call, and the tool of llmdo's table that it is of."""

    tool: str
    called: str
    """The name by which the client shows it."""
    arguments: Mapping[str, object]
    """A path with AGENT in it is there once the call ran."""
    capability: str
    """What it raises."""
    part: str | None = None
    """The same as a part that a rule may name."""

    @property
    def name(self) -> str:
        """The name of the cell."""
        return f"{self.tool} {self.part or self.capability}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One agent and one call."""

    project: str
    agent: str
    call: str
    seen: Outcome
    claim: Outcome

    @property
    def of(self) -> str:
        """The project and the agent."""
        return f"{self.project}, {self.agent}"

    @property
    def kind(self) -> Kind:
        """What it has in common with those of other agents."""
        return self.call, self.seen, self.claim

    @property
    def is_equal(self) -> bool:
        """Whether llmdo says what was seen: a tool that is not shown is one that is denied."""
        if self.seen == "shown":
            return self.claim in ("runs", "asks")
        return self.seen == self.claim or {self.seen, self.claim} == {"denied", "absent"}


def together(probes: Sequence[Probe]) -> Iterator[tuple[Probe, list[Probe]]]:
    """The calls that are one cell, each with those whose mildest outcome is the cell's.

    Of a tool and a part of it llmdo tells the part only where that is milder.
    """
    for name in dict.fromkeys(probe.name for probe in probes):
        first = next(probe for probe in probes if probe.name == name)
        whole = f"{first.tool} {first.capability}"
        yield first, [probe for probe in probes if probe.name in (name, whole)]


def mildest(outcomes: Iterable[Outcome]) -> Outcome:
    """The mildest of outcomes; absent if there is none."""
    return min(outcomes, key=_ORDER.index, default="absent")


class Claims:
    """What llmdo says of the agents of a project."""

    def __init__(self, form: str, folder: Path) -> None:
        team = foreign.read(form, folder, may_be_empty=True).team
        self._agents = {agent.name: agent for agent in team.agents}

    @property
    def agents(self) -> frozenset[str]:
        """The names of all agents."""
        return frozenset(self._agents)

    def of(self, agent: str, probe: Probe) -> Outcome:
        """The mildest decision about calls such as this one."""
        caller = self._agents.get(agent)
        return mildest(
            _DECISIONS[grant.decision]
            for grant in (caller.grants if caller else ())
            for capability in grant.capabilities
            if probe.tool in (grant.tool, grant.tool.partition("/")[0], grant.toolset)  # VS Code's: in sets
            and str(capability) in (probe.capability, probe.part)
        )

    def calls(self, agent: str, other: str) -> Outcome:
        """The decision about calling another agent."""
        caller, called = self._agents.get(agent), self._agents.get(other)
        if not caller or not called:
            return "absent"
        decisions = [_DECISIONS[call.decision] for call in caller.calls if call.name == other]
        if caller.everyone and called.is_callable:
            decisions.append("runs")
        return mildest(decisions)


def table(cells: Sequence[Cell], known: Mapping[Kind, str]) -> Iterator[str]:
    """The lines that say how many cells there are, and each cause of a difference with an example."""
    different = [cell for cell in cells if not cell.is_equal]
    yield f"{len(cells)} cells, {len(cells) - len(different)} equal, {len(different)} differing"
    for kind, alike in _alike((cell.kind, cell) for cell in different):
        call, seen, claim = kind
        why = known.get(kind, "not explained")
        yield f"  {len(alike)} x {call}: {seen}, llmdo says {claim} ({alike[0].of}): {why}"


def changes(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[str]:
    """The lines that say in which cells another version of a client does something else."""
    now = {(cell.of, cell.call): cell.seen for cell in after}
    changed = [
        ((cell.call, cell.seen, seen), cell)
        for cell in before
        if (seen := now.get((cell.of, cell.call), "absent")) != cell.seen
    ]
    yield f"{len(changed)} of {len(before)} cells are others"
    for (call, seen, later), alike in _alike(changed):
        yield f"  {len(alike)} x {call}: {seen} before, {later} now ({alike[0].of})"


def _alike(cells: Iterable[tuple[Kind, Cell]]) -> list[tuple[Kind, list[Cell]]]:
    """Cells by their kinds, the most frequent kind first."""
    kinds: dict[Kind, list[Cell]] = {}
    for kind, cell in cells:
        kinds.setdefault(kind, []).append(cell)
    return sorted(kinds.items(), key=lambda item: -len(item[1]))
