"""A scan: the page of a foreign project, drawn for a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from llmdo.base.codes import SEVERITIES
from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document
from llmdo.foreign import legs, not_enforced
from llmdo.foreign.building import named
from llmdo.foreign.summary import FLOWS, Cause
from llmdo.render import reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.colour import Screen, Shade
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.jsonable import Shapes
    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.reach.flows import FlowRow
    from llmdo.render.foreign import Alike
    from llmdo.services.foreign import ScanOutcome
    from llmdo.services.own_teams import OwnTeam

Form = Literal["text", "markdown", "json"]

WIDTH = 100  # columns, where nobody knows how wide the screen is
INDENT = " " * 4
MOST_TEAMS = 3  # of llmdo, before what is said of others
MOST_REACHED = 15  # lines of the table
MANY_SCOPES = 3  # lines about one capability: more are one


def rendered(outcome: ScanOutcome, form: Form, screen: Screen = PAPER) -> str:
    """The scan in a format; as text it is drawn for the screen."""
    if form == "text":
        return "\n".join(_text(outcome, screen)) + "\n"
    if form == "json":
        return _json(outcome)
    from llmdo.render.page import page

    teams = "".join(f"* {line}\n" for team in outcome.own for line in [_own(team)])
    teams = f"## Teams of llmdo\n\n{teams}" if teams else ""
    if teams and not outcome.project.team.agents:
        return teams
    read = page(outcome.project, outcome.summary, _groups(outcome.project))
    return f"{read}\n{teams}" if teams else read


def _groups(project: Foreign) -> list[Alike]:
    from llmdo.render.foreign import alike

    return alike((entry, project.analysis.of(entry)) for entry in project.graph.entries.values())


def _text(outcome: ScanOutcome, screen: Screen) -> Iterator[str]:
    from llmdo.render import page

    project, summary = outcome.project, outcome.summary
    for team in outcome.own[:MOST_TEAMS]:
        yield from _folded(_own(team), screen, "")
    if (rest := len(outcome.own) - MOST_TEAMS) > 0:
        yield f"and {rest:,} more {'team' if rest == 1 else 'teams'} of llmdo: --format markdown has them all"
    if outcome.own and not project.team.agents:
        return
    for sentence in summary.headline:
        yield from (screen.paint("strong", line) for line in _folded(sentence, screen, ""))
    yield screen.paint("dim", shown(not_enforced(project.team.format)))
    yield from _title("findings, the worst first", screen)
    for number, cause in enumerate(summary.causes[: page.CAUSES], 1):
        yield from _cause(number, cause, screen)
    if (more := len(summary.causes) - page.CAUSES) > 0:
        yield f"  and {more} more: --format markdown has them all"
    if not summary.causes:
        yield "  none"
    yield from _by_events(project, screen)
    yield from _title("reached, the worst first", screen)
    yield from _reached(project, screen)
    yield from _title("read", screen)
    yield from (f"  {shown(line).replace('`', '')}" for line in page.formats(project) or ["nothing"])
    yield from _title("not read", screen)
    for cause in summary.unread:
        places, rest = page.where(cause)
        more_of = f" and {rest:,} more" if rest else ""
        yield from _folded(f"{cause.sentence}: {', '.join(places)}{more_of}", screen, "  ")
    yield from _folded(page.NEVER_READ, screen, "  ")
    if page.reads_workflows(project):
        yield from _folded(page.OF_ZIZMOR, screen, "  ")
    if summary.defaults:
        yield from _title("added by default", screen)
        for each in summary.defaults:
            yield from _folded(page.by_default(each), screen, "  ")


def _own(team: OwnTeam) -> str:
    """A team of llmdo, the worst that it can do, and the number of findings about it, in one sentence."""
    agents = "1 agent" if team.agents == 1 else f"{team.agents:,} agents"
    words = [f"`{team.path}`: the team `{team.name}` of llmdo with {agents}, enforced by `llmdo run`"]
    if reach := team.worst:
        question = "without a question" if reach.decision == "allowed" else "after a question"
        words.append(f"the worst that it can do is `{reach.capability}`, {question}, by `{reach.way}`")
    numbers = Counter(finding.severity for finding in team.findings)
    listed = ", ".join(
        f"{numbers[each]} {each}{'s' * (numbers[each] > 1)}" for each in SEVERITIES if numbers[each]
    )
    words.append(f"`llmdo check {team.path}` has {listed or 'no findings'}")
    return "; ".join(words)


def _by_events(project: Foreign, screen: Screen) -> Iterator[str]:
    """The starts of agents, and what clients run, without a choice of a person or a model."""
    from llmdo.render import page

    if people := page.starters_of_agents(project):
        yield from _title("started by", screen)
        for words in people:
            yield from _folded(words, screen, "  ")
    lines, more = page.by_clients(project)
    if lines:
        yield from _title("run by clients themselves, whatever a model chooses", screen)
        for event, command in lines:
            yield from _folded(f"{event}: {command}", screen, "  ")
        if more:
            yield f"  and {more:,} more: --format json has them all"


def _title(words: str, screen: Screen) -> Iterator[str]:
    yield ""
    yield screen.paint("strong", words)


def _reached(project: Foreign, screen: Screen) -> Iterator[str]:
    """A line for each capability: the agents that have it, those of them that nobody is asked about, and a place."""
    from llmdo.render import page

    lines = [("capability", "agents", "unasked", "place")]
    for name, group in groupby(
        page.reached(project, _groups(project)), key=lambda line: line.best.capability.name
    ):
        first, *others = list(group)
        if len(others) < MANY_SCOPES:
            named = [(line.capability, line) for line in (first, *others)]
        else:
            named = [
                (
                    f"{name}, {len(others) + 1} {_scopes(name)}",
                    max((first, *others), key=lambda line: line.agents),
                )
            ]
        lines += [
            (words, f"{line.agents:,}", f"{line.unasked:,}", legs.where(project, line.best))
            for words, line in named
        ]
    rows = lines[: MOST_REACHED + 1]
    width = max(len(shown(row[0])) for row in rows)
    for number, (capability, agents, unasked, at) in enumerate(rows):
        line = f"  {shown(capability):<{width}}  {agents:>6}  {unasked:>7}  {shown(at)}"
        yield line if number else screen.paint("dim", line)
    if len(lines) > len(rows):
        yield f"  and {len(lines) - len(rows)} more: --format markdown has them all"


def _scopes(capability: str) -> str:
    return {"net": "hosts", "fs": "paths"}.get(capability.partition(".")[0], "parts")


def _cause(number: int, cause: Cause, screen: Screen) -> Iterator[str]:
    from llmdo.render import page

    first, *rest = _folded(cause.sentence, screen, INDENT)
    yield f"{screen.paint(_shade(cause), f'{number:>2}.')} {first[len(INDENT) :]}"
    yield from rest
    for way in cause.ways:
        yield from (screen.paint("dim", line) for line in _folded(way, screen, INDENT))
    places, more = page.where(cause)
    gate = f", {cause.gate}" if cause.gate else ""
    more_of = f" and {more:,} more" if more else ""
    at = f"{cause.first.code}{gate}, at {', '.join(places)}{more_of}"
    yield from (screen.paint("dim", line) for line in _folded(at, screen, INDENT))
    if cause.hint:
        yield from _folded(f"hint: {cause.hint}", screen, INDENT)


def _shade(cause: Cause) -> Shade:
    if cause.first.severity == "note":
        return "note"
    return "bad" if cause.gate == "without a question" or cause.first.severity == "error" else "asks"


def _folded(text: str, screen: Screen, indent: str) -> list[str]:
    """A text in lines that fit the screen, each indented; a longer word has its own."""
    room = (screen.columns or WIDTH) - len(indent)
    lines = [""]
    for word in shown(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and len(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [f"{indent}{line}" for line in lines]


def _json(outcome: ScanOutcome) -> str:
    """The scan in the form `llmdo.scan/1`."""
    teams = [team for team in outcome.project.teams if team.agents or team.files]
    formats = [
        {"format": team.format, "agents": sum(bool(agent.path) for agent in team.agents), "files": team.files}
        for team in teams
    ]
    head = {"enforced": False, "headline": outcome.summary.headline, "agents": outcome.summary.agents}
    started = [
        {"agent": name, "starts": entry.started_by}
        for name, entry in outcome.project.graph.entries.items()
        if entry.started_by
    ]
    run = [
        {
            "agent": name,
            "event": event.toolset,
            "command": event.tool,
            "capabilities": event.capabilities,
            **_of(event.at.location),
        }
        for name, agent in named(outcome.project.team.agents).items()
        for event in agent.events
    ]
    shapes: Shapes = {**reach.SHAPES, Cause: partial(_cause_data, flows=outcome.flows)}
    more = {"teams": outcome.own, "formats": formats, "started": started, "by_clients": run}
    return document("llmdo.scan/1", head, more, outcome.summary, shapes=shapes)


def _cause_data(cause: Cause, flows: Mapping[str, FlowRow]) -> object:
    """A cause with its places, and the flow of each agent, which the findings do not hold."""
    first = cause.first
    agents = (each.subject or "" for each in cause.findings)
    of_agents = ({"agent": agent, "flow": flows[agent]} for agent in agents)
    return {
        "code": first.code,
        "name": first.name,
        "severity": first.severity,
        "number": cause.number,
        "gate": cause.gate,
        "message": cause.sentence,
        "ways": cause.ways,
        "hint": cause.hint,
        "places": [_place(finding) for finding in cause.findings],
        **({"flows": of_agents} if first.code in FLOWS else {}),
    }


def _place(finding: Diagnostic) -> object:
    return {"agent": finding.subject, **_of(finding.at)}


def _of(at: Location) -> dict[str, object]:
    """A place as keys of JSON."""
    span = at.span
    return {
        "path": at.path,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }
