"""One page of Markdown about a foreign project, to post among its people: the most important first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import place, shown
from llmdo.foreign import not_enforced
from llmdo.foreign.legs import where as where_given
from llmdo.graph.start import STARTERS, events_by_starter
from llmdo.policy.authority import STRICTNESS, gravity
from llmdo.render import reach
from llmdo.render.amounts import counted
from llmdo.render.foreign import MANY, starters
from llmdo.render.markdown import code, with_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.foreign import Foreign
    from llmdo.foreign.summary import Cause, Defaults, ProjectSummary
    from llmdo.graph.start import Starter
    from llmdo.reach import Row
    from llmdo.render.foreign import Alike

PLACES = 3  # of one cause
CAUSES = 12  # that are shown at once; the rest can be opened
NEVER_READ = (
    "what git ignores, links, files of more than a megabyte, and a person's configuration outside this folder"
)
"""Files that are not read of any project."""
OF_ZIZMOR = "whether actions are pinned, and what a template puts into a script: that is the job of zizmor"
"""The parts of workflows that are left to another tool."""


def page(project: Foreign, summary: ProjectSummary, groups: Sequence[Alike]) -> str:
    """The page: the headline, the findings, the files read and not read, tools' additions, and who reaches what."""
    first, *others = summary.headline
    lines = [
        f"## {with_code(_sentence(first))}",
        "",
        " ".join(f"{with_code(_sentence(each))}." for each in (*others, not_enforced(project.team.format))),
        *_causes("Findings, the worst first", summary.causes),
        *_by_clients(project),
        *_read(project, summary),
        *_by_default(summary.defaults),
        *_capabilities(project, groups),
        *_groups(groups),
    ]
    return "\n".join(lines) + "\n"


def where(cause: Cause) -> tuple[tuple[str, ...], int]:
    """The first places of a cause, and the number of the others."""
    places = tuple(dict.fromkeys(place(finding.at) for finding in cause.findings))
    return places[:PLACES], len(places) - len(places[:PLACES])


def reads_workflows(project: Foreign) -> bool:
    """Whether workflows of GitHub were read."""
    return any(team.format in ("gh-aw", "github-actions") and team.agents for team in project.teams)


def by_default(defaults: Defaults) -> str:
    """The capabilities that a product gives to agents beyond their files, and the agents that it brings along."""
    words = [f"`{defaults.format}`"]
    if defaults.agents:
        free = [f"`{each}`" for each, decision in defaults.decisions if decision == "allowed"]
        gated = [f"`{each}`" for each, decision in defaults.decisions if decision == "needs_approval"]
        lists = [", ".join(free) + " without a question"] if free else []
        lists += [", ".join(gated) + " after a question"] if gated else []
        agents = counted(defaults.agents, "agent")
        words.append(f"gives {agents} what their files do not name: {'; '.join(lists) or 'nothing'}")
    if defaults.brought:
        names = ", ".join(f"`{name}`" for name in defaults.brought[:MANY])
        words.append(
            f"{'and ' * bool(defaults.agents)}brings along {names}{_more(len(defaults.brought) - MANY)}"
        )
    return " ".join(words)


def formats(project: Foreign) -> list[str]:
    """The files read of each format, without formats that files only seem to be of."""
    numbers = {team.format: sum(bool(agent.path) for agent in team.agents) for team in project.teams}
    return [
        f"`{team.format}`: {counted(numbers[team.format], 'agent')} in {counted(len(team.files), 'file')}"
        for team in project.teams
        if team.agents or team.files
    ]


def starters_of_agents(project: Foreign) -> list[str]:
    """A line for each kind of people who may start agents without a command, the most people first."""
    by_people: dict[Starter, dict[str, list[str]]] = {by: {} for by in reversed(STARTERS)}
    for name, entry in project.graph.entries.items():
        for people, events in events_by_starter(entry.started_by).items():
            by_people[people][name] = events
    return [
        f"{people}: "
        + ", ".join(f"{name} ({', '.join(events)})" for name, events in [*agents.items()][:MANY])
        + _more(len(agents) - MANY)
        for people, agents in by_people.items()
        if agents
    ]


def by_clients(project: Foreign) -> tuple[list[tuple[str, str]], int]:
    """The events at which clients run or send something by themselves, each with the command; the number of others."""
    agents: dict[tuple[str, str], list[str]] = {}
    for name, agent in project.agents.items():
        for event in agent.events:
            agents.setdefault((event.toolset, event.tool), []).append(name)
    lines = [
        (f"{event} of {', '.join(names[:PLACES])}{_more(len(names) - PLACES)}", command)
        for (event, command), names in agents.items()
    ]
    return lines[:CAUSES], len(lines) - len(lines[:CAUSES])


def _by_clients(project: Foreign) -> Iterator[str]:
    lines, more = by_clients(project)
    if lines:
        yield from ("", "### What clients run by themselves, whatever a model chooses", "")
        yield from (f"- {code(event)}: {code(command)}" for event, command in lines)
        if more:
            yield f"- {more:,} more"


def _causes(title: str, causes: Sequence[Cause]) -> Iterator[str]:
    yield from ("", f"### {title}", "")
    if not causes:
        yield "None."
    for number, cause in enumerate(causes, 1):
        if number == CAUSES + 1:
            yield from (
                "",
                f"<details><summary>{counted(len(causes) - CAUSES, 'more finding')}</summary>",
                "",
            )
        yield from _cause(number, cause)
    if len(causes) > CAUSES:
        yield from ("", "</details>")


def _cause(number: int, cause: Cause) -> Iterator[str]:
    indent = " " * (len(str(number)) + 2)
    gate = f" **{cause.gate}**" if cause.gate else ""
    yield f"{number}. {with_code(cause.sentence)} ({cause.first.code}){gate}"
    for way in cause.ways:
        yield f"{indent}- {with_code(way)}"
    places, more = where(cause)
    yield f"{indent}- at {', '.join(map(code, places))}{_more(more)}"
    if cause.hint:
        yield f"{indent}- hint: {with_code(cause.hint)}"


def _read(project: Foreign, summary: ProjectSummary) -> Iterator[str]:
    yield from ("", "### What was read", "")
    yield from (f"- {with_code(line)}" for line in formats(project) or ["nothing"])
    yield from ("", "### What was not read", "")
    for cause in summary.unread:
        places, more = where(cause)
        yield f"- {with_code(cause.sentence)} ({cause.first.code}): {', '.join(map(code, places))}{_more(more)}"
    yield f"- {NEVER_READ}"
    if reads_workflows(project):
        yield f"- {OF_ZIZMOR}"


def _by_default(defaults: Iterable[Defaults]) -> Iterator[str]:
    lines = [f"- {with_code(by_default(each))}" for each in defaults]
    if lines:
        yield from ("", "### What these tools add by default", "", *lines)


class Reached(NamedTuple):
    """A line of the table of what can be reached."""

    capability: str
    agents: int
    unasked: int
    best: Row
    """The mildest and shortest way to it."""


def reached(project: Foreign, groups: Iterable[Alike]) -> Iterator[Reached]:
    """What agents can reach, the worst first; a way of an agent that is in a file before one of a product's own."""
    in_files = {name for name, agent in project.agents.items() if agent.path}
    rows = [(row, len(group.names)) for group in groups for row in group.rows if row.decision != "blocked"]
    rows.sort(key=lambda pair: (gravity(pair[0].capability), pair[0].elsewhere))
    for name, group in groupby(rows, key=lambda pair: reach.capability(pair[0])):
        pairs = list(group)
        every = sum(number for _, number in pairs)
        free = sum(number for row, number in pairs if row.decision == "allowed")
        best = min(
            (row for row, _ in pairs),
            key=lambda row: (STRICTNESS[row.decision], row.path[0].name not in in_files, len(row.path)),
        )
        yield Reached(name, every, free, best)


def _capabilities(project: Foreign, groups: Sequence[Alike]) -> Iterator[str]:
    yield from ("", "### What can be reached", "")
    yield "| capability | agents and sessions | of these without a question | shortest path | place |"
    yield "| --- | ---: | ---: | --- | --- |"
    for line in reached(project, groups):
        way, at = code(reach.path(line.best)), code(where_given(project, line.best))
        yield f"| {code(line.capability)} | {line.agents} | {line.unasked} | {way} | {at} |"


def _groups(groups: Sequence[Alike]) -> Iterator[str]:
    yield from ("", "<details><summary>Agent by agent</summary>", "")
    yield from ("| agents | reach |", "| --- | --- |")
    for group in groups:
        reached = ", ".join(
            f"{code(reach.capability(row))}{'' if row.decision == 'allowed' else ' (asks)'}"
            for row in group.rows
            if row.decision != "blocked"
        )
        names = ", ".join(map(code, group.names[:MANY])) + _more(len(group.names) - MANY)
        started = f", started by {shown(starters(group.starts))}" if group.starts else ""
        yield f"| {names}{started} | {reached or 'nothing'} |"
    yield from ("", "</details>")


def _more(number: int) -> str:
    return f" and {number:,} more" if number > 0 else ""


def _sentence(text: str) -> str:
    """A text with a capital."""
    return shown(text[:1].upper() + text[1:])
