"""The legs of a flow: the tool at the end of each, and the line that gives or allows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Related, excerpt, place
from llmdo.base.parts import table
from llmdo.foreign.commands import through
from llmdo.foreign.edits import NUMBERED, as_named, way_text
from llmdo.foreign.flows import WayOut
from llmdo.foreign.lines import READS_GITHUB, WRITES_THERE
from llmdo.foreign.server_words import in_words, says_making, says_reading
from llmdo.policy.authority import gravity
from llmdo.policy.shell.programs import is_launcher
from llmdo.policy.shell.rules import EXEC, UNLISTED
from llmdo.policy.vocabulary import UNTRUSTED, WORST_FIRST
from llmdo.reach.flows import leg_text
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.edits import Spot
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Grant
    from llmdo.reach.flows import UnaskedEnd
    from llmdo.reach.rows import Row
    from llmdo.syntax.document import Place

_AND_MORE = ", and "
"""The beginning of what a condition says of one way out alone."""
_IN_PART = " alone if "
"""Words of a condition under which part of a tool still goes unasked."""
_NO_GRAVITY = (len(WORST_FIRST), "")
_SHOWING = frozenset({
    "awk", "bat", "cat", "diff", "git blame", "git diff", "git grep", "git log", "git show", "grep", "head", "hexdump",
    "jq", "less", "more", "nl", "od", "rg", "sed", "sort", "strings", "tac", "tail", "xxd", "yq",
})  # fmt: skip
"""Beginnings of commands that show what is in files."""
_UNSANDBOXED = "unsandboxed "
"""The beginning of a tool of Codex, before the beginning of a command that a rule lets out of the sandbox."""
_IN_SHELL = re.compile(r"\w+\([^()]*\)\s*$")
_RUNS = frozenset({EXEC, UNLISTED})
_GH = re.compile(r"(?:\w+\()?[\^\s]*gh\b")
"""The beginning of a rule about commands of GitHub's own program."""
_REST = re.compile(r":?\s*\*.*", re.DOTALL)
"""The part of a rule that is about any words."""

_OF_STRANGERS = re.compile("comment|discussion|issue|message|pull_request")
"""The words in a tool's name for what strangers write."""
_SPARED = ("allowed-tools",)
"""The key of commands and skills for tools about which nobody is asked while they run."""

_NAME = re.compile(r"__|[/.:]")
"""What is between a server and its tool."""


class FlowLeg(NamedTuple):
    """The way to the tool at the end of one leg of a flow."""

    what: str
    path: tuple[Hop, ...]
    tool: str
    is_ruled: bool = False
    """Whether a rule that allows the tool is its place, before what gives the tool."""
    capability: str = ""
    """The name of the capability that its end raises; empty for any."""
    is_anywhere: bool = False
    """Whether it reaches any host, so that a rule for some is none about it."""


def condition(project: Foreign, flow: Flow) -> str:
    """The condition of its agent, or that of its way out, as the end of a sentence; empty without any.

    It is none if another way out as bad has none, or if part of another one stays under it; a milder one is named that
    has none. Its part about one way out alone is left out if there are others.
    """
    entry = project.agents.get(flow.row.path[0].name)
    if entry and entry.condition:
        return f"; {entry.condition}"
    ends = [end for legs in flow.legs for end in legs.ends]
    as_bad = {_condition_of(project, end) for end in ends if end.rank == flow.way}
    way = grant_of(project, legs_of(flow)[-1])
    if way is None or not way.condition or "" in as_bad:
        return ""
    shown = way.condition.partition(_AND_MORE)[0] if len(as_bad) > 1 else way.condition
    if _IN_PART not in shown and any(_IN_PART in _condition_of(project, end) for end in ends):
        return ""
    free = next((end.tool for end in flow.ends if not _condition_of(project, end)), "")
    return f"; {shown}; `{excerpt(free)}` lets it out anyway" if free else f"; {shown}"


def _condition_of(project: Foreign, end: UnaskedEnd) -> str:
    given = grant_of(project, leg_of((end.worker, end.toolset, end.tool)))
    return given.condition if given else ""


def grants_of_ends(project: Foreign, flow: Flow) -> list[Grant | None]:
    """The tools of all ways out of the flows below an entry."""
    spots = dict.fromkeys((end.worker, end.toolset, end.tool) for legs in flow.legs for end in legs.ends)
    return [grant_of(project, leg_of(spot)) for spot in spots]


def places(project: Foreign, flow: Flow) -> list[Related]:
    """The place that allows each leg."""
    source, private, way = ((leg, place_of(project, leg)) for leg in legs_of(flow))
    return [
        Related(at.location, f"{leg.what}: `{leg_text(as_named(leg.path), leg.tool)}`")
        for leg, at in (
            _by_rule(project, source[0]) or source,
            _plainest(project, flow, private[0]) or private,
            way,
        )
        if at
    ]


def rules_bring(project: Foreign, leg: FlowLeg) -> bool:
    """Whether only rules about commands have the tool at the end of a leg bring a stranger's words."""
    grants = grants_of(project, leg)
    bringing = [each for each in grants if UNTRUSTED in {raised.name for raised in each.capabilities}]
    by_itself = any(each.rule_at is None or _RUNS.isdisjoint(each.capabilities) for each in bringing)
    return bool(bringing) and len(bringing) < len(grants) and not by_itself


def _by_rule(project: Foreign, source: FlowLeg) -> tuple[FlowLeg, Place] | None:
    """The leg of a stranger's words by a rule that lets a shell bring them, and its place; None without such a rule."""
    given = grant_of(project, source)
    rule = given.rule_at if given else None
    if given is None or rule is None or not rule.route:
        return None
    text = rule.route[-1] if isinstance(rule.route[-1], str) else rule.data
    at = place_of(project, source._replace(is_ruled=True))
    if at != rule or not isinstance(text, str):
        return None
    shows_github = {*READS_GITHUB} <= {*map(str, given.capabilities)} and _GH.match(text)
    if not shows_github and not rules_bring(project, source):
        return None
    shown = text if _IN_SHELL.match(text) else f"{source.tool}({text})"
    *way, end = source.path
    own = Hop(shown, end.use) if end.name == source.tool else end
    return source._replace(path=(*way, own), tool=shown), at


def by_option(project: Foreign, flow: Flow) -> str:
    """The words by which a command does more than its tool says: the end of a sentence."""
    way = legs_of(flow)[-1]
    given = grant_of(project, way)
    if flow.way in (WayOut.ANY_COMMAND, WayOut.ANY_HOST) and given and given.words:
        return "" if through(way.tool) else f", through `{given.words}`"
    if flow.way != WayOut.ANY_COMMAND or "(" in way.tool or given is None or given.rule_at is None:
        return ""
    of_codex = way.tool.removeprefix(_UNSANDBOXED)
    pattern = given.rule_at.route[-1] if given.rule_at.route else ""
    rule = f"{way.tool}({of_codex if of_codex != way.tool else pattern})"
    return through(rule, given.held_options)


def _plainest(project: Foreign, flow: Flow, private: FlowLeg) -> tuple[FlowLeg, Place] | None:
    """The leg of private data by the plainest tool of its agent, and its place; None unless a rule lists its commands.

    Such a command may show as little as `git status`.
    """
    listed = _unasked(project, private)
    if not listed or not all(EXEC in given.capabilities for given in listed):
        return None
    way = private.path[:-1]
    legs = (
        private._replace(path=(*way, Hop(each.toolset, None)), tool=each.tool)
        for each in flow.legs[0].private
        if each.worker == way[-1].name
    )
    tools = [(leg, given) for leg in legs for given in _unasked(project, leg)]
    leg, given = min(tools, key=lambda tool: _obscurity(tool[1]), default=(private, None))
    at = given.at if given and not is_called(project, private) else place_of(project, private)
    return (leg, at) if at else None


def _unasked(project: Foreign, leg: FlowLeg) -> list[Grant]:
    """The grants of the tool at the end of a leg about which nobody is asked."""
    return [given for given in grants_of(project, leg) if given.decision == "allowed"]


def _obscurity(given: Grant) -> int:
    """How little a tool says about the data that it reads, from 0."""
    names = {each.name for each in given.capabilities}
    if not any(map(EXEC.covers_name, names)):
        return 0 if "fs.read" in names and "fs.write" not in names else 4
    rule = str(given.rule_at.route[-1]) if given.rule_at and given.rule_at.route else ""
    words = _REST.sub("", given.tool.partition("(")[2].removesuffix(")") or rule).split()
    if not _SHOWING.isdisjoint((" ".join(words[:1]), " ".join(words[:2]))) or words == ["git"]:
        return 1
    return 2 if words and is_launcher(words[0]) else 3


def legs_of(flow: Flow) -> tuple[FlowLeg, FlowLeg, FlowLeg]:
    """The legs of a flow: a stranger's words, private data and the way out."""
    row = flow.row
    return (
        FlowLeg("a stranger's words", row.source, row.source_tool, capability=UNTRUSTED),
        FlowLeg("private data", row.private, row.private_tool),
        FlowLeg(
            way_text(flow).partition(",")[0],
            row.path,
            row.tool,
            is_ruled=True,
            capability=row.capability.name,
            is_anywhere=flow.way == WayOut.ANY_HOST,
        ),
    )


def leg_of(spot: Spot) -> FlowLeg:
    """A tool of a worker as the end of a leg."""
    worker, toolset, tool = spot
    return FlowLeg("", (Hop(worker, None), Hop(toolset, None)), tool, is_ruled=True)


def is_called(project: Foreign, leg: FlowLeg) -> bool:
    """Whether what a file says about a leg is the call of an agent that is built in."""
    agent = project.agents.get(leg.path[-2].name) if len(leg.path) > 2 else None
    if agent is None or agent.path or leg.path[1].use is None:
        return False
    given = grant_of(project, leg)
    return given is None or not is_by_rule(given)


def is_by_rule(given: Grant) -> bool:
    """Whether nothing gives a tool but the rule that allows it."""
    return bool(given.unasked_by) and not given.is_free_anyway and given.at == given.rule_at


def place_of(project: Foreign, leg: FlowLeg) -> Place | None:
    """The place that gives the tool at the end of a leg, or the rule that allows it."""
    if given := grant_of(project, leg):
        if is_called(project, leg) and leg.path[1].use:
            return leg.path[1].use.at  # built in: what calls it is what a file says
        rule = given.rule_at if leg.is_ruled else None
        if rule and rule.route[:1] == _SPARED and given.at.location.path != rule.location.path:
            rule = None  # a command or a skill spares questions; what an agent has says its own file
        return rule or given.at
    use = leg.path[-1].use if leg.path else None
    return use.at if use else None


def where(project: Foreign, row: Row) -> str:
    """The place that lets an agent do what a row says: a line, or the default of its product."""
    leg = FlowLeg("", row.path, row.tool, is_ruled=True, capability=row.capability.name)
    given, at = grant_of(project, leg), place_of(project, leg)
    agent = project.agents.get(row.path[-2].name) if len(row.path) > 1 else None
    if agent and agent.inherits and agent.path:
        return place(agent.at.location)
    if agent and given and given.rule_at is None and (given.is_default or not agent.path):
        return f"the default of {agent.format or project.team.format}"
    return place(at.location) if at else ""


def at_once(
    project: Foreign, given: Grant, worker: str, every: frozenset[Spot], text: str = ""
) -> frozenset[Spot]:
    """The tools of an agent that go with a tool: by a line with a place of its own, or by all that an edit names."""

    def line_of(grant: Grant) -> object:
        if given.removal and text.startswith(given.removal):
            return grant.removal
        return grant.narrower, grant.narrower_at and grant.narrower_at.location

    line = line_of(given)
    if line != given.removal and given.narrower_at is None and not given.is_nowhere_yet:
        return frozenset()
    agent = project.agents.get(worker)
    known = [(each, grant_of(project, leg_of(each))) for each in every if each[0] == worker]
    # A flow has one of the tools that reach the same: the line takes the others as well.
    known += [((worker, each.toolset, each.tool), each) for each in (agent.grants if agent else ())]
    return frozenset(each for each, other in known if other and line_of(other) == line)


def declared_at(project: Foreign, at: Place) -> Iterator[Spot]:
    """The tools of the server that is declared at a place, which go with it."""
    for name, agent in project.agents.items():
        for given in agent.grants:
            if given.server is not None and given.at == at:
                yield name, given.toolset, given.tool


def is_silent(project: Foreign, tool: str, path: str, spot: Spot) -> bool:
    """Whether nothing but the settings of its file, or of the whole project, would say something about a tool.

    `path` is that file; empty for settings that hold for every agent.
    """
    given, agent = grant_of(project, leg_of(spot)), project.agents.get(spot[0])
    if given is None or spot[2] != tool or path not in ("", given.at.location.path):
        return False
    if agent is None or not agent.path:
        return given.rule_at is None or agent is not None
    parts = table(agent.header.get("permission"), tool).values()
    is_unruled = given.rule_at is None or given.rule_at.location == agent.at.location  # nobody wrote that one
    return is_unruled and "allow" not in parts


def grant_of(project: Foreign, leg: FlowLeg) -> Grant | None:
    """The grant of the tool at the end of a leg, or what is run at an event."""

    def strictness(grant: Grant) -> tuple[bool, bool, tuple[int, str], int]:
        raised = {each.name for each in grant.capabilities if not (leg.is_anywhere and each.scope)}
        lacks = bool(leg.capability) and leg.capability not in raised
        gravest = min(map(gravity, grant.capabilities), default=_NO_GRAVITY)
        return grant.decision != "allowed", lacks, gravest, _oddity(grant, leg)

    return min(grants_of(project, leg), key=strictness, default=None)


def _oddity(grant: Grant, leg: FlowLeg) -> int:
    """How odd an example of its server's tools a listed one is, from 0; most is one that writes, of those that read."""
    is_item = bool(grant.at.route) and isinstance(grant.at.route[-1], int)
    listed = grant.at.data
    if not leg.what or not is_item or not isinstance(listed, str):
        return 1
    name = in_words(_NAME.split(listed)[-1])
    if leg.capability == UNTRUSTED and _OF_STRANGERS.search(name) and not says_making(name):
        return 0 if says_reading(name) else 1
    return 2 if says_reading(name) is leg.is_ruled else 1


def grants_of(project: Foreign, leg: FlowLeg) -> list[Grant]:
    """The grants of the tool at the end of a leg, one for each rule about it."""
    if len(leg.path) < 2:
        return []
    toolset = NUMBERED.sub("", leg.path[-1].name)
    return [*project.grants.get((leg.path[-2].name, toolset, leg.tool), ())]


def writes_by_rules(project: Foreign, way: FlowLeg) -> bool:
    """Whether rules let a shell go unasked by which something gets out, and a command of it writes to GitHub."""
    allowed, every = grant_of(project, way), grants_of(project, way)
    writes = any(WRITES_THERE in each.capabilities for each in every if each.decision == "allowed")
    return writes and allowed is not None and bool(allowed.unasked_by)
