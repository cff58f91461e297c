"""Flows through a foreign project: from a stranger's words to a sender of private data, with nobody asked.

A way out is known to be one: an unknown server may send, but nobody can be told to take it away for that. An unknown
server that may bring a stranger's words is asked about apart, so that a guess is never told as a fact.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from llmdo.base.values import replace
from llmdo.foreign.building import EVENTS
from llmdo.foreign.hosts import FETCH, FORGES, SEARCH, is_below, is_writable
from llmdo.foreign.known_servers import DATA, known_server, reaches_any_host
from llmdo.foreign.lines import ANYWHERE_ON_GITHUB, WRITES_THERE, brings_page, changed_on_github
from llmdo.foreign.picking import flows_apart
from llmdo.foreign.plainest import plainest
from llmdo.foreign.running import changes_files, runs_files
from llmdo.foreign.server_words import (
    ONLY_SEARCH,
    OPEN_SERVERS,
    PAGES,
    own_name,
    says_making,
    says_reading,
    says_search,
    server_words,
)
from llmdo.foreign.team import QUESTION
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import LEGS, ONLY_READS, UNTRUSTED
from llmdo.reach.flows import Unasked, unasked
from llmdo.reach.risks import SHELL, may_meet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent, Grant
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.flows import Entrance, FlowRow, UnaskedEnd
    from llmdo.reach.shapes import Shape

SERVER = "mcp.call"

_DOCUMENTATION = frozenset({"search_docs", "search_documentation"})
"""The names of tools that search the documentation of their server."""

_WORST = "worst flows"
_NUMBERED = re.compile(r" \(\d+\)$")
EVENT = "on."
"""The beginning of a toolset that is an event of a workflow."""
UNKNOWN = re.compile(r"x\..+\.any")
"""The capability of a tool of which nothing is known."""

_SEARCHES = "web_search"
"""The beginning of a tool that finds pages, also where a client has copies of them."""

_STARTS, _SENT, _FETCHED, _ASKED, _OFFERED, _GUESSED = range(6)
"""Words that start a run; others that anybody sends; pages that an agent chooses to read; words read after a question,
by a tool that comes with some models, or by unknown tools."""


Guess = Literal["words", "search", "server", "data", "sends"]


class WayOut(IntEnum):
    """The kinds of ways out, the attacker's best first."""

    ANY_COMMAND = 0
    OWN_CODE = 1
    """A listed command that runs files of the project, by an agent that writes any of them and gets strangers' words
    with its start.

    Whoever starts one with his own words wants it to build and test what it wrote.
    """
    ANY_HOST = 2
    PUBLIC_HOST = 3
    """One that anybody can write to, or read at."""
    OPEN_SERVER = 4


class FlowLegs(NamedTuple):
    """The tools of the flows below an entry about which one question asks."""

    guess: Guess | None
    sources: tuple[Entrance, ...]
    """The tools that bring a stranger's words."""
    private: tuple[Entrance, ...]
    """The tools that read private data."""
    ends: tuple[UnaskedEnd, ...]
    """The tools by which something gets out."""
    of_checkout: bool
    """Whether a checkout counts as private data."""


class Flow(NamedTuple):
    """The worst flow below an entry."""

    row: FlowRow
    way: WayOut
    guess: Guess | None
    """What is not known: of the source, whether it is there and brings strangers' words, of the data, or of the end."""
    legs: tuple[FlowLegs, ...]
    """The tools of all flows below the entry, the surest first."""
    of_pages: bool = False
    """Whether the words are those of pages alone that an agent chooses to read, or finds."""
    is_asked: bool = False
    """Whether a person is asked before the words are read."""

    @property
    def sources(self) -> tuple[Entrance, ...]:
        """The tools that bring the words of flows that are as sure."""
        alike = (each.sources for each in self.legs if each.guess == self.guess)
        return tuple(dict.fromkeys(chain.from_iterable(alike)))

    @property
    def ends(self) -> tuple[UnaskedEnd, ...]:
        """The tools by which something gets out in flows that are as sure."""
        alike = (each.ends for each in self.legs if each.guess == self.guess)
        return tuple(dict.fromkeys(chain.from_iterable(alike)))


class _Question(NamedTuple):
    """The words that count as a stranger's, and the data that counts as private."""

    levels: frozenset[int]
    with_checkout: bool = False
    """Whether a checkout counts as private data."""
    may_read: bool = False
    """Whether what a server of which nothing is known returns counts as private data."""
    is_by_name: bool = False
    """Whether a server that no file declares counts as the way out that its name says."""
    may_send: bool = False
    """Whether a server that says itself which of its tools ask a person counts as a way out."""

    @property
    def guess(self) -> Guess | None:
        """The part of a flow that is not known."""
        if self.may_send:
            return "sends"
        if self.may_read:
            return "data"
        if self.is_by_name:
            return "server"
        return "words" if _GUESSED in self.levels else "search" if _OFFERED in self.levels else None


_WITH_WAYS_BY_NAME = frozenset({"server", "words", "sends"})
"""The guesses with which a server that no file declares is a way out; with unknown data, too much would be unknown."""
_UNASKED = frozenset({_STARTS, _SENT, _FETCHED})
_QUESTIONS = (
    _Question(frozenset({_STARTS})),
    _Question(frozenset({_STARTS, _SENT})),
    _Question(_UNASKED),
    _Question(frozenset({_FETCHED}), with_checkout=True),
    _Question(_UNASKED | {_ASKED}),
    _Question(_UNASKED | {_ASKED, _OFFERED}),
    _Question(_UNASKED, is_by_name=True),
    _Question(_UNASKED | {_ASKED}, is_by_name=True),
    _Question(_UNASKED | {_ASKED, _OFFERED, _GUESSED}),
    _Question(_UNASKED, may_read=True),
    _Question(_UNASKED, may_send=True),
)
"""The surest flow first. Where people outside can send words, the repository is public, and so is its checkout."""


def worst_flows(project: Foreign) -> Mapping[str, Flow]:
    """The worst flow below each entry on which nobody is asked, by the entry's name; worked out once."""
    known = project.answers.get(_WORST)
    if not isinstance(known, dict):
        known = project.answers[_WORST] = _worst_flows(project)
    return known


def _worst_flows(project: Foreign) -> dict[str, Flow]:
    agents = project.agents
    may_flow = may_meet(project.choice)
    tools = _Tools(project)
    asked = [
        (
            question,
            flows_apart(project, unasked(project.choice, tools.asked(question, runs_in))),
        )
        for question in _QUESTIONS
        if not question.with_checkout or tools.may_be_private
        for runs_in in tools.places
    ]
    worst: dict[str, Flow] = {}
    for entry in project.choice.graph.entries.values():
        if agents[entry.name].inherits or not (tools.has_servers or may_flow(entry)):
            continue
        answers = [(question, flows_of(entry)) for question, flows_of in asked]
        for question, own in answers:
            if flow := min(own, key=lambda each: each.rank, default=None):
                guess, of_pages = question.guess, question.levels in ({_FETCHED}, _UNASKED)
                # An edit at the source leaves those of other levels as well.
                legs = tuple(
                    FlowLegs(each.guess, other.sources, other.private, other.ends, each.with_checkout)
                    for each, others in answers
                    for other in others
                )
                row = plainest(flow)
                is_tool = not row.source[0].name.startswith(EVENTS)
                is_asked = guess in (None, "server") and _ASKED in question.levels and is_tool
                worst[entry.name] = Flow(row, WayOut(flow.rank), guess, legs, of_pages, is_asked)
                break
    return worst


class _Tools:
    """The tools of a project, each as a source of a stranger's words and as a way out."""

    def __init__(self, project: Foreign) -> None:
        agents = project.agents
        toolsets = project.choice.graph.toolsets
        self._servers = {name for name, each in toolsets.items() if each.server}
        words = {name: server_words(name, each) & OPEN_SERVERS for name, each in toolsets.items()}
        grants = [grant for agent in agents.values() for grant in agent.grants]
        given = {grant.toolset for grant in grants if not grant.server or _is_declared(grant.server)}
        self._undeclared = {
            name
            for name, each in toolsets.items()
            if each.server and not _is_declared(each.server) and _plain(name) not in given
        }
        self._known = {name for name in self._servers if words[name]} - self._undeclared
        started = {name: each.server for name, each in toolsets.items() if each.server}
        known = {name: known_server(server) for name, server in started.items()}
        self._unknown = {name for name, server in known.items() if not server} - self._known
        self._well_known = {name: server for name, server in known.items() if server}
        self._marking = {name for name, server in self._well_known.items() if server.marks_running}
        self._reaching = {name for name, server in started.items() if reaches_any_host(server)}
        """The servers whose code sends to any host, whatever they are called."""
        self.has_servers = bool(self._servers)
        """Whether private data may be read otherwise than by capabilities of our vocabulary."""
        self._events, self._unknown_events = _events(project)
        self._browsers = {name for name in self._servers if words[name] and words[name] <= PAGES}
        self._looked_at = {
            grant.toolset
            for agent in agents.values()
            for grant in agent.grants
            if agent.asks != QUESTION and grant.decision == "needs_approval"
        }
        self._senders = {name for name, known in words.items() if known - ONLY_SEARCH}
        self._in_checkout = {name for name, agent in agents.items() if agent.in_checkout}
        published = {name for name in self._in_checkout if project.is_public or agents[name].started_by}
        self._unpublished = self._in_checkout - published
        self.may_be_private = bool(self._unpublished)
        """Whether an agent works in a checkout that may be that of a private repository."""
        self._writers: set[str] = set()
        self._asking: dict[tuple[str, str, str], Location | bool] = {}  # or the line that lets it go unasked
        self._offered: set[tuple[str, str]] = set()
        self._of_repository: set[tuple[str, str]] = set()
        self._hiding = {name for name, agent in agents.items() if agent.hides_secrets}
        self._runs_in: dict[tuple[str, str, str], set[str]] = {}
        """By an agent, its toolset and the tool: a server that one agent has in the cloud, another has in an editor."""
        self._runs_files: dict[str, set[tuple[str, str]]] = {}
        for name, agent in agents.items():
            for grant in agent.grants:
                self._add(name, grant, is_steered=_is_steered(agent))
        places = {runs_in for each in self._runs_in.values() for runs_in in each}
        self.places = sorted(places - {""}) or [""]
        """The places in which agents run, each asked about alone: words read in one steer no run in another."""

    def _add(self, name: str, grant: Grant, *, is_steered: bool) -> None:
        """Adds a tool of an agent, which a stranger's words may steer from its start."""
        own = (name, grant.toolset, grant.tool)
        if grant.asks_unless_reading:
            self._asking.setdefault(own, True)
        elif grant.decision == "allowed":
            self._asking[own] = grant.narrower_at.location if grant.narrower_at else False
        if grant.of_repository:
            self._of_repository.add((grant.toolset, grant.tool))
        if grant.may_lack:
            self._offered.add((name, grant.tool))
        self._runs_in.setdefault((name, grant.toolset, grant.tool), set()).add(grant.runs_in)
        if grant.decision == "allowed" and changes_files(grant):
            self._writers.add(name)
        if is_steered and grant.decision == "allowed" and runs_files(grant):
            self._runs_files.setdefault(name, set()).add((grant.toolset, grant.tool))

    def asked(self, question: _Question, runs_in: str) -> Unasked:
        """A question about the flows of runs in one place."""
        return Unasked(
            brings=partial(self.brings, question.levels, runs_in),
            private=tuple(map(Capability, (*LEGS["private data"], DATA))),
            keeps=partial(self.keeps, runs_in, with_checkout=question.with_checkout),
            ends=partial(
                self.rank,
                runs_in,
                may_send=question.may_send,
                of_checkout=question.with_checkout,
                is_guess=question.guess in _WITH_WAYS_BY_NAME,
            ),
            may_read=partial(self.may_read, runs_in) if question.may_read else None,
            apart=self.apart,
        )

    def apart(self, name: str, shape: Shape) -> Iterator[Shape]:
        """The tools of a call in parts: those that ask unless they only read, and those that a line lets go unasked."""
        parts: dict[Location | bool, list[str]] = {}
        for tool in (shape.tool, *shape.other_tools):
            own = (name, _plain(shape.toolset), tool)
            parts.setdefault(self._asking.get(own, False), []).append(tool)
        for first, *others in parts.values():
            yield replace(shape, tool=first, other_tools=tuple(others)) if len(parts) > 1 else shape

    def _asks(self, name: str, shape: Shape) -> bool:
        """Whether a person is asked about a part of a call of an agent unless its server says that it only reads."""
        return self._asking.get((name, _plain(shape.toolset), shape.tool)) is True

    def brings(
        self, levels: frozenset[int], runs_in: str, name: str, shape: Shape, decision: Decision
    ) -> bool:
        """Whether the words that a call of an agent may bring are of one of the levels."""
        if decision == "blocked" or self._only_local(shape):
            return False
        if decision != "allowed" and _plain(shape.toolset) in self._looked_at:
            return False  # whoever would look at that call need not let it through, and is no person
        is_part = shape.toolset in self._servers and {each.name for each in shape.declared} == {UNTRUSTED}
        if self._is_documentation(shape) or self._only_makes(shape):
            return False
        if (
            self._is_guess(shape)
            or _plain(shape.toolset) in self._unknown_events
            or (is_part and _plain(shape.toolset) not in map(_plain, self._known))
        ):
            own = _GUESSED
        elif (name, shape.tool) in self._offered:
            own = _OFFERED
        elif is_part or decision != "allowed" or _plain(shape.toolset) in self._events:
            own = _ASKED
        else:
            own = _STARTS if shape.toolset.startswith(EVENT) else _SENT
            is_page = (
                shape.tool.startswith(_SEARCHES)
                or shape.toolset in self._browsers
                or (brings_page(shape.declared) and shape.toolset not in self._known)
            )
            own = _FETCHED if is_page else own
        return own in levels and self._is_in(runs_in, name, shape)

    def may_read(self, runs_in: str, name: str, shape: Shape) -> bool:
        """Whether a call is one of a server of which nothing is known; to start it reads nothing yet."""
        is_unknown = shape.toolset in self._unknown and any(each.name == SERVER for each in shape.raised)
        return is_unknown and self._is_in(runs_in, name, shape)

    def keeps(self, runs_in: str, name: str, shape: Shape, *, with_checkout: bool) -> bool:
        """Whether the data that a call returns is private: a checkout of a public repository is not."""
        if not self._is_in(runs_in, name, shape):
            return False
        if name not in self._in_checkout or (with_checkout and name in self._unpublished):
            return True
        names = {each.name for each in shape.raised}
        if name in self._hiding:  # of the environment only secrets for other things are left
            return "secret.read" in names
        if self._way(name, shape) in (WayOut.ANY_COMMAND, WayOut.OWN_CODE):
            return True  # the environment of the job
        return not names.isdisjoint({"secret.read", "env.read"})

    def rank(
        self, runs_in: str, name: str, shape: Shape, *, may_send: bool, of_checkout: bool, is_guess: bool
    ) -> WayOut | None:
        """The kind of way out that a call is, if it is one; nobody reads what is written to a private repository."""
        way = self._way(name, shape)
        is_inside = way == WayOut.PUBLIC_HOST and of_checkout and self._is_of_repository(shape)
        if way is None or is_inside or not self._is_in(runs_in, name, shape):
            return None
        is_asked = shape.toolset in self._servers and self._asks(name, shape)
        is_asked = is_asked and (shape.toolset in self._marking or not may_send)
        is_unknown = shape.toolset in self._undeclared and not is_guess and way == WayOut.OPEN_SERVER
        return None if is_unknown or is_asked else way

    def _way(self, name: str, shape: Shape) -> WayOut | None:
        row = shape.row
        if row.name in {*ONLY_READS, SEARCH}:
            return None
        if Capability("proc.exec").covers_name(row.name):
            if shape.assurance != "open" or self._runs_none(shape):
                return None
            if row.name == SHELL:
                return WayOut.ANY_COMMAND
            runs_files = not _tools(shape).isdisjoint(self._runs_files.get(name, ()))
            return WayOut.OWN_CODE if runs_files and name in self._writers else None
        if shape.toolset in self._servers or row.name == SERVER:
            is_way = row.name == SERVER or Capability("net").covers_name(row.name)
            is_way = is_way and not self._sends_none(shape)
            is_sender = shape.toolset in self._senders and not self._only_asks(shape)
            way = WayOut.OPEN_SERVER if is_sender else None
            return (WayOut.ANY_HOST if shape.toolset in self._reaching else way) if is_way else None
        if row == WRITES_THERE:
            return WayOut.PUBLIC_HOST
        if not Capability("net").covers_name(row.name):
            return None
        # A shell that writes there by commands of its own may send elsewhere by others.
        if changed_on_github(shape.declared) and WRITES_THERE not in shape.declared:
            return WayOut.PUBLIC_HOST
        if row.scope is None or row.is_everywhere:
            return None if self._is_guess(shape) else WayOut.ANY_HOST
        only_fetches = {each.name for each in shape.declared} == FETCH
        if only_fetches and is_below(row.scope, FORGES):
            return None
        return WayOut.PUBLIC_HOST if is_writable(row.scope) else None

    def _only_asks(self, shape: Shape) -> bool:
        """Whether the names of a known server's tools say that they read there, or search, at the server's own host."""
        return all(
            says_search(name) if shape.toolset in self._browsers else says_reading(name)
            for tool in (shape.tool, *shape.other_tools)
            for name in [own_name(_plain(shape.toolset), tool)]
        )

    def _only_makes(self, shape: Shape) -> bool:
        """Whether a known server's tools answer with what they made: the names of an unknown one say nothing."""
        names = [own_name(toolset, tool) for toolset, tool in _tools(shape)]
        return shape.toolset in self._known and all(map(says_making, names))

    def _only_local(self, shape: Shape) -> bool:
        """Whether a known server's tools are other ones than those of it that bring pages."""
        names = _own_names(shape)
        server = self._well_known.get(shape.toolset)
        return server is not None and bool(server.fetching) and names.isdisjoint({"", *server.fetching})

    def _runs_none(self, shape: Shape) -> bool:
        """Whether a known server's tools are other ones than those of it that run commands."""
        server = self._well_known.get(shape.toolset)
        return (
            server is not None
            and bool(server.running)
            and _own_names(shape).isdisjoint({"", *server.running})
        )

    def _sends_none(self, shape: Shape) -> bool:
        """Whether a known server's tools only look at the page that is open, or bring no pages and run nothing."""
        server, names = self._well_known.get(shape.toolset), _own_names(shape)
        looks = server is not None and names <= server.unmarked | server.looking
        return looks or (self._only_local(shape) and self._runs_none(shape))

    def _is_guess(self, shape: Shape) -> bool:
        """Whether a call is one of an unknown server or tool."""
        is_unknown = any(each.name == SERVER or UNKNOWN.fullmatch(each.name) for each in shape.declared)
        return is_unknown and shape.toolset not in self._known

    def _is_documentation(self, shape: Shape) -> bool:
        """Whether a call brings the pages of those who make a server with data of its users."""
        names = _own_names(shape)
        server = self._well_known.get(shape.toolset)
        return server is not None and DATA in server.capabilities and names <= _DOCUMENTATION

    def _is_of_repository(self, shape: Shape) -> bool:
        """Whether a call only writes to the repository of its run, or of that run's token."""
        names = changed_on_github(shape.declared)
        return _tools(shape) <= self._of_repository or bool(names and names.isdisjoint(ANYWHERE_ON_GITHUB))

    def _is_in(self, runs_in: str, name: str, shape: Shape) -> bool:
        """Whether the agent has one of the tools of a call at that place."""
        own = (self._runs_in.get((name, *each), {""}) for each in _tools(shape))
        return any(not places.isdisjoint({"", runs_in}) for places in own)


def _tools(shape: Shape) -> set[tuple[str, str]]:
    """The tools that make a call, each with its toolset as its format names it."""
    return {(_plain(shape.toolset), tool) for tool in (shape.tool, *shape.other_tools)}


def _own_names(shape: Shape) -> set[str]:
    """The names that a server gives the tools of a call; an empty one is all of them."""
    return {own_name(toolset, tool) for toolset, tool in _tools(shape)}


def _plain(toolset: str) -> str:
    """The name of a toolset as its format has it."""
    return _NUMBERED.sub("", toolset)


def _is_declared(server: Server) -> bool:
    """Whether a file of the project says what a server is; else it is somebody's own, and a name tells nothing."""
    return bool(server.command or server.url)


def _is_steered(agent: Agent) -> bool:
    """Whether strangers start an agent, or what starts it may hold their words."""
    return bool(agent.started_by) or any(each.toolset.startswith(EVENT) for each in agent.grants)


def _events(project: Foreign) -> tuple[set[str], set[str]]:
    """The toolsets of events, and those of which only the program is known: it may bring anybody's words."""
    events = [event for agent in project.team.agents for event in agent.events]
    unknown = {each.toolset for each in events if not any(able.scope for able in each.capabilities)}
    return {each.toolset for each in events}, unknown
