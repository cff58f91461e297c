"""The reach of foreign agents, grouped if alike; the table of a format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.values import dataclass, replace
from llmdo.foreign import not_enforced
from llmdo.foreign.summary import EACH
from llmdo.graph.start import events_by_starter
from llmdo.render import reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.foreign.lines import Line
    from llmdo.graph.resolved import Entry
    from llmdo.graph.start import Start
    from llmdo.reach import Row

MANY = 8  # names of agents in one line


@dataclass(frozen=True, slots=True)
class Alike:
    """Agents that reach the same in the same way."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    """Of the first of them."""
    starts: tuple[Start, ...] = ()

    @property
    def shared(self) -> tuple[Row, ...]:
        """The rows as shown for all of them: the first name of a path represents each."""
        if len(self.names) == 1:
            return self.rows
        return tuple(row.along((replace(row.path[0], name=EACH), *row.path[1:])) for row in self.rows)


def alike(reached: Iterable[tuple[Entry, tuple[Row, ...]]]) -> list[Alike]:
    """The agents, grouped by equal reach and equal starts; in the order of the first names."""
    groups: dict[object, tuple[list[Entry], tuple[Row, ...]]] = {}
    for entry, rows in reached:
        groups.setdefault((entry.started_by, *map(_key, rows)), ([], rows))[0].append(entry)
    return [
        Alike(tuple(entry.name for entry in entries), rows, entries[0].started_by)
        for entries, rows in groups.values()
    ]


def _key(row: Row) -> object:
    hops = tuple(hop.name for hop in row.path[1:])
    return row.capability, row.elsewhere, row.decision, row.assurance, row.tool, hops


def text(form: str, groups: Iterable[Alike]) -> str:
    """The reach of all agents, a table for each group."""
    blocks = [not_enforced(form) + "\n"]
    for group in groups:
        started = f", started by {shown(starters(group.starts))}" if group.starts else ""
        blocks.append(f"{listed(group.names)}{started}:\n{reach.table(group.shared)}")
    return "\n".join(blocks)


def starters(starts: Iterable[Start]) -> str:
    """The people who may start an agent, the most of them first, each with their events."""
    by = events_by_starter(starts)
    return " and ".join(f"{people} ({', '.join(events)})" for people, events in by.items())


def listed(names: Sequence[str]) -> str:
    """The names of agents in one line, of many only the first."""
    if len(names) == 1:
        return shown(names[0])
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"{len(names)} agents alike: {', '.join(map(shown, names[:MANY]))}{more}"


def table(lines: Iterable[Line]) -> str:
    """The capabilities and the default decision of each tool, with the source of each line."""
    cells = [("tool", "can", "decision", "assurance", "source")]
    cells += [
        (line.tool, ", ".join(line.capabilities) or "nothing", line.decision, line.assurance, line.source)
        for line in lines
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    drawn = ("  ".join([*map(str.ljust, row, widths), row[4]]) for row in cells)
    return "".join(f"{line}\n" for line in drawn)
