"""Flows through a foreign project: from a stranger's words to a sender of private data, with nobody asked.

Two guesses make no flow. The tools of an unknown MCP server are assumed to return a stranger's words and to send; so in
one flow it is the source or the effect, and the other is known.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, place
from llmdo.foreign.building import named
from llmdo.foreign.known_servers import DATA, known_server
from llmdo.policy.authority import Capability, gravity
from llmdo.policy.vocabulary import LEGS, ONLY_READS
from llmdo.reach.flows import Unasked, leg_text, unasked
from llmdo.reach.risks import SHELL, may_meet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Grant
    from llmdo.graph.toolset import Toolset
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.flows import FlowRow
    from llmdo.reach.rows import Hop
    from llmdo.reach.shapes import Shape
    from llmdo.syntax.document import Place

SERVER = "mcp.call"
SEARCH = "net.search"
"""A search is seen by those who run it, not by the authors of the pages found."""

OPEN_SERVERS = frozenset(
    {
        "brave", "browser", "browserbase", "chrome", "crawl", "discord", "duckduckgo", "exa", "fetch", "firecrawl",
        "github", "gitlab", "gmail", "imap", "jira", "linear", "mail", "outlook", "perplexity", "playwright",
        "puppeteer", "reddit", "rss", "scrape", "search", "selenium", "sentry", "slack", "tavily", "telegram",
        "twitter", "web", "youtube", "zendesk",
    }
)  # fmt: skip
"""Words in a server's name or start that show that it brings anybody's text, and sends."""

_WORD = re.compile(r"[a-z]+")
_NUMBERED = re.compile(r" \(\d+\)$")
_UNKNOWN = re.compile(r"x\..+\.any")

_SENT, _FETCHED, _WEAK = range(3)
"""Words that anybody sends; pages that an agent chooses to read; words read after a question or by unknown tools."""
_QUESTIONS = (
    (_SENT, True, False),
    (_SENT, False, False),
    (_FETCHED, True, False),
    (_FETCHED, False, False),
    (_WEAK, True, False),
    (_FETCHED, True, True),
)
"""The surest flow first: the highest level of words that counts, whether the way out has to be known, and whether
unknown servers may read private data."""


def gravest_flows(project: Foreign) -> dict[str, FlowRow]:
    """The gravest flow below each entry on which nobody is asked, by the entry's name."""
    agents = named(project.team.agents)
    may_flow = may_meet(project.analysis)
    tools = _Tools(project)
    questions = [
        unasked(
            project.analysis,
            Unasked(
                brings=partial(tools.brings, level, runs_in),
                private=tuple(map(Capability, (*LEGS["private data"], DATA))),
                ends=partial(tools.ends, runs_in, is_known=is_known),
                may_read=tools.may_read if may_read else None,
            ),
        )
        for level, is_known, may_read in _QUESTIONS
        for runs_in in tools.places
    ]
    gravest: dict[str, FlowRow] = {}
    for entry in project.graph.entries.values():
        if agents[entry.name].inherits or not (tools.has_servers or may_flow(entry)):
            continue
        answers = (rows_of(entry) for rows_of in questions)
        if rows := next(filter(None, answers), ()):
            gravest[entry.name] = min(rows, key=tools.rank)
    return gravest


class _Tools:
    """The tools of a project, each as a source of a stranger's words and as a way out."""

    def __init__(self, project: Foreign) -> None:
        self._known = {name for name, each in project.graph.toolsets.items() if _is_open_server(name, each)}
        servers = {name: each.server for name, each in project.graph.toolsets.items() if each.server}
        self.has_servers = bool(servers)
        """Whether private data may be read otherwise than by capabilities of our vocabulary."""
        self._unknown = {name for name, server in servers.items() if not known_server(server)} - self._known
        self._runs_in: dict[tuple[str, str], set[str]] = {}
        for agent in project.team.agents:
            for grant in agent.grants:
                self._runs_in.setdefault((grant.toolset, grant.tool), set()).add(grant.runs_in)
        places = {runs_in for each in self._runs_in.values() for runs_in in each}
        self.places = sorted(places - {""}) or [""]
        """The places in which agents run, each asked about alone: words read in one steer no run in another."""

    def brings(self, level: int, runs_in: str, shape: Shape, decision: Decision) -> bool:
        """Whether the words that a call may bring are of the level, or of one before it."""
        is_weak = decision != "allowed" or self._is_guess(shape)
        own = _WEAK if is_weak else _FETCHED if _connects(shape) else _SENT
        return level >= own and self._is_in(runs_in, shape)

    def may_read(self, shape: Shape) -> bool:
        """Whether a call is one of a server of which nothing is known."""
        return shape.toolset in self._unknown

    def ends(self, runs_in: str, shape: Shape, *, is_known: bool) -> bool:
        """Whether a call is a way out, or may be one; with `is_known`, only a known one."""
        name = shape.row.name
        if name in {*ONLY_READS, SEARCH} or not any(
            Capability(out).covers_name(name) for out in LEGS["a way out"]
        ):
            return False
        is_confined = Capability("proc.exec").covers_name(name) and shape.assurance != "open"
        return not is_confined and not (is_known and self._is_guess(shape)) and self._is_in(runs_in, shape)

    def rank(self, row: FlowRow) -> tuple[object, ...]:
        """A sort key: first sure senders and any command, then a server, then listed commands."""
        name = row.capability.name
        kind = 0 if name == SHELL or Capability("net").covers_name(name) else 1 if name == SERVER else 2
        return kind, row.capability.scope is not None, gravity(row.capability)

    def _is_guess(self, shape: Shape) -> bool:
        """Whether a call is one of an unknown server or tool."""
        is_unknown = any(each.name == SERVER or _UNKNOWN.fullmatch(each.name) for each in shape.declared)
        return is_unknown and shape.toolset not in self._known

    def _is_in(self, runs_in: str, shape: Shape) -> bool:
        toolset = _NUMBERED.sub("", shape.toolset)
        return any(
            not {"", runs_in}.isdisjoint(self._runs_in.get((toolset, tool), {""}))
            for tool in (shape.tool, *shape.other_tools)
        )


def _connects(shape: Shape) -> bool:
    return any(Capability("net").covers_name(each.name) for each in shape.declared)


def _is_open_server(name: str, toolset: Toolset) -> bool:
    server = toolset.server
    words = (name, server.command or "", *server.args, server.url or "") if server else (name,)
    return not OPEN_SERVERS.isdisjoint(_WORD.findall(" ".join(words).lower()))


def condition(project: Foreign, row: FlowRow) -> str:
    """A clause for a flow whose private data a server may read of which nothing is known; else nothing."""
    toolset = project.graph.toolsets.get(row.private[-1].name) if row.private else None
    is_guess = toolset and toolset.server and known_server(toolset.server) is None
    return f" if `{excerpt(row.private[-1].name)}` reads any" if is_guess else ""


def places(project: Foreign, row: FlowRow) -> list[Related]:
    """The places that allow each leg."""
    legs = (
        ("a stranger's words", row.source, row.source_tool, False),
        ("private data", row.private, row.private_tool, False),
        (f"`{row.capability}`", row.path, row.tool, True),
    )
    return [
        Related(at.location, f"{what}: `{leg_text(path, tool)}`")
        for what, path, tool, is_ruled in legs
        if (at := _place(project, path, tool, is_ruled=is_ruled))
    ]


def hint(project: Foreign, row: FlowRow) -> str:
    """The lines on which the two legs end, with a change for each that breaks this flow."""
    return " or ".join(dict.fromkeys(_changes(project, row)))


def _changes(project: Foreign, row: FlowRow) -> Iterator[str]:
    agents = named(project.team.agents)
    for path, tool, is_ruled in ((row.source, row.source_tool, False), (row.path, row.tool, True)):
        given, at = _grant(project, path, tool), _place(project, path, tool, is_ruled=is_ruled)
        if given is None or at is None:
            continue
        agent = agents[path[-2].name]
        name = f"`{excerpt(tool)}`"
        key = _key(at)
        if given.narrower:
            change = given.narrower
        elif not agent.path and len(path) > 2 and path[1].use:
            change, at = f"keep `{path[0].name}` from calling `{agent.name}`", path[1].use.at
        elif is_ruled and given.rule_at:
            change = f"tighten {key or 'the rule'}, which allows {name}"
        elif agent.path and (agent.inherits or given.is_default):
            change = agent.narrower
        elif not key:
            change = f"deny {name}"
        else:
            change = f"take {name} out of {key}" if _lists(at, tool) else f"change {key}, which gives {name}"
        yield f"{change} ({place(at.location)})"


def _lists(at: Place, tool: str) -> bool:
    """Whether a tool is an item of the value at a place, or of a value around it."""
    return at.of_key or any(isinstance(step, int) for step in at.route) or tool in str(at.data)


def _key(at: Place) -> str:
    """The key of the table or list around a place; empty at the top of a file, and in a script."""
    route = [*at.route]
    items = [number for number, step in enumerate(route) if isinstance(step, int)]
    route = route[: items[-1]] if items else route[:-1] if at.of_key else route
    return f"`{'.'.join(map(str, route))}`" if route and at.document.data else ""


def _place(project: Foreign, path: tuple[Hop, ...], tool: str, *, is_ruled: bool) -> Place | None:
    """The place that gives the tool at the end of a leg; with `is_ruled`, the rule that allows it."""
    if given := _grant(project, path, tool):
        caller = named(project.team.agents)[path[-2].name]
        if not caller.path and len(path) > 2 and path[1].use:  # built in: what calls it is what a file says
            return path[1].use.at
        return (given.rule_at if is_ruled else None) or given.at
    use = path[-1].use if path else None
    return use.at if use else None


def _grant(project: Foreign, path: tuple[Hop, ...], tool: str) -> Grant | None:
    """The grant of the tool at the end of a leg."""
    if len(path) < 2:
        return None
    agent = named(project.team.agents).get(path[-2].name)
    toolset = _NUMBERED.sub("", path[-1].name)
    grants = [
        each for each in (agent.grants if agent else ()) if (each.toolset, each.tool) == (toolset, tool)
    ]
    return min(grants, key=lambda each: each.decision != "allowed", default=None)
